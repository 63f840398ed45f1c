import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { patternOf } from "../../protocol/playbook/plan-check.ts";
import type { Turn } from "../turn.ts";
import { textOf } from "../turn.ts";

/** How a question that nobody answered stands among the clarifications: not an answer. */
const LEFT_OPEN = /^\(not answered\b/;

/**
 * Every answer the person has given, by question id and by the question's text; the latest counts. Ids may carry the scheduler's
 * scope in front (`c2.window`).
 */
export function answersSoFar(turn: Turn): Map<string, string> {
  const given = new Map<string, string>();
  const remember = (key: Json | undefined, value: Json | undefined): void => {
    const text = textOf(value);
    if (typeof key === "string" && key !== "" && text !== "" && !LEFT_OPEN.test(text)) given.set(key, text);
  };
  for (const entry of listOf(turn.context["clarifications"]).map(objectOf)) {
    const question = entry["question"];
    remember(textOf(question), entry["answer"]);
    remember(entry["question_id"] ?? objectOf(question)["question_id"], entry["answer"]);
  }
  if (turn.message.payload_type === "clarification_response") {
    for (const entry of listOf(turn.message.payload["answers"]).map(objectOf))
      remember(entry["question_id"], entry["text"]);
  }
  return given;
}

/** The answer to a question, found by its id, its scoped id or its words. */
export function answerTo(question: JsonObject, given: ReadonlyMap<string, string>): string | undefined {
  const id = textOf(question["question_id"]);
  const scoped = [...given.keys()].findLast((key) => key.endsWith(`.${id}`));
  return given.get(id) ?? (scoped === undefined ? undefined : given.get(scoped)) ?? given.get(textOf(question));
}

/** Where the plan file's own questions stand. */
export interface Standing {
  /** To be asked now: never answered, or answered in a way the plan cannot use. */
  readonly open: readonly JsonObject[];
  /** Ids that would stay without a value if nothing more could be asked. */
  readonly unanswerable: readonly string[];
  /** The value of every question that has one: its answer, else its default. */
  readonly settled: ReadonlyMap<string, string>;
}

/** What of the plan file's own questions is open, and what the answers amount to. */
export function openQuestions(questions: readonly JsonObject[], given: ReadonlyMap<string, string>): Standing {
  const open: JsonObject[] = [];
  const unanswerable: string[] = [];
  const settled = new Map<string, string>();
  for (const question of questions) {
    const id = textOf(question["question_id"]);
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
  const examples = [...listOf(question["options"]), question["default"]].map(textOf).filter((text) => text !== "");
  const advice = examples.length === 0 ? "" : ` Answers it can use: ${[...new Set(examples)].join(", ")}.`;
  return `${JSON.stringify(found.slice(0, 200))} is not an answer this plan can use.${advice}`;
}
