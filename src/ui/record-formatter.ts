import type { PayloadType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { HoldLines } from "./hold-lines.ts";
import { recordLines } from "./record-lines.ts";
import type { RecordLine, FormatOptions } from "./format-options.ts";

/** The records that, besides the opening, say something of later ones, and are to be told to a formatter even where nobody is shown them. */
export const SAY_OF_LATER: ReadonlySet<string> = new Set<PayloadType>([
  "turn_request",
  "turn_failed",
  "error",
  "user_command",
]);

/** Of how many turns it is remembered who took them; what is told later than that goes without the name. */
const REMEMBERED = 10_000;

/** Tells a session's records in their order, with what earlier ones say about later ones: whose turn it was, and who is held. */
export class RecordFormatter {
  /** Who took a turn, and when it was given, in milliseconds since 1970. */
  readonly #turns = new Map<string, { readonly role_id: string; readonly since: number }>();
  readonly #holds = new HoldLines();

  /** When a turn was given, in milliseconds since 1970, if it was lately. */
  since(turn_id: string): number | undefined {
    return this.#turns.get(turn_id)?.since;
  }

  /** The lines of a record; also called, for what it remembers, with those that nobody is shown. */
  tell(record: UnsealedRecord, telling: FormatOptions): RecordLine[] {
    const { turn_id } = record.record;
    if (record.payload_type === "turn_request" && turn_id !== undefined) this.#taken(turn_id, record);
    const role_id = turn_id === undefined ? undefined : this.#turns.get(turn_id)?.role_id;
    const lines = recordLines(record, { ...telling, role_id });
    return record.record.disposition === "applied" ? [...lines, ...this.#holds.tell(record, role_id)] : lines;
  }

  #taken(turn_id: string, { target, record }: UnsealedRecord): void {
    // A turn that is given again counts from then on, and is the latest.
    this.#turns.delete(turn_id);
    this.#turns.set(turn_id, { role_id: target, since: Date.parse(record.received_at) });
    if (this.#turns.size <= REMEMBERED) return;
    const [oldest] = this.#turns.keys();
    if (oldest !== undefined) this.#turns.delete(oldest);
  }
}
