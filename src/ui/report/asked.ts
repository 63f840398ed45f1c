import { listOf, objectOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
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

/** Pairs what was asked with the answers. Reviews by a person are not included: they are listed with the other reviews. */
export class AskedAndAnswered {
  readonly all: Asked[] = [];
  /** What was open before the last record, by ask id; questions by ask id and question id. */
  readonly #open = new Map<string, Asked>();

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
        for (const [id, asked] of settled) {
          const answer = listOf(payload.answers)
            .map(objectOf)
            .find(({ question_id }) => isOf(id, wordsOf(question_id)));
          if (answer) asked.answer = { ...answered(sequence, whole), text: wordsOf(answer.text) };
        }
        return;
      case "approval": {
        const words = [payload.decision, payload.scope, payload.notes].map(wordsOf).filter((text) => text !== "");
        for (const [id, asked] of settled)
          if (payload.ask_id === undefined ? asked.kind === "approval" : id === payload.ask_id)
            asked.answer = { ...answered(sequence, whole), text: words.join(", ") };
        return;
      }
      case "user_command":
        this.all.push({ ...commandOf(sequence, whole), answer: { ...answered(sequence, whole), text: "" } });
    }
  }

  /** What the last record settled: it is no longer open. */
  #settled({ asks }: SessionModel): [id: string, asked: Asked][] {
    const open = new Set(
      [...asks.values()].flatMap(({ ask_id, open: left }) => [ask_id, ...left.map((id) => `${ask_id}.${id}`)]),
    );
    const settled = [...this.#open].filter(([id]) => !open.has(id));
    for (const [id] of settled) this.#open.delete(id);
    return settled;
  }

  #asks({ ask_id, kind }: ToldAsk, text: string, sequence: number, whole: UnsealedRecord): void {
    if (kind !== "questions") {
      const { action, details, why } = objectOf(whole.payload.about);
      const words = kind === "permission" ? [action, details].map(wordsOf).filter(Boolean).join(": ") : "";
      this.#put(ask_id, sequence, whole, { kind, text: words || text, why: wordsOf(why), options: [] });
      return;
    }
    for (const question of listOf(whole.payload.questions).map(objectOf)) {
      const id = `${ask_id}.${wordsOf(question.question_id)}`;
      const options = allWords(question.options);
      this.#put(id, sequence, whole, { kind, text: wordsOf(question.text), why: wordsOf(question.why), options });
    }
  }

  #put(
    id: string,
    sequence: number,
    { record }: UnsealedRecord,
    said: Pick<Asked, "kind" | "text" | "why" | "options">,
  ): void {
    const asked: Asked = { sequence, at: record.received_at, ticket_id: record.ticket_id, ...said, answer: undefined };
    this.all.push(asked);
    this.#open.set(id, asked);
  }
}

/** Whether a question with this scoped id is meant by an id, which may lack the ask's. */
function isOf(scoped: string, id: string): boolean {
  return scoped === id || scoped.endsWith(`.${id}`);
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
