import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Done, type Fault, leave, newScene, type Scene } from "./scene.ts";

/** The commands that enter a private mount namespace in which this user may mount. */
const [BEGIN_VIEW, STEP_INTO] =
  process.getuid?.() === 0
    ? ["unshare --mount", "nsenter --mount"]
    : ["unshare --user --map-root-user --mount", "nsenter --user --preserve-credentials --mount"];

/** Why a scene cannot have disks of its own on this machine; undefined if it can. */
export const whyWithoutDisks: string | undefined = probed();

function probed(): string | undefined {
  if (process.platform !== "linux") return "only Linux can mount for one process alone";
  const mounting = 'mount -t tmpfs -o size=64k tmpfs "$0" && mount -o remount,size=128k "$0"';
  const tried = spawnSync("sh", ["-c", `exec ${BEGIN_VIEW} sh -c "$1" "$0"`, tmpdir(), mounting], { encoding: "utf8" });
  return tried.status === 0 ? undefined : `${BEGIN_VIEW}: ${tried.stderr.trim()}`;
}

/** The home, or a folder of it, on a disk of its own. */
export type Disk = "." | "logs" | "sessions";

/** A scene whose home lies on real small disks that only its own commands see. */
export interface DiskScene extends Omit<Scene, "run" | "resume" | "command"> {
  run(environment?: Fault["environment"]): Promise<Done>;
  resume(): Promise<Done>;
  command(args: readonly string[]): Promise<Done>;
  /** Runs shell text where the disks are seen, with `$home`; gives what it printed, and throws if it fails. */
  inside(text: string): Promise<string>;
  /** Puts what is on the disks where everybody sees it under the home's name, and gives the disks up. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** `sizes` says which disks there are, and how large in the words of tmpfs(5); `mischief` as for `newScene`. */
export async function newDiskScene(
  sizes: Readonly<Partial<Record<Disk, string>>>,
  mischief: string,
): Promise<DiskScene> {
  const scene = newScene(undefined, mischief);
  mkdirSync(scene.home);
  // It holds the view, ends with this process at the latest, and nothing of it is left then.
  const holder = spawn("sh", ["-c", `exec ${BEGIN_VIEW} sh -c "echo; exec cat"`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const gone = new Promise<void>((resolve) => holder.once("close", () => resolve()));
  await new Promise((resolve) => holder.stdout.once("data", resolve));
  const under = [...STEP_INTO.split(" "), "--target", String(holder.pid), "sh", "-c", 'cd "$0" && exec "$@"'];
  const inside = (text: string) => output([...under, scene.directory, "sh", "-euc", `home="$PWD/home"\n${text}`]);
  const giveUp = async () => {
    holder.stdin.end();
    await gone;
  };
  for (const [disk, size] of Object.entries(sizes))
    await inside(`mkdir -p "$home/${disk}" && mount -t tmpfs -o size=${size} tmpfs "$home/${disk}"`);
  const seeing: Fault = { under: [...under, scene.workspace] };
  return {
    ...scene,
    run: (environment = {}) => scene.run({ ...seeing, environment }),
    resume: () => scene.resume(seeing),
    command: (args) => scene.command(args, seeing),
    inside,
    async settle() {
      await inside('cp -a "$home" seen');
      await giveUp();
      rmdirSync(scene.home);
      renameSync(join(scene.directory, "seen"), scene.home);
    },
    async close() {
      await giveUp();
      leave(scene);
    },
  };
}

async function output([program = "", ...args]: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise<number | null>((settle) => child.once("close", settle));
  if (code !== 0) throw new Error(`${args.at(-1)}: ${stderr}`);
  return stdout;
}
