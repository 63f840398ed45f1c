import type { JsonObject } from "../lib/json.ts";
import { replaceUnsafe } from "../lib/terminal-text.ts";
import { cut } from "../protocol/refusal.ts";
import type { RecordedEffect, UnsealedRecord } from "../protocol/record.ts";

const LONGEST_SUMMARY = 160;

/**
 * The lines of `events.log` for one record, each with its line feed: `[timestamp][ticket_id][event] #sequence message`. One line per
 * transition, or a single line for a record without any. They depend on the record alone, so they can be written again. They are for people
 * and prove nothing.
 */
export function eventLines(sequence: number, record: UnsealedRecord): string {
  const { effects, ticket_id, disposition, received_at } = record.record;
  const route = `${record.payload_type} ${record.source} -> ${record.target}`;
  const text = summary(record.payload);
  const about = text === "" ? "" : `: ${text}`;
  const line = (ticket: string | undefined, event: string, message: string) =>
    `[${field(received_at)}][${field(ticket ?? "-")}][${field(event)}] #${sequence} ${oneLine(message)}\n`;
  if (effects === undefined || effects.length === 0) {
    const fate = disposition === "applied" ? "" : ` (${disposition})`;
    return line(ticket_id, record.payload_type, `${record.source} -> ${record.target}${fate}${about}`);
  }
  return effects
    .map((effect) => line(effect.ticket_id, effect.event, `${transition(effect)} by ${route}${about}`))
    .join("");
}

/** The sequence of the record that a line of `events.log` belongs to; undefined for any other line. */
export function sequenceOfEventLine(line: string): number | undefined {
  const found = /^\[[^\]]*\]\[[^\]]*\]\[[^\]]*\] #(\d{1,15}) /.exec(line);
  return found === null ? undefined : Number(found[1]);
}

function transition(effect: RecordedEffect): string {
  const reason = effect.reason === undefined ? "" : ` (${effect.reason})`;
  return `${effect.from ?? "new"} -> ${effect.to}${reason}`;
}

function field(text: string): string {
  return oneLine(text).replaceAll("]", ")");
}

/** The text that summarizes a payload. Most payloads have one of these fields. */
function summary(payload: JsonObject): string {
  for (const name of ["summary", "message", "text", "decision", "status", "reason"]) {
    const value = payload[name];
    if (typeof value === "string" && value !== "") return cut(value, LONGEST_SUMMARY);
  }
  return "";
}

/** Puts any text on one line, without characters that control a terminal. */
export function oneLine(text: string): string {
  return replaceUnsafe(text, () => " ");
}
