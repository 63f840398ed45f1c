import { recoverLanding } from "../../copies/landing.ts";
import { recover } from "../../copies/recovery.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { SessionRow } from "../../store/store.ts";
import type { Surroundings } from "../assemble.ts";
import { sessionPaths } from "../paths.ts";
import { placeOf } from "./copies.ts";

/**
 * Puts the copies of a session in order before it is resumed, once its processes have ended. A branch that does not agree with the record is
 * `verification_failed`. A merge that is on the branch and not on record needs nothing: its checks run again, and find it.
 */
export async function recoverCopies(
  around: Pick<Surroundings, "gitWith" | "home" | "store">,
  row: SessionRow,
  { repository }: PayloadByType["session_opened"],
): Promise<Fallible<void>> {
  const { gitWith, home } = around;
  if (repository === undefined || gitWith === undefined) return ok(undefined);
  const place = placeOf(row.session_id, sessionPaths(home, row.session_id), repository, gitWith);
  const recovered = await recover(place, recordedMerges(around, row));
  if (!recovered.ok) return recovered;
  const landed = await recoverLanding(place);
  return landed.ok ? ok(undefined) : landed;
}

/** The merges on record, and those that were about to be made. */
function recordedMerges({ store }: Pick<Surroundings, "store">, { session_id, last_sequence }: SessionRow) {
  const merged: string[] = [];
  const intended: string[] = [];
  for (let sequence = 1; sequence <= last_sequence; sequence += 1) {
    const type = store.payloadType(session_id, sequence);
    if (type !== "check_result" && type !== "merge_begun") continue;
    const { payload } = keptRecord(store, session_id, sequence);
    if (type === "merge_begun") intended.push((payload as unknown as PayloadByType["merge_begun"]).commit);
    const { merge } = payload as unknown as PayloadByType["check_result"];
    if (type === "check_result" && merge?.state === "merged" && merge.commit !== undefined) merged.push(merge.commit);
  }
  return { merged, intended };
}
