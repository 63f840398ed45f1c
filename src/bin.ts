import * as fs from "fs";
import * as os from "os";
import * as module from "module";
import * as path from "path";

// Must come first. By default this signal opens Node's inspector, through which any program of the same user could take over this process.
process.on("SIGUSR1", () => {});

// As the first process of a container this one inherits what other processes leave behind, and Node reaps only its own children: in the end no process
// could be started any more. So a shell becomes the first, which reaps, hands signals on and exits as this program does. A terminal sends SIGINT to both.
const FIRST =
  'exec 3<&0; "$@" <&3 3<&- & p=$!; trap "kill -TERM $p" TERM; trap "kill -HUP $p" HUP; trap "kill -INT $p" INT; ' +
  "[ -t 0 ] && trap : INT; while :; do wait $p; code=$?; kill -0 $p 2>/dev/null || exit $code; done";
const SHELL = "/bin/sh";
if (process.pid === 1 && typeof process.execve === "function" && fs.existsSync(SHELL)) {
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(SHELL, ["sh", "-c", FIRST, "sh", ...own], process.env);
}

// Without the cache, compiling takes half of a short command's time. Only this user can write to it, because whoever writes there can make this
// program run anything. Node works without it, too.
const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "bosun");
const compiled = path.join(cache, "compiled");
try {
  // Without `recursive`, with which Node tries for ever in /proc.
  for (const folder of [path.dirname(cache), cache]) if (!fs.existsSync(folder)) fs.mkdirSync(folder, 0o700);
  const stat = fs.lstatSync(cache);
  const isMine = stat.isDirectory() && (typeof process.getuid !== "function" || stat.uid === process.getuid());
  if (isMine && (stat.mode & 0o022) !== 0) {
    // Others could write there until now.
    fs.chmodSync(cache, 0o700);
    fs.rmSync(compiled, { recursive: true, force: true });
  }
  if (isMine && typeof module.enableCompileCache === "function") module.enableCompileCache(compiled);
} catch {
  // It cannot be written.
}

// The libraries need this version of Node, and crash or fail to parse on older ones, so it is checked before they are loaded.
// This file uses only syntax that an old Node can parse.
const OLDEST = [22, 14];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < (OLDEST[0] as number) || (major === OLDEST[0] && minor < (OLDEST[1] as number))) {
  process.stderr.write(
    `Error: Bosun needs Node ${OLDEST.join(".")} or later, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      "  Install a newer one from https://nodejs.org, or choose it with your version manager, and try again.\n",
  );
  process.exitCode = 3;
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
  void import("./commands/context/program.js").then(({ programVersion }) =>
    process.stdout.write(`${programVersion()}\n`),
  );
} else {
  void import("./cli.js");
}
