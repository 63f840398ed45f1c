import { saidByShell } from "../agents/isolation/inside.ts";
import type { Exit } from "../protocol/record.ts";

/** Holds the command back until its process is on record: a scheduler that dies before that leaves nothing running. */
const GATE = 'read -r go && exec "$@" </dev/null';

/**
 * The same, and sees how the command ends, with 0 and 1 in each other's place. It outlives what is sent to the whole group, by Bosun or by
 * the command, as long as the command does.
 */
const WITNESS =
  'read -r go || exit 0; trap : HUP INT QUIT USR1 USR2 ALRM TERM; (exec "$@") </dev/null; code=$?; case $code in 0) exit 1 ;; 1) exit 0 ;; *) exit "$code" ;; esac';

/** A check's command behind its gate, and how it ended, from how the gate did. */
export interface GatedCheck {
  readonly command: readonly string[];
  readonly endedAs: (exit: Exit) => Exit;
}

/**
 * Of a signal that has no name, a real-time one, Node says what it says of an exit with 0. So where 0 is to pass, what Node says of it must not
 * be good.
 */
export function gated(command: readonly string[], expect_exit: number): GatedCheck {
  if (expect_exit !== 0) return { command: ["sh", "-c", GATE, "check", ...command], endedAs: (exit) => exit };
  return {
    command: ["sh", "-c", WITNESS, "check", ...command],
    endedAs: ({ code, signal }) => saidByShell({ code: code === 0 ? 1 : code === 1 ? 0 : code, signal }),
  };
}
