import { givenAnswer } from "../../config/answers.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { GivenMessage } from "../options/run-options.ts";
import { answersMessage, decisionMessage, permissionMessage, type PersonMessage } from "./person-message.ts";

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
    return decisionMessage(first, "approved");
  }
  if (first?.kind === "permission" && alone && given.unanswered !== "stop") {
    return permissionMessage(first.ask_id, "deny", "Nobody is there to allow it.");
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
  return answers.length === 0 ? undefined : answersMessage(answers);
}
