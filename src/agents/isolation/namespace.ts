import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Failure } from "../../protocol/failure.ts";
import type { Exit } from "../../protocol/record.ts";
import { couldNotStart } from "../cannot-start.ts";
import type { LaunchSpec } from "../launcher.ts";
import { groupMembers, signalGroup, signalProcess } from "../processes.ts";
import { programFile } from "../../lib/program-file.ts";

/** Shells report a signal as this plus the signal's number. */
const SIGNAL_BASE = 128;

/**
 * Sends a signal to the program in a namespace and to the processes of its group. The wrapper and the first process do not get it: they end with the
 * program, report its end and reap. Before the program has started, everything is killed whatever the signal, since no work can be half done. `since`
 * is when the wrapper was started, or later (`performance.now()`).
 */
export function signalInNamespace(wrapper: number, signal: NodeJS.Signals, since: number): void {
  if (signal === "SIGCONT") return void signalGroup(wrapper, signal);
  const others = groupMembers(wrapper, since).filter(({ pid }) => pid !== wrapper);
  const inside = others.filter(({ pid }) => pidInNamespace(pid) > 1);
  if (inside.length > 0) for (const member of inside) signalProcess(member, signal);
  else if (others.length > 0) for (const member of others) signalProcess(member, "SIGKILL");
  else signalGroup(wrapper, "SIGKILL");
  // The program may have stopped its whole group, and with it the wrapper.
  if (signal === "SIGKILL") signalGroup(wrapper, "SIGCONT");
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
