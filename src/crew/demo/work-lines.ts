import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../../protocol/record.ts";
import type { Style } from "./screen.ts";

/** A line about a ticket. */
export interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style;
  /** The first line that a failed check printed. */
  readonly evidence?: string;
}

/** What a record reports about the progress of tickets: transitions, check results, failed turns. */
export function workLines({ source, payload_type, payload, record }: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id: ticket = "-", effects = [] } = record;
  if (disposition !== "applied") return [];
  const moves = effects.filter(({ from }) => from !== null);
  if (moves.length > 0) return moves.map((move) => ({ ticket: move.ticket_id, ...moveLine(move, source, payload) }));
  if (payload_type === "turn_failed") {
    return [{ ticket, text: `${textWithin(payload["code"])}: ${textWithin(payload["message"])}`, style: "yellow" }];
  }
  if (payload_type !== "check_result") return [];
  return resultsOf(payload).map(({ passed, criterion }) => ({
    ticket,
    text: `check ${passed ? "passed" : "failed"}: ${criterion}`,
    style: passed ? "dim" : "yellow",
  }));
}

function moveLine(
  { from, to, reason }: RecordedEffect,
  source: string,
  payload: UnsealedRecord["payload"],
): Omit<WorkLine, "ticket"> {
  switch (`${from} ${to}`) {
    case "pending discussing":
      return { text: "the plan names a risk, so the worker first proposes how to work" };
    case "pending in_progress":
    case "discussing in_progress":
      return { text: "work starts" };
    case "in_progress awaiting_review": {
      const outputs = listOf(payload["outputs"]).map(
        (output) => textWithin(objectOf(output)["label"]) || textWithin(output),
      );
      return { text: `${source} hands in ${outputs.join(", ")}` };
    }
    case "awaiting_review in_progress": {
      const failed = resultsOf(payload).find(({ passed }) => !passed);
      const why = failed?.criterion ?? textWithin(listOf(payload["requested_changes"])[0]);
      const [evidence = ""] = (failed?.output ?? "").split("\n");
      return { text: `SENT BACK, this check failed: ${why}`, style: "yellow", evidence };
    }
    case "awaiting_review done":
      return { text: "done", style: "green" };
    default:
      return { text: `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`, style: "yellow" };
  }
}

function resultsOf(payload: UnsealedRecord["payload"]): { passed: boolean; criterion: string; output: string }[] {
  return listOf(payload["results"]).map((value) => {
    const { passed, criterion, output } = objectOf(value);
    return { passed: passed === true, criterion: textWithin(criterion), output: textWithin(output) };
  });
}
