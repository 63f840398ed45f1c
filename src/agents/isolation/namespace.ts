import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../../kernel/agent.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Exit } from "../../protocol/record.ts";
import { couldNotStart } from "../cannot-start.ts";
import type { LaunchSpec } from "../launcher.ts";
import { findProcess, groupMembers, signalGroup, signalProcess } from "../processes.ts";
import { programFile } from "../program-file.ts";
import type { SandboxMechanism } from "./mechanism.ts";

/** Shells report a signal as this plus the signal's number. */
const SIGNAL_BASE = 128;

/** Maximum pause between two SIGCONT to a wrapper, in ms; all pauses together take twice as long. */
const LONGEST_PAUSE_MS = 512;

/**
 * Sends a signal to the program in a namespace and to the processes of its group. The wrapper does not get it, because its end would kill everything
 * at once. Before the program has started, everything is killed whatever the signal, since no work can be half done. `since` is when the wrapper was
 * started, or later (`performance.now()`).
 */
export function signalInNamespace(
  mechanism: SandboxMechanism,
  wrapper: number,
  signal: NodeJS.Signals,
  since: number,
): void {
  if (signal === "SIGCONT") return void signalGroup(wrapper, signal);
  const members = groupMembers(wrapper, since);
  const others = members.filter(({ pid }) => pid !== wrapper);
  const first = others.find(({ pid }) => pidInNamespace(pid) === 1);
  const inside = others.filter((member) => member !== first && pidInNamespace(member.pid) > 1);
  // With unshare, the first process also has a child; the program is the wrapper's child.
  const hasStarted = inside.some(({ parent }) => mechanism.by === "bubblewrap" || parent === wrapper);
  if (signal !== "SIGKILL" && hasStarted) {
    for (const member of inside) signalProcess(member, signal);
  } else if (mechanism.by === "bubblewrap" || first === undefined) {
    signalGroup(wrapper, "SIGKILL");
  } else {
    // The wrapper must reap the program before the namespace ends, so it is not killed.
    for (const member of others) signalProcess(member, "SIGKILL");
    for (const member of members) if (member.pid === wrapper) void keepAwake(member);
  }
}

/** `nsenter` stops itself when it learns that its program was stopped, even long ago, so it gets SIGCONT until it is gone. */
async function keepAwake(wrapper: ProcessIdentity): Promise<void> {
  for (let pause = 1; pause < LONGEST_PAUSE_MS && findProcess(wrapper) === "alive"; pause *= 2) {
    signalProcess(wrapper, "SIGCONT");
    await delay(pause, undefined, { ref: false });
  }
}

/** The pid of a process in its own namespace; 0 if it has no namespace of its own or is gone. */
function pidInNamespace(pid: number): number {
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

/** The program's exit, from its wrapper's exit: bubblewrap reports signals as shells do. */
export function exitInNamespace(mechanism: SandboxMechanism, exit: Exit): Exit {
  return mechanism.by === "unshare" ? exit : exitFromShell(exit);
}

/** Converts a shell's exit, whose code is 128 plus the number for a signal, to the program's exit. */
export function exitFromShell({ code, signal }: Exit): Exit {
  if (code === null || code <= SIGNAL_BASE) return { code, signal };
  const [name] = Object.entries(constants.signals).find(([, number]) => number === code - SIGNAL_BASE) ?? [];
  return name === undefined ? { code, signal } : { code: null, signal: name };
}

/** An `environment` failure if the program cannot start in a sandbox. Checked beforehand, because a wrapper would only print it to stderr. */
export function missingInSandbox(spec: LaunchSpec): Failure | undefined {
  const { command, directory, environment } = spec;
  const [program = ""] = command;
  if (programFile(program, directory, environment["PATH"]) !== undefined) return undefined;
  const code = program.includes("/") && existsSync(resolve(directory, program)) ? "EACCES" : "ENOENT";
  return couldNotStart(spec, Object.assign(new Error("it cannot be started"), { code }));
}
