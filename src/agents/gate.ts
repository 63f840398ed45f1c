import { exitFromShell } from "./isolation/namespace.ts";
import type { Exit } from "../protocol/record.ts";

/** Not looked up: a folder of the workspace on the `PATH` could hold a shell by an agent, which says what it likes. */
export const SHELL = "/bin/sh";

/** Holds the command back until its process is on record: if the scheduler dies before, nothing runs. */
const GATE = 'read -r go && exec "$@" </dev/null';

/** Shells report signals as exit codes above this one. */
const HIGHEST_EXIT = 128;

/** Puts a command behind the gate alone: it runs once the gate has read a line. */
export function heldBack(command: readonly string[], name: string): string[] {
  return [SHELL, "-c", GATE, name, ...command];
}

/** The code that is swapped with the expected one. Neither Node, a failed sandbox nor a shell exits with it. */
export const WITNESSED = 97;

/** The same gate, which also swaps the exit code. It ignores signals to its group, so it outlives the command. The command reads what follows the line, if it `reads`. */
function witness(expect_exit: number, reads: boolean): string {
  return [
    "read -r go || exit",
    "trap : HUP INT QUIT USR1 USR2 ALRM TERM",
    reads ? '(exec "$@")' : '(exec "$@") </dev/null',
    `code=$?; case $code in ${expect_exit}) exit ${WITNESSED} ;; ${WITNESSED}) exit ${expect_exit} ;; *) exit "$code" ;; esac`,
  ].join("; ");
}

/**
 * Puts a command behind the gate. `endedAs` maps the gate's exit to the command's. Node reports unnamed real-time signals as exit code 0, and a sandbox that fails to
 * start exits with 1. Swapping the expected code with an unused one keeps both from passing as the expected exit.
 */
export function gated(command: readonly string[], expect_exit: number, reads = false) {
  if (expect_exit > HIGHEST_EXIT) return { command: heldBack(command, "check"), endedAs: (exit: Exit) => exit };
  return {
    command: [SHELL, "-c", witness(expect_exit, reads), "check", ...command],
    endedAs: ({ code, signal }: Exit): Exit =>
      exitFromShell({ code: code === expect_exit ? WITNESSED : code === WITNESSED ? expect_exit : code, signal }),
  };
}
