import { CODE_OF_SIGNAL, type StopSignal } from "../../runtime/exit.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "./command.ts";

/** What to do with the first signal, and with any after it. */
export interface SignalPlan {
  readonly stop: (signal: StopSignal) => void;
  /** Must end everything at once; the process then exits. */
  readonly kill: () => void;
}

/** Signals while a session runs. */
export interface SignalWatch {
  /** The exit code of the signal that came; undefined if none did. */
  readonly exitCode: () => number | undefined;
  readonly restore: () => void;
}

/**
 * The first signal asks, the second kills and leaves: nobody has to wait for a worker that does not end. `leave` is called with
 * the exit code and does not come back. Signals that are not among `names` do what they do to any program.
 */
export function watchSignals(
  plan: SignalPlan,
  leave: (exit_code: number) => void,
  names: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"],
): SignalWatch {
  let first: StopSignal | undefined;
  const heard = (signal: StopSignal) => {
    if (first === undefined) {
      first = signal;
      plan.stop(signal);
      return;
    }
    plan.kill();
    leave(CODE_OF_SIGNAL[signal]);
  };
  for (const name of names) process.on(name, heard);
  return {
    exitCode: () => (first === undefined ? undefined : CODE_OF_SIGNAL[first]),
    restore: () => {
      for (const name of names) process.off(name, heard);
    },
  };
}

/** The last word of a command whose second signal has killed everything: nothing comes after it that could say how the session goes on. */
export function tellKilled({ terminal: { err } }: CommandContext, session_id: string): void {
  err.line(localize(err, `Killed. What was committed is safe: bosun resume ${session_id}`));
}
