import { exitFromShell } from "../agents/isolation/namespace.ts";
import type { Exit } from "../protocol/record.ts";

/** Holds the command back until its process is on record: a scheduler that dies before that leaves nothing running. */
const GATE = 'read -r go && exec "$@" </dev/null';

/** What a shell says of a signal is higher. */
const HIGHEST_EXIT = 128;

/** The exit code that changes places with the expected one: neither Node, nor a sandbox that cannot begin, nor a shell tells of it by itself. */
export const WITNESSED = 97;

/**
 * The same, and sees how the command ends. It outlives what is sent to the whole group, by Bosun or by the command, as long as the command
 * does.
 */
function witness(expect_exit: number): string {
  return [
    "read -r go || exit",
    "trap : HUP INT QUIT USR1 USR2 ALRM TERM",
    '(exec "$@") </dev/null',
    `code=$?; case $code in ${expect_exit}) exit ${WITNESSED} ;; ${WITNESSED}) exit ${expect_exit} ;; *) exit "$code" ;; esac`,
  ].join("; ");
}

/** A check's command behind its gate, and how it ended, from how the gate did. */
export interface GatedCheck {
  readonly command: readonly string[];
  readonly endedAs: (exit: Exit) => Exit;
}

/**
 * Of a signal that has no name, a real-time one, Node says what it says of an exit with 0; and a sandbox that cannot begin exits with 1. So
 * what is said of either must not be what is to pass.
 */
export function gated(command: readonly string[], expect_exit: number): GatedCheck {
  if (expect_exit > HIGHEST_EXIT) return { command: ["sh", "-c", GATE, "check", ...command], endedAs: (exit) => exit };
  return {
    command: ["sh", "-c", witness(expect_exit), "check", ...command],
    endedAs: ({ code, signal }) =>
      exitFromShell({ code: code === expect_exit ? WITNESSED : code === WITNESSED ? expect_exit : code, signal }),
  };
}
