import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { listFolder, recordName } from "../../log/reader.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { verifySession } from "../../runtime/proof.ts";
import { loadModes } from "../lookup/modes.ts";
import { REPORT_IT } from "./crash.ts";
import type { Tampering } from "./events.ts";

/** What is changed, by preference: a check that failed is made to look passed, else one that passed to have failed. */
const LIES = [
  { from: '"exit_code":1,', to: '"exit_code":0,', lie: "a check that failed would look as if it had ended well" },
  { from: '"exit_code":0,', to: '"exit_code":1,', lie: "a check that passed would look as if it had failed" },
] as const;

/**
 * Changes one byte of a check's result in a copy of a closed log, and holds the proof against it. Failure `verification_failed`
 * unless the proof names that very record and no other.
 */
export async function tamperAndVerify(copy: string): Promise<Result<Tampering, Failure>> {
  const changed = changeOneByte(copy);
  if (!changed.ok) return changed;
  const proved = verifySession(copy, await loadModes());
  if (!proved.ok) return proved;
  const [problem, another] = proved.value.problems;
  const { sequence } = changed.value;
  if (proved.value.ok || problem?.sequence !== sequence || another !== undefined) {
    const named = proved.value.problems.map((one) => one.sequence ?? "the folder").join(", ") || "nothing";
    const what = `One byte of record ${sequence} was changed in a copy of the log, and the proof names ${named}.`;
    return err(failure("verification_failed", what, { hint: REPORT_IT }));
  }
  return ok({ ...changed.value, found: problem.what });
}

function changeOneByte(copy: string): Result<Omit<Tampering, "found">, Failure> {
  const listing = listFolder(copy);
  if (!listing.ok) return listing;
  const checks = listing.value.files.filter(({ payload_type }) => payload_type === "check_result");
  for (const { from, to, lie } of LIES) {
    for (const { sequence, payload_type } of checks) {
      const file = join(copy, recordName(sequence, payload_type));
      const text = readFileSync(file, "utf8");
      if (!text.includes(from)) continue;
      writeFileSync(file, text.replace(from, to));
      return ok({
        file: recordName(sequence, payload_type),
        sequence,
        from: from.slice(0, -1),
        to: to.slice(0, -1),
        lie,
      });
    }
  }
  return err(failure("verification_failed", "No check is in the log, so there is nothing to tamper with."));
}
