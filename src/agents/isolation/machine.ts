import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { start } from "../launch.ts";
import { programFile } from "../program-file.ts";
import type { Level } from "../launcher.ts";
import type { SandboxMechanism } from "./mechanism.ts";

/** How long a trial may take, in ms. It takes about ten. */
const PATIENCE_MS = 5_000;

/** In a namespace of its own it is not the first, and sees itself and next to nobody else. */
const IN_NAMESPACE = '[ "$$" -gt 1 ] && [ -d "/proc/$$" ] && set -- /proc/[0-9]* && [ "$#" -lt 10 ]';

/** What shows from the inside that a level holds; then the program dies of a signal that it was sent by itself. */
const TRIALS: Readonly<Record<Level, string>> = {
  processes: IN_NAMESPACE,
  files: `${IN_NAMESPACE} && [ ! -w / ]`,
  // The header takes two lines, and an own loopback one.
  offline: `${IN_NAMESPACE} && [ ! -w / ] && [ "$(wc -l </proc/net/dev)" -le 3 ]`,
};

/** From the least to the most that is kept from an agent. */
export const LEVELS = ["processes", "files", "offline"] as const satisfies readonly Level[];

const TRIED = new Map<string, Promise<Result<SandboxMechanism, Failure>>>();

/**
 * How this machine gives a level with the programs on this `PATH`; `environment` saying what is missing and what to do. It is tried,
 * once in the life of this process, since a kernel, a container or a policy can forbid what the programs would do.
 */
export function sandboxMechanism(level: Level, path: string | undefined): Promise<Result<SandboxMechanism, Failure>> {
  const key = `${level}:${path}`;
  const mechanism = TRIED.get(key) ?? firstThatWorks(level, candidates(level, path), path);
  TRIED.set(key, mechanism);
  return mechanism;
}

/** Best first: `unshare` tells an exit code from a signal, and takes no rights away; root needs no namespace of users for it. */
function candidates(level: Level, path: string | undefined): Result<SandboxMechanism, string>[] {
  const found = (name: string) => programFile(name, "/", path);
  const bwrap = found("bwrap");
  const bubblewrap: Result<SandboxMechanism, string> = bwrap
    ? ok({ by: "bubblewrap", bwrap })
    : err("bubblewrap (bwrap) is not on the PATH");
  if (level !== "processes") return [bubblewrap];
  const needed = ["unshare", "nsenter", "setpriv", "sh", "sleep"];
  const without = needed.filter((name) => found(name) === undefined).join(", ");
  if (without !== "") return [err(`what is needed of util-linux is not on the PATH (${without})`), bubblewrap];
  const [unshare = "", nsenter = "", setpriv = "", sh = "", sleep = ""] = needed.map(found);
  const users = process.getuid?.() === 0 ? [false, true] : [true];
  return [
    ...users.map((user) => ok<SandboxMechanism>({ by: "unshare", unshare, nsenter, setpriv, sh, sleep, user })),
    bubblewrap,
  ];
}

async function firstThatWorks(
  level: Level,
  mechanisms: readonly Result<SandboxMechanism, string>[],
  path: string | undefined,
): Promise<Result<SandboxMechanism, Failure>> {
  const reasons = new Set<string>();
  for (const mechanism of mechanisms) {
    const wrong = mechanism.ok ? await trouble(level, mechanism.value, path) : mechanism.error;
    if (mechanism.ok && wrong === undefined) return ok(mechanism.value);
    if (wrong !== undefined) reasons.add(wrong);
  }
  const why = [...reasons].join(", and ");
  return err(
    failure("environment", `This machine cannot keep an agent to the sandbox "${level}": ${why}.`, {
      hint:
        process.platform === "linux"
          ? "Install bubblewrap and let users have namespaces, or set the role's sandbox to none: in a container, the container keeps its program."
          : "Only Linux can. Set the role's sandbox to none, and let its program keep itself.",
    }),
  );
}

/** Why this way does not give the level; undefined if it does. */
async function trouble(
  level: Level,
  mechanism: SandboxMechanism,
  path: string | undefined,
): Promise<string | undefined> {
  const trial = {
    command: ["sh", "-c", `${TRIALS[level]} && kill -TERM $$`],
    directory: "/",
    // Inside, a part of the scheduler's own PATH may not be there.
    environment: { PATH: `${path ?? ""}:/usr/bin:/bin` },
    isolation: { level, required: true },
  };
  const launched = await start(trial, mechanism);
  if (!launched.ok) return launched.error.message;
  const trialled = launched.value;
  const { stdin, stdout, stderr, exited } = trialled;
  const said: Buffer[] = [];
  stdin.end();
  stdout.resume();
  stderr.on("data", (bytes: Buffer) => said.push(bytes));
  const closed = new Promise((resolve) => stderr.once("close", resolve));
  const patience = setTimeout(() => trialled.signalGroup("SIGKILL"), PATIENCE_MS);
  const { signal } = await exited;
  // Nothing can hold it any more, so what was said has come.
  await closed;
  clearTimeout(patience);
  trialled.destroyPipes();
  if (signal === "SIGTERM") return undefined;
  const [words = ""] = Buffer.concat(said).toString().trim().split("\n");
  return words === "" ? `${mechanism.by} starts, but keeps nothing apart` : words;
}
