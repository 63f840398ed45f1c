import { listOf, objectOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { SessionModel } from "../model/model.ts";
import { sentenceFor, type Waiting } from "../waiting.ts";
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

/** Pairs what was asked with the answers. Reviews by a person are not included: they are listed with the other reviews. */
export class AskedAndAnswered {
  readonly all: Asked[] = [];
  /** What was open before the last record, by ask id; questions by ask id and question id. */
  readonly #open = new Map<string, Asked>();

  /** Call after the record is applied to the model. */
  add({ asks, waiting }: SessionModel, sequence: number, whole: UnsealedRecord): void {
    const { payload_type, source, record } = whole;
    const { received_at: at, ticket_id } = record;
    const by = record.actor?.user ?? source;
    const open = new Set([...waiting.values()].flat().map(idOf));
    for (const [id, asked] of this.#open) {
      if (open.has(id)) continue;
      const text = answerTo(id, asked, whole);
      if (text !== undefined) asked.answer = { sequence, at, by, text };
      this.#open.delete(id);
    }
    if (payload_type === "user_command") {
      const told = { kind: "command", text: commandWords(whole), why: "", options: [] };
      this.all.push({ sequence, at, ticket_id, ...told, answer: { sequence, at, by, text: "" } });
    }
    for (const { ask_id, record: asking, kind } of asks.values()) {
      if (asking !== sequence || kind === "review") continue;
      for (const one of waiting.get(ask_id) ?? []) {
        const asked: Asked = { sequence, at, kind, ticket_id, ...questionOf(one), answer: undefined };
        this.all.push(asked);
        this.#open.set(idOf(one), asked);
      }
    }
  }
}

function idOf(waiting: Waiting): string {
  return waiting.kind === "question" ? waiting.question_id : waiting.ask_id;
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

/** The answer that a record gives to what it settles. An answer's question id may lack the ask's. */
function answerTo(id: string, { kind }: Asked, { payload_type, payload }: UnsealedRecord): string | undefined {
  if (payload_type === "clarification_response") {
    const answers = listOf(payload.answers).map(objectOf);
    const answer = answers.find(({ question_id }) => id === question_id || id.endsWith(`.${wordsOf(question_id)}`));
    return answer && wordsOf(answer.text);
  }
  const isMeant = payload.ask_id === undefined ? kind === "approval" : payload.ask_id === id;
  if (payload_type !== "approval" || !isMeant) return undefined;
  return [payload.decision, payload.scope, payload.notes].map(wordsOf).filter(Boolean).join(", ");
}

function commandWords({ payload }: UnsealedRecord): string {
  const { command, ticket_id, role_id, text, reason, limits } = payload;
  const set = Object.entries(objectOf(limits)).map(([name, most]) => `${name}=${JSON.stringify(most)}`);
  return [...[command, ticket_id, role_id, text ?? reason].map(wordsOf), ...set].filter(Boolean).join(" ");
}
