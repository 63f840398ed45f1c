import { err, ok, type Result } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { start } from "../launch.ts";
import { programFile } from "../../lib/program-file.ts";
import type { SandboxLevel } from "../launcher.ts";
import type { SandboxMechanism } from "./mechanism.ts";

/** Maximum time for a probe, in ms. It takes about ten. */
const PROBE_TIMEOUT_MS = 5_000;

/** In its own namespace, the shell is not the first process, and sees only itself and few others. */
const IN_NAMESPACE = '[ "$$" -gt 1 ] && [ -d "/proc/$$" ] && set -- /proc/[0-9]* && [ "$#" -lt 10 ]';

/** Shell conditions that hold inside a sandbox of each level. If they hold, the probe ends itself with SIGTERM. */
const CONDITIONS: Readonly<Record<SandboxLevel, string>> = {
  processes: IN_NAMESPACE,
  files: `${IN_NAMESPACE} && [ ! -w / ]`,
  // Two header lines, and one for the loopback device.
  offline: `${IN_NAMESPACE} && [ ! -w / ] && [ "$(wc -l </proc/net/dev)" -le 3 ]`,
};

/** From the weakest to the strongest. */
export const SANDBOX_LEVELS = ["processes", "files", "offline"] as const satisfies readonly SandboxLevel[];

const PROBED = new Map<string, Promise<Fallible<SandboxMechanism>>>();

/**
 * How this machine can sandbox at a level with the programs on this `PATH`. Fails with `environment`, naming what is missing and what to do. Each
 * mechanism is probed by a real start, once per process, because a kernel, a container or a policy can forbid what the programs do.
 */
export function sandboxMechanism(level: SandboxLevel, path: string | undefined): Promise<Fallible<SandboxMechanism>> {
  const key = `${level}:${path}`;
  const mechanism = PROBED.get(key) ?? firstThatWorks(level, candidates(level, path), path);
  PROBED.set(key, mechanism);
  return mechanism;
}

/** The mechanisms to try, the best first: `unshare` drops no rights; as root it needs no user namespace. */
function candidates(level: SandboxLevel, path: string | undefined): Result<SandboxMechanism, string>[] {
  const found = (name: string) => programFile(name, "/", path);
  const bwrap = found("bwrap");
  const bubblewrap: Result<SandboxMechanism, string> = bwrap
    ? ok({ by: "bubblewrap", bwrap })
    : err("bubblewrap (bwrap) is not on the PATH");
  if (level !== "processes") return [bubblewrap];
  const needed = ["unshare", "setpriv", "sh"];
  const without = needed.filter((name) => found(name) === undefined).join(", ");
  if (without !== "") return [err(`programs of util-linux are not on the PATH (${without})`), bubblewrap];
  const [unshare = "", setpriv = "", sh = ""] = needed.map(found);
  const users = process.getuid?.() === 0 ? [false, true] : [true];
  return [...users.map((user) => ok<SandboxMechanism>({ by: "unshare", unshare, setpriv, sh, user })), bubblewrap];
}

async function firstThatWorks(
  level: SandboxLevel,
  mechanisms: readonly Result<SandboxMechanism, string>[],
  path: string | undefined,
): Promise<Fallible<SandboxMechanism>> {
  const reasons = new Set<string>();
  for (const mechanism of mechanisms) {
    const problem = mechanism.ok ? await probe(level, mechanism.value, path) : mechanism.error;
    if (mechanism.ok && problem === undefined) return ok(mechanism.value);
    if (problem !== undefined) reasons.add(problem);
  }
  const why = [...reasons].join(", and ");
  return fails("environment", `This machine cannot provide the sandbox "${level}": ${why}.`, {
    hint:
      process.platform === "linux"
        ? "Install bubblewrap and allow user namespaces, or set the role's sandbox to none. In a container, the container is the sandbox."
        : "Sandboxes need Linux. Set the role's sandbox to none; some agent programs have a sandbox of their own.",
  });
}

/** Starts a shell in the sandbox; returns why that fails, or undefined if the level holds. */
async function probe(
  level: SandboxLevel,
  mechanism: SandboxMechanism,
  path: string | undefined,
): Promise<string | undefined> {
  const spec = {
    command: ["sh", "-c", `${CONDITIONS[level]} && kill -TERM $$`],
    directory: "/",
    // Parts of the scheduler's PATH may be missing inside.
    environment: { PATH: `${path ?? ""}:/usr/bin:/bin` },
    isolation: { level, required: true },
  };
  const launched = await start(spec, mechanism);
  if (!launched.ok) return launched.error.message;
  const { stdin, stdout, stderr, exited } = launched.value;
  const printed: Buffer[] = [];
  stdin.end();
  stdout.resume();
  stderr.on("data", (bytes: Buffer) => printed.push(bytes));
  const closed = new Promise((resolve) => stderr.once("close", resolve));
  const timer = setTimeout(() => launched.value.signalGroup("SIGKILL"), PROBE_TIMEOUT_MS);
  const { signal } = await exited;
  // Every process is gone, so all of stderr has arrived.
  await closed;
  clearTimeout(timer);
  launched.value.destroyPipes();
  if (signal === "SIGTERM") return undefined;
  const [line = ""] = Buffer.concat(printed).toString().trim().split("\n");
  return line === "" ? `${mechanism.by} starts, but does not isolate` : line;
}
