import { type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { errorReply, type Reply, type Turn } from "../turn.ts";
import { answerTo } from "./questions.ts";

/** A task of the plan file with its placeholders filled in. */
export interface Work {
  readonly task: JsonObject;
  /** The task's `metadata.playbook`. */
  readonly playbook: JsonObject;
  /** The last instruction given: 0 for the task's own, n for the n-th revision, -1 for none yet. */
  readonly revision: number;
}

/** The number of the last instruction, from the metadata of the instructions in the ticket's history. */
export function lastRevision(turn: Turn): number {
  const numbers = listOf(turn.context["history"])
    .map(objectOf)
    .filter((entry) => entry["payload_type"] === "instruction")
    .map((entry) => objectOf(objectOf(objectOf(entry["payload"])["metadata"])["playbook"])["revision"]);
  return Math.max(-1, ...numbers.map((revision) => (typeof revision === "number" ? revision : 0)));
}

/** The approach to discuss before the work: the file's `proposal`, else the task's steps and risks. */
export function proposal({ task, playbook }: Work): Reply {
  const own = objectOf(playbook["proposal"]);
  if (own["summary"] !== undefined) return { payload_type: "instruction_proposal", payload: own };
  const steps = listOf(objectOf(task["instruction"])["steps"]);
  return {
    payload_type: "instruction_proposal",
    payload: {
      summary: summaryOf(objectOf(task["instruction"]), task),
      open_questions: [],
      risks: listOf(task["risks"]).map(textWithin),
      draft_steps: steps.map((step) => textWithin(step) || commandOf(objectOf(step))),
    },
  };
}

/** The last instruction given, or the task's own. */
export function instruction(work: Work): Reply {
  return numbered(work, Math.max(0, work.revision));
}

/** Answers a worker's report: its questions are passed on until they are answered, then the instruction is given. */
export function afterReport(work: Work, report: JsonObject, given: ReadonlyMap<string, string>): Reply {
  const revision = Math.max(0, work.revision);
  if (objectOf(report["metadata"])["reason"] === "waiting_for_dependency") {
    return { payload_type: "instruction", payload: { summary: "Wait on: the work goes on as planned." } };
  }
  if (report["status"] !== "blocked") return numbered(work, revision);
  const questions = listOf(report["questions"]).map(objectOf);
  if (questions.length === 0) {
    return numbered(
      work,
      revision,
      `The last report was blocked: ${textWithin(report["summary"]) || "it gave no reason"}`,
    );
  }
  const answers = questions.map((question) => answerTo(question, given));
  if (answers.includes(undefined)) {
    const open = questions.filter((_, index) => answers[index] === undefined);
    return { payload_type: "clarification", payload: { questions: open, status: "open" } };
  }
  const resources = questions.map((question, index) => `Asked: ${textWithin(question)}\nAnswered: ${answers[index]}`);
  return numbered(work, revision, undefined, resources);
}

/** Answers a failure with the next revision or, without revisions, the same instruction once more. After that, or with `give_up`, the task fails. */
export function afterError({ task, playbook, revision }: Work, error: JsonObject): Reply {
  const revisions = listOf(playbook["revisions"]).length;
  const next = Math.max(0, revision) + 1;
  const code = typeof error["code"] === "string" ? error["code"] : "agent_failed";
  const message = textWithin(error["message"]) || code;
  const last = Math.max(1, revisions);
  if (next > last || playbook["on_error"] === "give_up") {
    return errorReply(
      code,
      reason(`the playbook knows no other way to do ${textWithin(task["task_id"])}`),
      "look at the ticket's log",
    );
  }
  return numbered({ task, playbook, revision }, next, reason(`The work before this ended: ${code}: ${message}`));
}

/** The start of an error's text. A message with half a character in it would be refused. */
function reason(text: string): string {
  return text.slice(0, 4000).toWellFormed();
}

function numbered(work: Work, revision: number, note?: string, resources: readonly string[] = []): Reply {
  const revisions = listOf(work.playbook["revisions"]).map(objectOf);
  const base = revisions[Math.min(revision, revisions.length) - 1] ?? objectOf(work.task["instruction"]);
  const summary = summaryOf(base, work.task);
  const all = [...listOf(base["resources"]), ...resources];
  return {
    payload_type: "instruction",
    payload: {
      ...base,
      summary: note === undefined ? summary : `${summary}\n\n${note}`,
      ...(all.length === 0 ? {} : { resources: all }),
      metadata: { ...objectOf(base["metadata"]), playbook: { revision } },
    },
  };
}

function summaryOf(instruction: JsonObject, task: JsonObject): string {
  return textWithin(instruction["summary"]) || textWithin(task["description"]);
}

function commandOf(step: JsonObject): string {
  return textWithin(step["shell"]) || listOf(step["command"]).map(textWithin).join(" ");
}
