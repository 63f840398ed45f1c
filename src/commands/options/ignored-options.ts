import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { LimitOptions } from "./limits.ts";
import type { RunFlags } from "./run-options.ts";

type GivenOptions = RunFlags & LimitOptions & { readonly release?: readonly string[] };

/**
 * Warns that options which change a session have no effect on a closed one; undefined if none was given. Not a failure, because a command
 * that a crash cut short must work when it is repeated.
 */
export function ignoredWhenClosed({ session_id, state }: SessionRow, options: GivenOptions): string | undefined {
  const { budgetTurns, budgetTokens, budgetUsd, deadline, release } = options;
  const flags = given({
    "--budget-turns": budgetTurns,
    "--budget-tokens": budgetTokens,
    "--budget-usd": budgetUsd,
    "--deadline": deadline,
    "--release": release,
  });
  if (state !== "closed" || flags === "") return undefined;
  return `${session_id} is closed: ${flags} had no effect.`;
}

/** Refuses options that only the process that resumes a session can apply, if a message is put to the session instead; `usage`. */
export function onlyOnResume(
  reader: StoreReader,
  { session_id, parent }: SessionRow,
  { answers, answer, unanswered, yes, foreground, deadline, detach }: GivenOptions,
): Failure | undefined {
  const running = [session_id, parent].find((id) => id !== null && reader.holder(id) !== undefined);
  const flags = given({
    "--deadline": deadline,
    "--answers": answers,
    "--answer": answer,
    "--unanswered": unanswered === "stop" ? undefined : unanswered,
    "--yes": yes,
    "--foreground": foreground,
    // A running session is detached already.
    "--detach": running === undefined ? detach : undefined,
  });
  if (flags === "") return undefined;
  const stop = running === undefined ? "" : `first stop it (bosun stop ${running}), then `;
  return failure("usage", `${flags} can only be applied when ${session_id} is resumed.`, {
    hint: `Leave it out here. To apply it: ${stop}give it to bosun resume ${session_id}.`,
  });
}

function given(options: Readonly<Record<string, string | readonly string[] | boolean | undefined>>): string {
  return Object.entries(options)
    .flatMap(([flag, value]) => (value === undefined || value === false ? [] : [flag]))
    .join(", ");
}
