import type { UnsealedRecord } from "../protocol/record.ts";
import { progressOf } from "../runtime/feed/standing.ts";
import type { RecordLine } from "./format-options.ts";
import { quoted } from "./words.ts";

/** How often those who watch are told how far a turn is, in ms: an agent may say so a thousand times in a second. */
export const PROGRESS_MS = 10_000;

/** More than these are not told at once: the others have their turn the next time. */
const MOST_TOLD = 8;

/** How it is told; `times` is how often the agent has said something of the kind. */
export function progressLine({ source, record }: UnsealedRecord, words: string, times = 1): RecordLine {
  const latest = times === 1 ? "" : `, the latest of ${times}`;
  return { ticket: record.ticket_id, text: `progress of ${source} ${quoted(words)}${latest}`, style: "dim" };
}

/** What agents said of the turns that they are at and nobody was told yet: of each turn the latest. */
export class UntoldProgress {
  readonly #untold = new Map<string, { readonly record: UnsealedRecord; readonly words: string }>();

  /** To be called with every record: what ends a turn, or moves its ticket, says more than how far it was. */
  note(record: UnsealedRecord): void {
    const { turn_id, effects = [] } = record.record;
    const words = progressOf(record);
    if (turn_id !== undefined && words !== undefined) this.#untold.set(turn_id, { record, words });
    if (record.payload_type === "artifact_ref" || words !== undefined) return;
    for (const [id, { record: of }] of this.#untold) {
      const isMoved = effects.some(({ ticket_id }) => ticket_id === of.record.ticket_id);
      if (isMoved || (id === turn_id && record.record.disposition === "applied")) this.#untold.delete(id);
    }
  }

  /** What is to be told now, each with when it was said; the longest untold first. */
  take(): { readonly at: Date; readonly told: RecordLine }[] {
    const now = [...this.#untold].slice(0, MOST_TOLD);
    return now.map(([turn_id, { record, words }]) => {
      this.#untold.delete(turn_id);
      return { at: new Date(record.record.received_at), told: progressLine(record, words) };
    });
  }
}
