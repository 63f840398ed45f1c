import type { SessionEnd } from "./bus.ts";

/** The exit codes of every command, a public promise (DESIGN 4). */
export const EXIT_DONE = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_ENVIRONMENT = 3;
export const EXIT_PERSON_NEEDED = 4;
export const EXIT_LIMIT = 5;
export const EXIT_VERIFICATION = 6;
export const EXIT_BUSY = 7;
export const EXIT_INTERNAL = 70;
export const EXIT_INTERRUPTED = 130;
export const EXIT_TERMINATED = 143;

/** What a program that waited for the session exits with. */
export function exitCodeOf(end: SessionEnd): number {
  if (end.kind === "closed") return end.outcome === "done" ? EXIT_DONE : EXIT_FAILED;
  switch (end.reason) {
    case "waiting":
    case "manager_failed":
      return EXIT_PERSON_NEEDED;
    case "limit":
      return EXIT_LIMIT;
    case "SIGTERM":
      return EXIT_TERMINATED;
    default:
      return EXIT_INTERRUPTED;
  }
}
