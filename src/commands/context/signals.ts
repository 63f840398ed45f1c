import { CODE_OF_SIGNAL, type StopSignal } from "../../runtime/exit.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "./command.ts";

/** What to do at the first signal, and at the second. */
export interface SignalPlan {
  readonly stop: (signal: StopSignal) => void;
  /** Must end everything at once, because the process exits after it. */
  readonly kill?: () => void;
}

export interface SignalWatch {
  /** The exit code of the first signal; undefined if there was none. */
  readonly exitCode: () => number | undefined;
  readonly restore: () => void;
}

/**
 * The first signal stops. The second kills and exits, so that nobody waits for a worker that does not end. `leave` exits with the given code.
 * Signals other than `names` keep their default effect.
 */
export function watchSignals(
  plan: SignalPlan,
  leave: (exit_code: number) => void,
  names: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"],
): SignalWatch {
  let first: StopSignal | undefined;
  const onSignal = (signal: StopSignal) => {
    if (first === undefined) {
      first = signal;
      plan.stop(signal);
      return;
    }
    plan.kill?.();
    leave(CODE_OF_SIGNAL[signal]);
  };
  for (const name of names) process.on(name, onSignal);
  return {
    exitCode: () => (first === undefined ? undefined : CODE_OF_SIGNAL[first]),
    restore: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

/** Says how to continue a session after the second signal killed everything. */
export function tellKilled({ terminal: { err } }: CommandContext, session_id: string): void {
  err.line(localize(err, `Killed. Everything recorded so far is safe: bosun resume ${session_id}`));
}
