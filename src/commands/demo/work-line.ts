import type { JsonObject } from "../../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../../protocol/record.ts";
import { resultsOf } from "../../ui/failure-lines.ts";
import { recordLines } from "../../ui/record-lines.ts";
import type { Style } from "../../ui/terminal.ts";
import { allWords, wordsOf } from "../../ui/words.ts";

/** One thing that happened, in words for somebody who has never seen a session. */
export interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style;
  /** What it rests on, for lines of its own; may be empty. */
  readonly evidence?: string;
}

/** What a record means to a newcomer: each ticket's way, what the checks say, and whatever goes wrong. */
export function workLines(record: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id = "-", effects = [] } = record.record;
  // That the session waits for an answer is plain from the question itself.
  if (disposition !== "applied" || record.payload_type === "session_stopped") return [];
  const moved = effects.filter(({ from }) => from !== null);
  if (moved.length > 0) return moved.map((effect) => moveLine(effect, record));
  if (record.payload_type === "check_result") {
    return resultsOf(record.payload).map(({ criterion, passed }) =>
      passed === true
        ? { ticket: ticket_id, text: `holds: ${wordsOf(criterion)}`, style: "dim" }
        : { ticket: ticket_id, text: `does not hold: ${wordsOf(criterion)}`, style: "yellow" },
    );
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
      return { ticket, text: "the work begins" };
    case "in_progress awaiting_review":
      return { ticket, text: `${source} hands in ${allWords(payload.outputs).join(", ")}` };
    case "awaiting_review in_progress": {
      const { criterion, evidence } = whyNot(payload);
      return { ticket, text: `SENT BACK, this does not hold: ${criterion}`, style: "yellow", evidence };
    }
    case "awaiting_review done":
      return { ticket, text: "done", style: "green" };
    default:
      return { ticket, text: `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`, style: "yellow" };
  }
}

/** The criterion that failed, and the first thing that its check found. */
function whyNot(payload: JsonObject): { criterion: string; evidence: string } {
  const failed = resultsOf(payload).find(({ passed }) => passed !== true);
  const [evidence = ""] = wordsOf(failed?.output).split("\n");
  return { criterion: wordsOf(failed?.criterion ?? payload.notes), evidence };
}
