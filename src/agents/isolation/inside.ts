import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../../kernel/agent.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Exit } from "../../protocol/record.ts";
import { couldNotStart } from "../cannot-start.ts";
import type { LaunchSpec } from "../launcher.ts";
import { findProcess, membersOf, signalGroup, signalProcess } from "../processes.ts";
import { programFile } from "../program-file.ts";
import type { SandboxMechanism } from "./mechanism.ts";

/** The lowest exit code that stands for a signal, less one. */
const SIGNALLED = 128;

/** How long is waited at most before a wrapper is told again to go on, in ms; in all it is twice as long. */
const LONGEST_PAUSE_MS = 512;

/**
 * Sends a signal to the program in a namespace and to what it has started in its group. The wrapper gets none: its end would kill
 * everything at once. Before the program is there nothing can be half done, so everything is killed, whatever the signal. `since`
 * is when the wrapper was started, or later (`performance.now()`).
 */
export function signalInside(
  mechanism: SandboxMechanism,
  wrapper: number,
  signal: NodeJS.Signals,
  since: number,
): void {
  if (signal === "SIGCONT") return void signalGroup(wrapper, signal);
  const members = membersOf(wrapper, since);
  const others = members.filter(({ pid }) => pid !== wrapper);
  const first = others.find(({ pid }) => numberInside(pid) === 1);
  const inside = others.filter((member) => member !== first && numberInside(member.pid) > 1);
  // With unshare the first process has a child of its own, and the program is the wrapper's.
  const begun = inside.some(({ parent }) => mechanism.by === "bubblewrap" || parent === wrapper);
  if (signal !== "SIGKILL" && begun) {
    for (const member of inside) signalProcess(member, signal);
  } else if (mechanism.by === "bubblewrap" || first === undefined) {
    signalGroup(wrapper, "SIGKILL");
  } else {
    // The program is this wrapper's to reap, and the namespace is not gone before that is done: so the wrapper goes last.
    for (const member of others) signalProcess(member, "SIGKILL");
    for (const member of members) if (member.pid === wrapper) void goOn(member);
  }
}

/** `nsenter` stops itself when it hears that its program was stopped, be that long over: so it is told to go on until it is gone. */
async function goOn(wrapper: ProcessIdentity): Promise<void> {
  for (let pause = 1; pause < LONGEST_PAUSE_MS && findProcess(wrapper) === "alive"; pause *= 2) {
    signalProcess(wrapper, "SIGCONT");
    await delay(pause, undefined, { ref: false });
  }
}

/** The pid that a process has in its own namespace; 0 if it has none but the one everybody knows, or is gone. */
function numberInside(pid: number): number {
  try {
    const [, ...numbers] =
      /^NSpid:(.*)$/m
        .exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
        ?.trim()
        .split(/\s+/) ?? [];
    return Number(numbers.at(-1) ?? 0);
  } catch {
    return 0;
  }
}

/** How the program ended, from how its wrapper ended: bubblewrap says a signal as shells do. */
export function exitInside(mechanism: SandboxMechanism, exit: Exit): Exit {
  return mechanism.by === "unshare" ? exit : saidByShell(exit);
}

/** How a program ended of which a shell says it: a signal by an exit code. */
export function saidByShell({ code, signal }: Exit): Exit {
  if (code === null || code <= SIGNALLED) return { code, signal };
  const [name] = Object.entries(constants.signals).find(([, number]) => number === code - SIGNALLED) ?? [];
  return name === undefined ? { code, signal } : { code: null, signal: name };
}

/**
 * Why the program would not start inside. A wrapper could only say so in words on its stderr, so it is looked at before;
 * `environment`.
 */
export function unstartable(spec: LaunchSpec): Failure | undefined {
  const { command, directory, environment } = spec;
  const [program = ""] = command;
  if (programFile(program, directory, environment["PATH"]) !== undefined) return undefined;
  const code = program.includes("/") && existsSync(resolve(directory, program)) ? "EACCES" : "ENOENT";
  return couldNotStart(spec, Object.assign(new Error("it cannot be started"), { code }));
}
