import type { Exit } from "../protocol/record.ts";
import { saidByShell } from "./isolation/inside.ts";

/**
 * A shell that sees how the program ends, and lets 0 and 1 change places. Of a signal that has no name, a real-time one, Node says what it
 * says of an exit with 0; so 0 must not be good. It outlives a SIGTERM to the group as long as the program does.
 */
const WITNESS = 'trap : TERM; (exec "$@"); code=$?; case $code in 0) exit 1 ;; 1) exit 0 ;; *) exit "$code" ;; esac';

/** The command under a witness. */
export function witnessed(command: readonly string[]): string[] {
  return ["sh", "-c", WITNESS, "witness", ...command];
}

/** How the program ended, from how its witness did. */
export function saidByWitness({ code, signal }: Exit): Exit {
  const swapped = code === 0 ? 1 : code === 1 ? 0 : code;
  return saidByShell({ code: swapped, signal });
}
