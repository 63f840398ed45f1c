import type { Presentation } from "../../../src/kernel/presentation.ts";
import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import type { UnsealedRecord } from "../../../src/protocol/record.ts";
import type { Proof } from "../../../src/runtime/proof.ts";
import { ReportGatherer, type SessionReport } from "../../../src/ui/report/report-model.ts";

/** The proof of a log that is neither closed nor damaged. */
export function proofOf(records: readonly unknown[], more: Partial<Proof> = {}): Proof {
  return {
    ok: false,
    records: records.length,
    integrity: "ok",
    completeness: "open",
    decisions: "ok",
    head: null,
    problems: [],
    ...more,
  };
}

/** The report of a session with these records, of the schedule mode unless another presentation, or none, is given. */
export function gathered(
  records: readonly UnsealedRecord[],
  proof = proofOf(records),
  presentation: Presentation | null = schedulePresentation,
): SessionReport {
  const gatherer = new ReportGatherer(records.length);
  for (const [index, record] of records.entries()) gatherer.add(index + 1, record);
  return gatherer.finish(presentation ?? undefined, proof);
}
