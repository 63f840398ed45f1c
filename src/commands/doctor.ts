import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import os from "node:os";
import { dirname } from "node:path";
import type { Command } from "commander";
import { execa } from "execa";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import type { Output, Style } from "../ui/terminal.ts";
import type { CommandContext, Run } from "./command.ts";
import { programVersion } from "./program.ts";
import { missingProgram, programFile } from "./reach.ts";
import { addRegistryOptions, findConfiguration, loadRegistry, type RegistryOptions } from "./registry.ts";
import { homeOf } from "./home.ts";
import { unreachable } from "./surroundings.ts";

interface DoctorOptions extends RegistryOptions {
  readonly json?: boolean;
}

/** One thing that was looked at. `missing` is needed and not there, `poor` works with less, `off` is not there and not needed. */
interface Finding {
  readonly name: string;
  readonly state: "ok" | "poor" | "missing" | "off";
  readonly what: string;
  readonly hint?: string;
}

/** The oldest Node that its libraries run on. */
const OLDEST_NODE = [22, 14] as const;

/** File systems on which the locks and the journal of a database cannot be relied on, by the number `statfs` gives. */
const SHARED_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
]);

/** `bosun doctor`: whether everything that a run with these flags needs is there. */
export function register(command: Command, run: Run): void {
  addRegistryOptions(command);
  command
    .option("--json", "one JSON value on stdout")
    .action((options: DoctorOptions) => run((context) => doctor(context, options)));
}

async function doctor(context: CommandContext, options: DoctorOptions): Promise<Result<number, Failure>> {
  const findings = [
    program(),
    platform(),
    homeFinding(context),
    await git(context),
    ...(await roleFindings(context, options)),
    isolation(),
    timers(),
  ];
  const missing = findings.filter((finding) => finding.state === "missing");
  const { out } = context.terminal;
  if (options.json === true) out.line(safeJson({ ok: missing.length === 0, findings }));
  else show(out, findings, missing.length);
  return ok(missing.length === 0 ? EXIT_DONE : EXIT_ENVIRONMENT);
}

function program(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const enough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const what = `Bosun ${programVersion()} on Node ${process.versions.node}`;
  return enough
    ? { name: "program", state: "ok", what }
    : { name: "program", state: "missing", what, hint: `Use Node ${OLDEST_NODE.join(".")} or later.` };
}

function platform(): Finding {
  const what = `${os.type()} ${os.release()}, ${os.arch()}, ${os.availableParallelism()} processors`;
  if (process.platform === "linux") return { name: "platform", state: "ok", what };
  if (process.platform === "darwin") {
    return {
      name: "platform",
      state: "poor",
      what,
      hint: "Without /proc, programs that a dead scheduler's agent left behind are found only while the agent itself still runs.",
    };
  }
  return { name: "platform", state: "missing", what, hint: "Use Linux, macOS, or WSL on Windows." };
}

function homeFinding(context: CommandContext): Finding {
  const home = homeOf(context);
  if (!home.ok)
    return {
      name: "home",
      state: "missing",
      what: home.error.message,
      hint: home.error.hint ?? "Name another with --home.",
    };
  const there = existing(home.value);
  const fileSystem = SHARED_FILE_SYSTEMS.get(statfsSync(there).type);
  const what = `${home.value}${there === home.value ? "" : " (made by the first run)"}`;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    return {
      name: "home",
      state: "missing",
      what: `${what}: it cannot be written`,
      hint: "Name another with --home or BOSUN_HOME.",
    };
  }
  if (fileSystem === undefined) return { name: "home", state: "ok", what };
  return {
    name: "home",
    state: "poor",
    what: `${what}, on ${fileSystem}`,
    hint: "Locks are not reliable there: put the home on a disk of this machine with --home or BOSUN_HOME.",
  };
}

function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}

async function git({ environment, directory }: CommandContext): Promise<Finding> {
  const file = programFile("git", directory, environment.PATH);
  if (file === undefined)
    return { name: "git", state: "off", what: "not on the PATH", hint: "Some plans and crews want it." };
  const { stdout, exitCode } = await execa(file, ["--version"], { reject: false, timeout: 5_000 });
  return exitCode === 0
    ? { name: "git", state: "ok", what: stdout.split("\n", 1)[0] ?? "" }
    : { name: "git", state: "poor", what: `${file} does not answer` };
}

async function roleFindings(context: CommandContext, options: DoctorOptions): Promise<Finding[]> {
  const found = findConfiguration(context, options, context.directory);
  const roles = found.ok ? await loadRegistry(options, found.value) : found;
  if (!roles.ok)
    return [
      {
        name: "roles",
        state: "missing",
        what: roles.error.message,
        ...(roles.error.hint === undefined ? {} : { hint: roles.error.hint }),
      },
    ];
  return roles.value.map((role) => roleFinding(context, role));
}

function roleFinding({ directory, environment }: CommandContext, role: Role): Finding {
  const name = `role ${role.role_id}`;
  const wrong = missingProgram(role, directory, environment.PATH) ?? unreachable(role);
  if (wrong)
    return { name, state: "missing", what: wrong.message, ...(wrong.hint === undefined ? {} : { hint: wrong.hint }) };
  const [file = ""] = role.cli_command ?? [];
  return { name, state: "ok", what: `${role.type}, ${programFile(file, directory, environment.PATH) ?? file}` };
}

function isolation(): Finding {
  return {
    name: "isolation",
    state: "poor",
    what: "level L0: agents work in the workspace itself, with your rights",
    hint: "Let them work in a clone (--cwd) if nothing of yours may be touched, and as another user or in a container if you do not trust them.",
  };
}

function timers(): Finding {
  return {
    name: "timers",
    state: "ok",
    what: "kept in the database; what came due while nothing ran is done on resume",
  };
}

const MARK: Readonly<Record<Finding["state"], readonly [mark: string, style: Style]>> = {
  ok: ["ok", "green"],
  poor: ["--", "yellow"],
  missing: ["!!", "red"],
  off: ["  ", "dim"],
};

function show(out: Output, findings: readonly Finding[], missing: number): void {
  for (const { name, state, what, hint } of findings) {
    const [mark, style] = MARK[state];
    out.line(`${out.style(style, mark)}  ${safeLine(name).padEnd(20)} ${safeLine(what)}`);
    if (hint !== undefined && state !== "ok") out.line(`${" ".repeat(25)}${out.style("dim", safeLine(hint))}`);
  }
  out.line();
  out.line(missing === 0 ? "Everything is there." : out.style("red", `${missing} of these must be put right first.`));
  out.line(`next    ${missing === 0 ? "bosun run" : "bosun doctor --crew NAME, to look at another crew"}`);
}
