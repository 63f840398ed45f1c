import { shellWord } from "../../lib/shell-word.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { LimitOptions } from "./limits.ts";
import type { RunFlags } from "./run-options.ts";

/** The options that change a session, and not only how it is run. */
interface ChangeOptions extends LimitOptions {
  readonly release?: readonly string[];
}

/**
 * That options that change a session have nothing to change in one that is closed, in words; undefined if it is open or there are none. It is no
 * failure: who gives a command again that a crash cut short must get to the end of the session all the same.
 */
export function ignoredWhenClosed({ session_id, state }: SessionRow, options: ChangeOptions): string | undefined {
  const typed = changing(options);
  if (state !== "closed" || typed.length === 0) return undefined;
  return `${session_id} is closed and only shown: ${flagsOf(typed)} had no effect.`;
}

/**
 * Why nothing is put to a session that somebody else runs, or with its parent, with options that only whoever takes it up could
 * heed; undefined if there are none. That it stays at work without this terminal (`--detach`) is so in any case. A `command` that says more
 * than these options has a place between the two that take it up.
 */
export function ignoredWhileRunning(
  reader: StoreReader,
  { session_id, parent }: SessionRow,
  options: ChangeOptions & RunFlags,
  command?: string,
): Failure | undefined {
  const run = reader.holder(session_id) ? session_id : (parent ?? session_id);
  const typed = [...asTyped([["--deadline", options.deadline]]), ...takingUp(options)];
  if (typed.length === 0) return undefined;
  const first = [`bosun stop ${run}`, ...(command === undefined ? [] : [command])].join(", ");
  const resume = [`bosun resume ${session_id}`, ...changing(options), ...takingUp(options)].join(" ");
  const message = `${session_id} is at work elsewhere, and ${flagsOf(typed)} can be heeded only when it is taken up.`;
  return failure("usage", message, { hint: `Leave that out; or first ${first}, then ${resume}.` });
}

/** The same for a word that is kept until somebody resumes the session: `command` is what says it. */
export function ignoredWhileQueued(
  { session_id }: SessionRow,
  command: string,
  options: RunFlags,
): Failure | undefined {
  const typed = [...takingUp(options), ...asTyped([["--detach", options.detach]])];
  if (typed.length === 0) return undefined;
  const message = `Nobody runs ${session_id}, so what it is told waits until it is resumed, and ${flagsOf(typed)} can be heeded only then.`;
  return failure("usage", message, { hint: `First ${command}, then bosun resume ${session_id} ${typed.join(" ")}.` });
}

function changing({ budgetTurns, budgetTokens, budgetUsd, deadline, release }: ChangeOptions): string[] {
  return asTyped([
    ["--budget-turns", budgetTurns],
    ["--budget-tokens", budgetTokens],
    ["--budget-usd", budgetUsd],
    ["--deadline", deadline],
    ["--release", release],
  ]);
}

function takingUp({ answers, answer, unanswered, yes, foreground }: RunFlags): string[] {
  return asTyped([
    ["--answers", answers],
    ["--answer", answer],
    ["--unanswered", unanswered === "stop" ? undefined : unanswered],
    ["--yes", yes],
    ["--foreground", foreground],
  ]);
}

type Given = string | readonly string[] | boolean | undefined;

/** Those options that were given, as they can be typed again. */
function asTyped(options: readonly (readonly [flag: string, given: Given])[]): string[] {
  return options.flatMap(([flag, given]) => {
    if (given === undefined || given === false) return [];
    if (given === true) return [flag];
    return [given].flat().map((value) => `${flag} ${shellWord(value)}`);
  });
}

function flagsOf(typed: readonly string[]): string {
  return [...new Set(typed.map((one) => one.split(" ", 1)[0]))].join(", ");
}
