import { givenAnswer } from "../../config/answers.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { GivenMessage } from "../options/run-options.ts";
import type { PersonMessage } from "./person-message.ts";

/**
 * The message for one ask that follows from what a person said beforehand; undefined if a person must be asked. `unanswered` applies only if
 * nobody can be asked (`alone`), and not if a given answer names an option that its question does not have: then the person must say what
 * they meant, also for the questions asked together with it.
 */
export function messageFor(
  waiting: readonly Waiting[],
  given: GivenMessage,
  alone: boolean,
): PersonMessage | undefined {
  const [first] = waiting;
  if (first?.kind === "approval" && first.about === "plan" && given.approve_plans) {
    return { payload_type: "approval", payload: { decision: "approved", ask_id: first.ask_id } };
  }
  if (first?.kind === "permission" && alone && given.unanswered !== "stop") {
    const notes = "Nobody is there to allow it.";
    return { payload_type: "approval", payload: { decision: "rejected", ask_id: first.ask_id, notes } };
  }
  if (first?.kind !== "question") return undefined;
  const asked = waiting
    .filter((one) => one.kind === "question")
    .map((question) => ({ question, given: givenAnswer(given.answers, question) }));
  const policy = alone && asked.every((one) => one.given?.ok !== false) ? given.unanswered : "stop";
  const answers = asked.flatMap(({ question, given: answer }) => {
    const byDefault = policy === "default" && answer === undefined ? question.default : undefined;
    const text = answer?.ok === true ? answer.value : byDefault;
    return text === undefined ? [] : [{ question_id: question.question_id, text }];
  });
  if (policy === "manager" && answers.length < waiting.length) {
    const { ask_id } = first;
    return { payload_type: "clarification_response", payload: { answers, status: "complete", ask_id } };
  }
  if (answers.length === 0) return undefined;
  return { payload_type: "clarification_response", payload: { answers, status: "answered" } };
}
