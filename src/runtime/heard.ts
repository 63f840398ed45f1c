import { type JsonObject, objectOf } from "../lib/json.ts";
import { subjectIn } from "../protocol/recording.ts";
import type { InboxRow } from "../store/store.ts";

/**
 * The order in which words are heard that waited together: as they were put, but a retry before what was put about other subjects only.
 * One of those may be the end of the last subject that was open, and then the session would close before it heard of the retry.
 */
export function orderInboxRows(rows: readonly InboxRow[]): InboxRow[] {
  const heard: InboxRow[] = [];
  for (const row of rows) {
    const before = isRetry(row) ? heard.findLastIndex((other) => !mayWait(other, row)) + 1 : heard.length;
    heard.splice(before, 0, row);
  }
  return heard;
}

/** Whether it makes no difference to a retry that the other word is heard after it. */
function mayWait(other: InboxRow, retry: InboxRow): boolean {
  const subject = subjectIn(payloadOf(other));
  return subject !== undefined && subject !== subjectIn(payloadOf(retry)) && !isRetry(other);
}

function isRetry(row: InboxRow): boolean {
  return payloadOf(row).command === "retry";
}

/** Whoever wrote the row may have written anything. */
function payloadOf({ body }: InboxRow): JsonObject {
  return objectOf(objectOf(body).payload);
}
