import { listOf, objectOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import type { SessionModel } from "../model/model.ts";
import { idOf, sentenceFor, type Waiting } from "../waiting.ts";
import { wordsOf } from "../words.ts";

/** Something a person was asked, with the answer; or a command that a person sent without being asked. */
export interface Asked {
  readonly sequence: number;
  readonly at: string;
  readonly kind: string;
  readonly ticket_id: string | undefined;
  readonly text: string;
  /** Why it is asked. */
  readonly why: string;
  readonly options: readonly string[];
  answer: Answered | undefined;
}

export interface Answered {
  readonly sequence: number;
  readonly at: string;
  readonly by: string;
  readonly text: string;
}

/** Something still open. An ask without questions counts as its only question. */
interface Open {
  readonly ask_id: string;
  readonly question_id: string;
  readonly asked: Asked;
}

/** Pairs what was asked with the answers. Reviews by a person are not included: they are listed with the other reviews. */
export class AskedAndAnswered {
  readonly all: Asked[] = [];
  /** What was open before the last record, by question id. */
  readonly #open = new Map<string, Open>();

  /** Call after the record is applied to the model. */
  add({ asks, waiting }: SessionModel, sequence: number, whole: UnsealedRecord): void {
    const { payload_type, source, record } = whole;
    const { received_at: at, ticket_id } = record;
    const by = record.actor?.user ?? source;
    const open = new Set([...waiting.values()].flat().map(idOf));
    const settled = [...this.#open.values()].filter(({ question_id }) => !open.has(question_id));
    for (const { question_id } of settled) this.#open.delete(question_id);
    for (const { asked, text } of answersIn(whole, settled)) asked.answer = { sequence, at, by, text };
    if (payload_type === "user_command") {
      const told = { kind: "command", text: commandWords(whole), why: "", options: [] };
      this.all.push({ sequence, at, ticket_id, ...told, answer: { sequence, at, by, text: "" } });
    }
    for (const { ask_id, record: asking, kind } of asks.values()) {
      if (asking !== sequence || kind === "review") continue;
      for (const one of waiting.get(ask_id) ?? []) {
        const asked: Asked = { sequence, at, kind, ticket_id, ...questionOf(one), answer: undefined };
        this.all.push(asked);
        this.#open.set(idOf(one), { ask_id, question_id: idOf(one), asked });
      }
    }
  }
}

function questionOf(waiting: Waiting): Pick<Asked, "text" | "why" | "options"> {
  switch (waiting.kind) {
    case "question":
      return { text: waiting.text, why: waiting.why ?? "", options: waiting.options };
    case "permission":
      return {
        text: [waiting.action, waiting.details].filter(Boolean).join(": "),
        why: waiting.why ?? "",
        options: [],
      };
    default:
      return { text: sentenceFor(waiting), why: "", options: [] };
  }
}

function answersIn({ payload_type, payload }: UnsealedRecord, settled: readonly Open[]): (Open & { text: string })[] {
  if (payload_type === "clarification_response")
    return listOf(payload.answers)
      .map(objectOf)
      .flatMap(({ question_id, text }) =>
        questionsMeant(wordsOf(question_id), settled).map((one) => ({ ...one, text: wordsOf(text) })),
      );
  if (payload_type !== "approval") return [];
  const { ask_id, decision, scope, notes } = payload;
  const text = [decision, scope, notes].map(wordsOf).filter(Boolean).join(", ");
  const meant = settled.filter((one) => (ask_id === undefined ? one.asked.kind === "approval" : one.ask_id === ask_id));
  return meant.map((one) => ({ ...one, text }));
}

function commandWords({ payload }: UnsealedRecord): string {
  const { command, ticket_id, role_id, text, reason, limits } = payload;
  const set = Object.entries(objectOf(limits)).map(([name, most]) => `${name}=${JSON.stringify(most)}`);
  return [...[command, ticket_id, role_id, text ?? reason].map(wordsOf), ...set].filter(Boolean).join(" ");
}
