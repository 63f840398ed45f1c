import { listOf, objectOf } from "../../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../../protocol/record.ts";
import { textOf } from "../turn.ts";

/** One line about a ticket. */
export interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style: "plain" | "dim" | "green" | "yellow";
  /** More about it, for lines of its own. */
  readonly evidence?: string;
}

/** The lines of a record for a newcomer: each ticket's progress, the results of checks, and failures. */
export function workLines({ source, payload_type, payload, record }: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id: ticket = "-", effects = [] } = record;
  if (disposition !== "applied") return [];
  const moves = effects.filter(({ from }) => from !== null);
  if (moves.length > 0) return moves.map((effect) => moveLine(effect, source, payload));
  if (payload_type === "turn_failed") {
    return [{ ticket, text: `${textOf(payload["code"])}: ${textOf(payload["message"])}`, style: "yellow" }];
  }
  if (payload_type !== "check_result") return [];
  return results(payload).map(({ passed, criterion }) =>
    passed
      ? { ticket, text: `check passed: ${criterion}`, style: "dim" }
      : { ticket, text: `check failed: ${criterion}`, style: "yellow" },
  );
}

function moveLine(effect: RecordedEffect, source: string, payload: UnsealedRecord["payload"]): WorkLine {
  const { ticket_id: ticket, from, to, reason } = effect;
  switch (`${from} ${to}`) {
    case "pending discussing":
      return { ticket, text: "the plan names a risk, so the worker first says how it would work", style: "plain" };
    case "pending in_progress":
    case "discussing in_progress":
      return { ticket, text: "work starts", style: "plain" };
    case "in_progress awaiting_review":
      return {
        ticket,
        text: `${source} hands in ${listOf(payload["outputs"]).map(labelOf).join(", ")}`,
        style: "plain",
      };
    case "awaiting_review in_progress": {
      const failed = results(payload).find(({ passed }) => !passed);
      const why = failed?.criterion ?? textOf(listOf(payload["requested_changes"])[0]);
      const [evidence = ""] = (failed?.output ?? "").split("\n");
      return { ticket, text: `SENT BACK, this check failed: ${why}`, style: "yellow", evidence };
    }
    case "awaiting_review done":
      return { ticket, text: "done", style: "green" };
    default:
      return { ticket, text: `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`, style: "yellow" };
  }
}

function results(payload: UnsealedRecord["payload"]): { passed: boolean; criterion: string; output: string }[] {
  return listOf(payload["results"]).map((value) => {
    const { passed, criterion, output } = objectOf(value);
    return { passed: passed === true, criterion: textOf(criterion), output: textOf(output) };
  });
}

function labelOf(output: Parameters<typeof textOf>[0]): string {
  return textOf(objectOf(output)["label"]) || textOf(output);
}
