import { listOf, objectOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import { askText } from "../model/asks.ts";
import type { SessionModel } from "../model/model.ts";
import { allWords, wordsOf } from "../words.ts";

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
  /** What was open before the last record. */
  #open: Open[] = [];

  /** Call after the record is applied to the model. */
  add(session: SessionModel, sequence: number, whole: UnsealedRecord): void {
    const { payload_type, payload } = whole;
    const settled = this.#settled(session);
    switch (payload_type) {
      case "clarification":
      case "approval_request":
        for (const ask of session.asks.values())
          if (ask.record === sequence) this.#asks(ask, askText(session, ask), sequence, whole);
        return;
      case "clarification_response":
        for (const { question_id, text } of listOf(payload.answers).map(objectOf))
          for (const { asked } of questionsMeant(wordsOf(question_id), settled))
            asked.answer = { ...answered(sequence, whole), text: wordsOf(text) };
        return;
      case "approval": {
        const words = [payload.decision, payload.scope, payload.notes].map(wordsOf).filter((text) => text !== "");
        for (const { ask_id, asked } of settled)
          if (payload.ask_id === undefined ? asked.kind === "approval" : ask_id === payload.ask_id)
            asked.answer = { ...answered(sequence, whole), text: words.join(", ") };
        return;
      }
      case "user_command":
        this.all.push({ ...commandOf(sequence, whole), answer: { ...answered(sequence, whole), text: "" } });
    }
  }

  /** What the last record settled: it is no longer open. */
  #settled({ asks }: SessionModel): Open[] {
    const open = new Set(
      [...asks.values()].flatMap(({ ask_id, open: left }) => [ask_id, ...left.map((id) => `${ask_id}.${id}`)]),
    );
    const settled = this.#open.filter(({ question_id }) => !open.has(question_id));
    this.#open = this.#open.filter(({ question_id }) => open.has(question_id));
    return settled;
  }

  #asks({ ask_id, kind }: ToldAsk, text: string, sequence: number, whole: UnsealedRecord): void {
    if (kind !== "questions") {
      const { action, details, why } = objectOf(whole.payload.about);
      const words = kind === "permission" ? [action, details].map(wordsOf).filter(Boolean).join(": ") : "";
      const said = { kind, text: words || text, why: wordsOf(why), options: [] };
      this.#put({ ask_id, question_id: ask_id }, said, sequence, whole);
      return;
    }
    for (const question of listOf(whole.payload.questions).map(objectOf)) {
      const question_id = `${ask_id}.${wordsOf(question.question_id)}`;
      const options = allWords(question.options);
      const said = { kind, text: wordsOf(question.text), why: wordsOf(question.why), options };
      this.#put({ ask_id, question_id }, said, sequence, whole);
    }
  }

  #put(
    ids: Omit<Open, "asked">,
    said: Pick<Asked, "kind" | "text" | "why" | "options">,
    sequence: number,
    { record: { received_at: at, ticket_id } }: UnsealedRecord,
  ): void {
    const asked = { ...said, sequence, at, ticket_id, answer: undefined };
    this.all.push(asked);
    this.#open.push({ ...ids, asked });
  }
}

function commandOf(sequence: number, { payload, record }: UnsealedRecord): Omit<Asked, "answer"> {
  const { command, ticket_id, role_id, text, reason, limits } = payload;
  const set = Object.entries(objectOf(limits)).map(([name, most]) => `${name}=${JSON.stringify(most)}`);
  const words = [...[command, ticket_id, role_id, text ?? reason].map(wordsOf), ...set].filter((word) => word !== "");
  const { received_at: at } = record;
  return { sequence, at, kind: "command", ticket_id: record.ticket_id, text: words.join(" "), why: "", options: [] };
}

function answered(sequence: number, { source, record }: UnsealedRecord): Omit<Answered, "text"> {
  return { sequence, at: record.received_at, by: record.actor?.user ?? source };
}
