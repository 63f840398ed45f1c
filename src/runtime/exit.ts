import type { LedgerFigures } from "../kernel/ledger.ts";
import type { SessionEnd } from "./bus.ts";

/** The exit codes of all commands, a public promise (SPEC.md). */
export const EXIT_DONE = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_ENVIRONMENT = 3;
export const EXIT_PERSON_NEEDED = 4;
export const EXIT_LIMIT = 5;
export const EXIT_VERIFICATION = 6;
export const EXIT_BUSY = 7;
export const EXIT_INTERNAL = 70;
export const EXIT_TIMED_OUT = 124;
export const EXIT_INTERRUPTED = 130;
export const EXIT_TERMINATED = 143;

/** The signals that stop a program, with their exit codes. A hang-up counts as a termination. */
export const CODE_OF_SIGNAL = { SIGINT: EXIT_INTERRUPTED, SIGTERM: EXIT_TERMINATED, SIGHUP: EXIT_TERMINATED } as const;

export type StopSignal = keyof typeof CODE_OF_SIGNAL;

/** The exit code of a command that waited for the session. `signal` is the signal that stopped it. */
export function exitCodeOf(end: SessionEnd, signal: StopSignal | undefined): number {
  if (end.kind === "closed") return end.outcome === "done" ? EXIT_DONE : EXIT_FAILED;
  switch (end.reason) {
    case "waiting":
    case "manager_failed":
      return EXIT_PERSON_NEEDED;
    case "limit":
      return EXIT_LIMIT;
    default:
      return signal === undefined ? EXIT_INTERRUPTED : CODE_OF_SIGNAL[signal];
  }
}

/** The recorded end of a session; undefined while it runs, or if its scheduler died. */
export function recordedEnd({ closed, stopped }: LedgerFigures): SessionEnd | undefined {
  if (closed) return { kind: "closed", ...closed };
  return stopped && { kind: "stopped", ...stopped };
}
