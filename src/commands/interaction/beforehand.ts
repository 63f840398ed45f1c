import { givenAnswer } from "../../config/answers.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { GivenMessage } from "../options/run-options.ts";
import type { PersonMessage } from "./person-message.ts";

/**
 * What can be said to one ask from what a person said beforehand; undefined if a person must be found. `unanswered` counts only
 * where nobody can be asked (`alone`). It does not count where a given answer names an option that its question does not have:
 * what was meant is for the person to say, also for what is asked together with it.
 */
export function wordFor(waiting: readonly Waiting[], given: GivenMessage, alone: boolean): PersonMessage | undefined {
  const [first] = waiting;
  if (first?.kind === "approval" && first.about === "plan" && given.approve_plans) {
    return { payload_type: "approval", payload: { decision: "approved", ask_id: first.ask_id } };
  }
  if (first?.kind !== "question") return undefined;
  const asked = waiting
    .filter((one) => one.kind === "question")
    .map((question) => ({ question, said: givenAnswer(given.answers, question) }));
  const policy = alone && asked.every(({ said }) => said?.ok !== false) ? given.unanswered : "stop";
  const answers = asked.flatMap(({ question, said }) => {
    const text =
      said?.ok === true ? said.value : policy === "default" && said === undefined ? question.default : undefined;
    return text === undefined ? [] : [{ question_id: question.question_id, text }];
  });
  if (policy === "manager" && answers.length < waiting.length) {
    const { ask_id } = first;
    return { payload_type: "clarification_response", payload: { answers, status: "complete", ask_id } };
  }
  if (answers.length === 0) return undefined;
  return { payload_type: "clarification_response", payload: { answers, status: "answered" } };
}
