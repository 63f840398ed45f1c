import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { LimitOptions } from "./limits.ts";
import type { RunFlags } from "./run-options.ts";

/** Refuses options that only the process that resumes a session can apply, if a message is put to the session instead; `usage`. */
export function onlyOnResume(
  reader: StoreReader,
  { session_id, parent }: SessionRow,
  { answers, answer, unanswered = "stop", yes, foreground, deadline, detach }: RunFlags & LimitOptions,
): Failure | undefined {
  const running = [session_id, parent].find((id) => id !== null && reader.holder(id) !== undefined);
  const given: [flag: string, isGiven: boolean | undefined][] = [
    ["--deadline", deadline !== undefined],
    ["--answers", answers !== undefined],
    ["--answer", answer !== undefined],
    ["--unanswered", unanswered !== "stop"],
    ["--yes", yes],
    ["--foreground", foreground],
    // A running session is detached already.
    ["--detach", running === undefined && detach],
  ];
  const flags = given.flatMap(([flag, isGiven]) => (isGiven === true ? [flag] : [])).join(", ");
  if (flags === "") return undefined;
  const stop = running === undefined ? "" : `first stop it (bosun stop ${running}), then `;
  return failure("usage", `${flags} can only be applied when ${session_id} is resumed.`, {
    hint: `Leave it out here. To apply it: ${stop}give it to bosun resume ${session_id}.`,
  });
}
