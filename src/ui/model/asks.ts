import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Telling, ToldAsk } from "../../protocol/telling.ts";
import { sentenceFor, type Waiting, waitingIn } from "../waiting.ts";
import type { SessionModel } from "./model.ts";

/** Keeps what each open ask waits for. Call after a record is applied to the session's state. */
export function applyToAsks(
  model: SessionModel,
  sequence: number,
  { payload, payload_type }: UnsealedRecord,
  told: Telling,
): void {
  for (const ask_id of told.ended.asks) model.waiting.delete(ask_id);
  for (const ask of told.asks) {
    const known = model.waiting.get(ask.ask_id);
    if (known !== undefined)
      model.waiting.set(
        ask.ask_id,
        known.filter((one) => isOpen(ask, one)),
      );
    // The report that a review is about came before.
    else if (ask.kind === "review") model.waiting.set(ask.ask_id, waitingIn(ask, {}, failedChecks(model, ask)));
    else if (ask.record === sequence) model.waiting.set(ask.ask_id, waitingIn(ask, payload, []));
  }
  // The scheduler's own questions follow the record that opens them.
  if (payload_type !== "clarification" && payload_type !== "approval_request") return;
  for (const ask of model.asks.values())
    if (ask.record === sequence) model.waiting.set(ask.ask_id, waitingIn(ask, payload, []));
}

/** What an ask waits for, in one line. */
export function askText({ waiting }: SessionModel, { ask_id }: ToldAsk): string {
  return (waiting.get(ask_id) ?? []).map(sentenceFor).join(" / ");
}

function isOpen({ open }: ToldAsk, waiting: Waiting): boolean {
  return waiting.kind !== "question" || open.some((id) => waiting.question_id === `${waiting.ask_id}.${id}`);
}

function failedChecks({ subjects }: SessionModel, { subject = "" }: ToldAsk): readonly string[] {
  return subjects.get(subject)?.checks?.failed ?? [];
}
