import type { Answer } from "../../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";

/** How models mark the option that they recommend. */
const RECOMMENDED = /\s*\(recommended\)$/i;

/**
 * Converts a question in the middle of a turn to an answer: a manager's becomes a clarification, a worker's a blocked report. Undefined if the turn
 * expects neither.
 */
export function askingAnswer(questions: readonly Json[], expects: readonly string[]): Answer | undefined {
  const asked = questions.map((question, index) => questionOf(objectOf(question), index));
  if (asked.length === 0) return undefined;
  if (expects.includes("clarification")) {
    return { payload_type: "clarification", payload: { status: "open", questions: asked } };
  }
  if (!expects.includes("report")) return undefined;
  const summary = "It asks before it goes on.";
  return { payload_type: "report", payload: { status: "blocked", summary, questions: asked } };
}

/** Accepts the form of codex, and that of Claude Code, whose questions have no `id` and no `isOther`, but `multiSelect`. */
function questionOf({ id, header, question, isOther, multiSelect, options }: JsonObject, index: number): JsonObject {
  const offered = listOf(options).map(objectOf);
  const labels = offered.map(({ label }) => textOf(label)).filter((label) => label !== "");
  const recommended = labels.find((label) => RECOMMENDED.test(label));
  const explained = [
    ...offered.map(({ label, description }) => `${textOf(label)}: ${textOf(description)}`),
    ...(multiSelect === true ? ["Several may be chosen."] : []),
  ];
  return {
    question_id: textOf(id) || `q${index + 1}`,
    text: textOf(question) || textOf(header),
    ...(explained.length === 0 ? {} : { why: explained.join("\n") }),
    ...(labels.length === 0 ? {} : { options: labels, free_text: isOther !== false }),
    ...(recommended === undefined ? {} : { default: recommended }),
  };
}
