import type { JsonObject } from "../../lib/json.ts";
import type { RecordedEffect } from "../../protocol/record.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { recordLines } from "../../ui/record-lines.ts";
import type { Style } from "../../ui/terminal.ts";
import { allWords, wordsOf } from "../../ui/words.ts";

/** One thing that happened, in words for somebody who has never seen a session. */
export interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style;
  /** What it rests on, for a line of its own. */
  readonly evidence?: string;
}

/** What a record means to a newcomer: each ticket's way, what the checks say, and whatever goes wrong. */
export function workLines(record: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id = "-", effects = [] } = record.record;
  if (disposition !== "applied") return [];
  const moved = effects.filter(({ from }) => from !== null);
  if (moved.length > 0) return moved.map((effect) => moveLine(effect, record));
  if (record.payload_type === "check_result") {
    return resultsOf(record.payload).map(({ criterion }) => ({
      ticket: ticket_id,
      text: `holds: ${wordsOf(criterion)}`,
      style: "dim",
    }));
  }
  return recordLines(record).flatMap(({ ticket = "-", text, style }) =>
    style === "yellow" || style === "red" ? [{ ticket, text, style }] : [],
  );
}

function moveLine({ ticket_id, from, to, reason }: RecordedEffect, { source, payload }: UnsealedRecord): WorkLine {
  const ticket = ticket_id;
  switch (`${from} ${to}`) {
    case "pending discussing":
      return { ticket, text: "has a risk in the plan, so the worker is heard first", style: "cyan" };
    case "pending in_progress":
    case "discussing in_progress":
      return { ticket, text: wordsOf(payload.summary), style: "bold" };
    case "in_progress awaiting_review":
      return { ticket, text: `${source} hands in ${allWords(payload.outputs).join(", ")}` };
    case "awaiting_review in_progress":
      return { ticket, text: "SENT BACK, since this does not hold:", style: "yellow", evidence: whyNot(payload) };
    case "awaiting_review done":
      return { ticket, text: "done", style: "green" };
    default:
      return { ticket, text: `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`, style: "yellow" };
  }
}

/** The criterion that failed, and the first thing that its check found. */
function whyNot(payload: JsonObject): string {
  const failed = resultsOf(payload).find(({ passed }) => passed !== true);
  if (failed === undefined) return wordsOf(payload.notes);
  const [first = ""] = String(failed.output).split("\n");
  return `${wordsOf(failed.criterion)}${first === "" ? "" : ` — ${first}`}`;
}

function resultsOf(payload: JsonObject): JsonObject[] {
  return Array.isArray(payload.results) ? (payload.results as JsonObject[]) : [];
}
