import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { patternOf } from "../../protocol/playbook/plan-check.ts";
import type { Turn } from "../turn.ts";

/** The scheduler's text in place of a missing answer. */
const LEFT_OPEN = /^\(not answered\b/;

/** All answers so far, by question id and by the question's text; the latest wins. Ids may have the scheduler's prefix (`c2.window`). */
export function answersSoFar(turn: Turn): Map<string, string> {
  const given = new Map<string, string>();
  const remember = (key: Json | undefined, value: Json | undefined): void => {
    const text = textWithin(value);
    if (typeof key === "string" && key !== "" && text !== "" && !LEFT_OPEN.test(text)) given.set(key, text);
  };
  for (const entry of listOf(turn.context["clarifications"]).map(objectOf)) {
    const question = entry["question"];
    remember(textWithin(question), entry["answer"]);
    remember(entry["question_id"] ?? objectOf(question)["question_id"], entry["answer"]);
  }
  if (turn.message.payload_type === "clarification_response") {
    for (const entry of listOf(turn.message.payload["answers"]).map(objectOf))
      remember(entry["question_id"], entry["text"]);
  }
  return given;
}

/** The answer to a question, found by its id, with or without a prefix, or by its text. */
export function answerTo(question: JsonObject, given: ReadonlyMap<string, string>): string | undefined {
  const id = textWithin(question["question_id"]);
  const scoped = [...given.keys()].findLast((key) => key.endsWith(`.${id}`));
  return given.get(id) ?? (scoped === undefined ? undefined : given.get(scoped)) ?? given.get(textWithin(question));
}

/** The state of the plan file's questions. */
export interface Standing {
  /** The questions to ask now: without an answer, or with one that the plan cannot use. */
  readonly open: readonly JsonObject[];
  /** The ids of questions with neither a usable answer nor a default. */
  readonly unanswerable: readonly string[];
  /** By question id: the answer, otherwise the default. */
  readonly settled: ReadonlyMap<string, string>;
}

/** Compares the plan file's questions with the answers so far. */
export function openQuestions(questions: readonly JsonObject[], given: ReadonlyMap<string, string>): Standing {
  const open: JsonObject[] = [];
  const unanswerable: string[] = [];
  const settled = new Map<string, string>();
  for (const question of questions) {
    const id = textWithin(question["question_id"]);
    const found = answerTo(question, given)?.trim();
    const pattern = patternOf(question);
    const usable = found !== undefined && (pattern === undefined || new RegExp(`^(?:${pattern})$`, "u").test(found));
    const value = usable ? found : question["default"];
    if (typeof value === "string") settled.set(id, value);
    else unanswerable.push(id);
    if (usable) continue;
    const { metadata: _metadata, ...asked } = question;
    open.push(found === undefined ? asked : { ...asked, why: complaint(question, found) });
  }
  return { open, unanswerable, settled };
}

function complaint(question: JsonObject, found: string): string {
  const examples = [...listOf(question["options"]), question["default"]].map(textWithin).filter((text) => text !== "");
  const advice = examples.length === 0 ? "" : ` Possible answers: ${[...new Set(examples)].join(", ")}.`;
  return `${JSON.stringify(found.slice(0, 200))} is not an answer that this plan can use.${advice}`;
}
