import { err, ok } from "../../lib/result.ts";
import { readFolder, recordIn } from "../../log/reader.ts";
import { readerOf } from "../../modes/index.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { ReportGatherer, type SessionReport } from "../../ui/report/report-model.ts";
import { listingOf, type LogSource, notALog } from "../lookup/log-source.ts";
import { retellingOfFolder } from "../lookup/modes.ts";
import { proofOf } from "./verify.ts";

/** Builds the report of a log folder. A damaged log has a report, too, as far as its records can be read. */
export async function gatherReport(source: LogSource): Promise<Fallible<SessionReport>> {
  const listing = listingOf(source);
  if (!listing.ok) return listing;
  const { files } = listing.value;
  if (files.length === 0) return err(notALog(source));
  const proof = await proofOf(source);
  if (!proof.ok) return proof;
  const gatherer = new ReportGatherer(files.length);
  const retell = await retellingOfFolder(source.folder, listing.value);
  for (const { sequence, bytes } of readFolder(source.folder, listing.value)) {
    const record = recordIn(bytes);
    gatherer.add(sequence, record && retell(sequence, record));
  }
  return ok(gatherer.finish(readerOf(gatherer.mode)?.presentation, proof.value));
}
