import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../lib/json.ts";
import { afterError, afterReport, instruction, lastRevision, proposal } from "./playbook/instructions.ts";
import { substitute } from "./playbook/placeholders.ts";
import { loadPlanFile, type PlanFile } from "./playbook/plan-file.ts";
import { answersSoFar, openQuestions, type Standing } from "./playbook/questions.ts";
import { errorReply, readTurn, type Reply, sayAnswer, type Turn } from "./turn.ts";

/** The manager that plays the plan file named by `BOSUN_PLAYBOOK`. It answers one turn and exits. */
async function main(): Promise<void> {
  const turn = await readTurn();
  if (turn === undefined) return;
  const path = process.env["BOSUN_PLAYBOOK"];
  if (path === undefined || path === "") {
    sayAnswer(
      turn,
      errorReply("invalid_plan", "BOSUN_PLAYBOOK is not set", "set it to the path of a plan file (YAML or JSON)"),
    );
    return;
  }
  const plan = await loadPlanFile(path, import.meta.filename);
  sayAnswer(
    turn,
    plan.ok
      ? answer(turn, plan.value, import.meta.filename)
      : errorReply("invalid_plan", plan.error, `correct ${path}`),
  );
}

/** The playbook's answer to a turn. `program` is its own file. The same turn and plan file always give the same answer. */
function answer(turn: Turn, plan: PlanFile, program: string): Reply {
  const refused = listOf(turn.context["refused"]).map(objectOf)[0];
  if (refused !== undefined) {
    return errorReply(
      "validation_failed",
      `the answer made from ${plan.path} was refused: ${textWithin(refused["message"] ?? refused["code"])} (${textWithin(refused["pointer"] ?? "")})`,
      `correct ${plan.path}; the same file gives the same answer`,
    );
  }
  const given = answersSoFar(turn);
  const standing = openQuestions(plan.questions, given);
  const { payload_type: type, payload } = turn.message;
  if (type === "requirement" || type === "clarification_response") return clarifyOrPlan(turn, plan, standing, program);

  const task = plan.tasks.find((candidate) => candidate["task_id"] === taskIdOf(turn));
  if (task === undefined) {
    // A person who edits the plan may add a task. Its review needs nothing from the file.
    if (type === "review_request") return review(payload, []);
    return errorReply(
      "validation_failed",
      `${plan.path} has no task "${taskIdOf(turn)}"`,
      "add the task to that file, or give it an instruction in the plan",
    );
  }
  // If another role made the plan, its questions have not been asked.
  if (standing.unanswerable.length > 0) return ask(turn, plan, standing);
  const values = { answers: standing.settled, program };
  const playbook = objectOf(substitute(objectOf(objectOf(task["metadata"])["playbook"]), values));
  const filled = objectOf(substitute(task, values));
  const work = { task: filled, playbook, revision: lastRevision(turn) };
  switch (type) {
    case "ticket":
      return turn.discuss && turn.expects.includes("instruction_proposal") ? proposal(work) : instruction(work);
    case "report":
      return afterReport(work, payload, given);
    case "review_request":
      return review(payload, listOf(playbook["fatal_issues"]).map(textWithin));
    case "error":
      return afterError(work, payload);
    default:
      return errorReply("validation_failed", `a playbook has no answer to "${type}"`);
  }
}

function clarifyOrPlan(turn: Turn, plan: PlanFile, standing: Standing, program: string): Reply {
  const noMore = turn.message.payload["status"] === "complete" || !turn.expects.includes("clarification");
  if (standing.unanswerable.length > 0 || (standing.open.length > 0 && !noMore))
    return ask(turn, plan, standing, noMore);
  const values = { answers: standing.settled, program };
  const { questions: _questions, requirement: _requirement, ...payload } = plan.document;
  const tasks = plan.tasks.map((task) => planned(task, payload["metadata"]));
  const made = objectOf(substitute(withoutPlaybook({ ...payload, tasks }), values));
  const isSentBack = turn.message.payload_type === "requirement" && listOf(turn.context["notes"]).length > 0;
  if (!isSentBack) return { payload_type: "plan", payload: made };
  const summary = [textWithin(made["summary"]), AS_IT_IS].filter((text) => text !== "").join("\n");
  return { payload_type: "plan", payload: { ...made, summary } };
}

