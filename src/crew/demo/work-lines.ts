import { listOf, objectOf, textOf, textWithin } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Style } from "./screen.ts";

/** A line about a ticket. */
interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style | undefined;
  /** The first line that a failed check printed. */
  readonly evidence?: string | undefined;
}

/** What a record reports about the progress of tickets: transitions, check results, failed turns. */
export function workLines({ source, payload_type, payload, record }: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id: ticket = "-", effects = [] } = record;
  if (disposition !== "applied") return [];
  const moves = effects.filter(({ from }) => from !== null);
  if (payload_type === "turn_failed" && moves.length === 0) {
    return [{ ticket, text: `${textWithin(payload["code"])}: ${textWithin(payload["message"])}`, style: "yellow" }];
  }
  const results = payload_type === "check_result" ? listOf(payload["results"]).map(objectOf) : [];
  if (moves.length === 0) {
    return results.map(({ passed, criterion }) => {
      const [word, style] = passed === true ? (["passed", "dim"] as const) : (["failed", "yellow"] as const);
      return { ticket, text: `check ${word}: ${textWithin(criterion)}`, style };
    });
  }
  const outputs = listOf(payload["outputs"]).map((output) => textOf(objectOf(output)["label"]) || textOf(output));
  const failed = results.find(({ passed }) => passed !== true);
  const why = textWithin(failed?.["criterion"] ?? listOf(payload["requested_changes"])[0]);
  const [evidence] = textWithin(failed?.["output"]).split("\n");
  const words: Readonly<Record<string, Omit<WorkLine, "ticket">>> = {
    "pending discussing": { text: "the plan names a risk, so the worker first proposes how to work" },
    "pending in_progress": { text: "work starts" },
    "discussing in_progress": { text: "work starts" },
    "in_progress awaiting_review": { text: `${source} hands in ${outputs.join(", ")}` },
    "awaiting_review in_progress": { text: `SENT BACK, this check failed: ${why}`, style: "yellow", evidence },
    "awaiting_review done": { text: "done", style: "green" },
  };
  return moves.map(({ ticket_id, from, to, reason }) => {
    const other = `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`;
    return { ticket: ticket_id, ...(words[`${from} ${to}`] ?? { text: other, style: "yellow" }) };
  });
}
