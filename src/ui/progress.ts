import type { UnsealedRecord } from "../protocol/record.ts";
import { tellingOf } from "../protocol/telling.ts";
import { progressOf } from "../runtime/feed/standing.ts";
import type { RecordLine } from "./record-event.ts";
import { quoted } from "./words.ts";

/** How often progress is shown, in ms: an agent may report it a thousand times per second. */
export const PROGRESS_MS = 10_000;

/** Maximum number of turns shown at once; the others follow the next time. */
const MAX_SHOWN = 8;

/** The line for progress that was reported this many `times` since the last line. */
export function progressLine({ source, record }: UnsealedRecord, words: string, times = 1): RecordLine {
  const latest = times === 1 ? "" : `, the latest of ${times}`;
  return { ticket: record.ticket_id, text: `progress of ${source} ${quoted(words)}${latest}`, style: "dim" };
}

/** Progress that has not been shown yet: the latest of each open turn. */
export class PendingProgress {
  readonly #pending = new Map<string, { readonly record: UnsealedRecord; readonly words: string }>();

  /** Call with every record. The end of a turn makes its progress obsolete. */
  note(record: UnsealedRecord): void {
    const { turn_id } = record.record;
    const words = progressOf(record);
    if (turn_id !== undefined && words !== undefined) this.#pending.set(turn_id, { record, words });
    for (const id of tellingOf(record).ended.turns) this.#pending.delete(id);
  }

  /** Takes the progress to show now, with the time of each report; the longest pending first. */
  take(): { readonly at: Date; readonly line: RecordLine }[] {
    const now = [...this.#pending].slice(0, MAX_SHOWN);
    return now.map(([turn_id, { record, words }]) => {
      this.#pending.delete(turn_id);
      return { at: new Date(record.record.received_at), line: progressLine(record, words) };
    });
  }
}