/** Added to the plan's summary when a person has sent the plan back with words. */
const AS_IT_IS = "The playbook cannot change its plan file: edit the plan here, or reject it and change the file.";

function ask(
  turn: Turn,
  plan: PlanFile,
  { open, unanswerable }: Standing,
  noMore = !turn.expects.includes("clarification"),
): Reply {
  if (!noMore) return { payload_type: "clarification", payload: { questions: open, status: "open" } };
  return errorReply(
    "validation_failed",
    `${plan.path}: no usable answer to ${unanswerable.join(", ")}, and no default`,
    `answer it, or give the question a default in ${plan.path}`,
  );
}

/** A task as the plan shows it. Its instruction waits for the ticket's own turn, unless the file says `with_plan`. */
function planned(task: JsonObject, metadataOfPlan: Json | undefined): JsonObject {
  const own = objectOf(objectOf(task["metadata"])["playbook"])["instruction"];
  const general = objectOf(objectOf(metadataOfPlan)["playbook"])["instruction"];
  if ((own ?? general) === "with_plan") return withoutPlaybook(task);
  const { instruction: _instruction, ...rest } = task;
  return withoutPlaybook(rest);
}

function withoutPlaybook(value: JsonObject): JsonObject {
  if (value["metadata"] === undefined) return value;
  const { metadata, ...rest } = value;
  const { playbook: _playbook, ...others } = objectOf(metadata);
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}

function taskIdOf(turn: Turn): string {
  const ticket = objectOf(turn.context["ticket"]);
  const { payload } = turn.message;
  const found = payload["task_id"] ?? ticket["task_id"] ?? payload["ticket_id"] ?? ticket["ticket_id"];
  return typeof found === "string" ? found : "";
}

const TAIL_LINES = 20;
const TAIL_CHARACTERS = 2000;

/**
 * Reviews a ticket on its evidence alone. It is approved if every check passed and no issue in the report contains a
 * `fatal` text; otherwise each failed criterion is named with the end of its output.
 */
function review(request: JsonObject, fatal: readonly string[]): Reply {
  const report = objectOf(request["report"]);
  const checks = listOf(request["checks"]).map(objectOf);
  const changes = [
    ...checks.filter((check) => check["passed"] !== true).map(failedCheck),
    ...listOf(report["issues"])
      .map(textWithin)
      .filter((issue) => fatal.some((text) => issue.toLowerCase().includes(text.toLowerCase())))
      .map((issue) => `The report names an issue that the plan does not accept: ${issue}`),
  ];
  if (report["status"] !== "completed")
    changes.push(`The report says "${textWithin(report["status"])}", not "completed".`);
  if (changes.length > 0) {
    return { payload_type: "review", payload: { decision: "changes_requested", requested_changes: changes } };
  }
  const few = ["Nothing was checked: the task has no executable criterion.", "Its check passed."];
  const notes = few[checks.length] ?? `All ${checks.length} checks passed.`;
  return { payload_type: "review", payload: { decision: "approved", notes } };
}

function failedCheck(check: JsonObject): string {
  const criterion = check["criterion"];
  const command = listOf(objectOf(criterion)["command"]).map(textWithin).join(" ");
  const tail = textWithin(check["output"])
    .split("\n")
    .slice(-TAIL_LINES)
    .join("\n")
    .slice(-TAIL_CHARACTERS)
    .toWellFormed()
    .trim();
  return [
    `Not met: ${textWithin(criterion)}`,
    ...(command === "" ? [] : [`\`${command}\` ended with exit code ${JSON.stringify(check["exit_code"])}`]),
    ...(tail === "" ? [] : [`its output ended:\n${tail}`]),
  ].join("\n");
}

try {
  await main();
} catch (error) {
  process.stderr.write(`playbook: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
