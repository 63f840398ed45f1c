import { objectOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { cut } from "../../protocol/refusal.ts";
import type { RecordFormatter } from "../record-formatter.ts";
import { BRIEF } from "../record-event.ts";
import { wordsOf } from "../words.ts";

/** A record as a row of a list, with its payload. */
export interface Envelope extends Pick<UnsealedRecord, "source" | "target" | "payload_type"> {
  readonly sequence: number;
  readonly at: string;
  readonly ticket_id: string | undefined;
  readonly disposition: string;
  /** What it says and which tickets it moves, on one line. */
  readonly line: string;
  /** JSON, or its beginning with a note. */
  readonly payload: string;
}

const LONGEST_LINE = 160;

/** Maximum length of a payload, in characters. It shrinks with the number of records, so that all payloads together stay near `ALL_PAYLOADS`. */
const LONGEST_PAYLOAD = 8_000;
const SHORTEST_PAYLOAD = 200;
const ALL_PAYLOADS = 6_000_000;

/** Maximum length of a payload in a session with this number of records, in characters. */
export function payloadLength(records: number): number {
  return Math.max(SHORTEST_PAYLOAD, Math.min(LONGEST_PAYLOAD, Math.floor(ALL_PAYLOADS / Math.max(1, records))));
}

/** A record as an envelope. `formatter` has formatted the records before it. The payload has at most `longest` characters. */
export function envelopeOf(
  sequence: number,
  record: UnsealedRecord,
  formatter: RecordFormatter,
  longest: number,
): Envelope {
  const { source, target, payload_type, payload, record: meta } = record;
  return {
    sequence,
    at: meta.received_at,
    source,
    target,
    payload_type,
    ticket_id: meta.ticket_id,
    disposition: meta.disposition,
    line: cut(lineOf(record, formatter).replace(/\s+/g, " ").trim(), LONGEST_LINE),
    payload: cutText(JSON.stringify(payload, undefined, 2), longest),
  };
}

function lineOf(record: UnsealedRecord, formatter: RecordFormatter): string {
  const lines = linesOf(record, formatter);
  if (lines.length > 0) return lines.join("; ");
  const { payload, payload_type, target } = record;
  if (payload_type === "turn_request") return `asks ${target}: ${wordsOf(objectOf(payload.message).payload_type)}`;
  if (payload_type === "session_opened") return wordsOf(payload.requirement);
  const { summary, message, text, decision, status } = payload;
  return [summary, message, text, decision, status].map(wordsOf).find((words) => words !== "") ?? "";
}

/** A forged record may have any payload. One that cannot be formatted has no lines. */
function linesOf(record: UnsealedRecord, formatter: RecordFormatter): string[] {
  try {
    const { ticket_id } = record.record;
    const lines = formatter.format(record, BRIEF);
    return lines.map(({ ticket, text }) =>
      ticket === ticket_id || ticket === undefined ? text : `${ticket}: ${text}`,
    );
  } catch {
    return [];
  }
}

/** The beginning of a text, and how many characters follow. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const more = (text.length - longest).toLocaleString("en");
  return `${text.slice(0, longest).toWellFormed()}… (${more} more characters are in the log)`;
}
