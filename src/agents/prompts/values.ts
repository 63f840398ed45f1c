import type { TurnRequest } from "../../kernel/agent.ts";
import { defined, isJsonObject, type Json, type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import { ANSWER_SCHEMAS } from "../../protocol/generated/answers.ts";
import { type Shape, SHAPES } from "../../protocol/generated/shapes.ts";
import { permissionsOf, seesWorkspace } from "../../protocol/roles.ts";
import { schemaIn } from "../../protocol/content-schema.ts";
import { contentsOf } from "../content-schema.ts";
import { answersTo, schemaOf } from "./answers.ts";
import { outline, quotation } from "./quoting.ts";
import { checkWords, commandsOf, crewWords, historyWords, workWords } from "./words.ts";

/** Untrusted text, which is quoted as data. A report is data as a whole. */
const DATA: readonly string[] = [
  "context.plan",
  "context.history",
  "context.dependencies",
  "context.transcript",
  "context.crew_notes",
  "message.report",
  "message.checks",
  "message.artifacts",
  "message.diff_stat",
  "message.messages",
  "message.scratchpad",
  "message.details",
  "failed_checks",
  "checks",
  "history",
  "plan",
];

/** Returns a value of one request by name. */
export type Values = (name: string) => string;

type Maker = (request: TurnRequest, nonce: string) => Json | undefined;

/** The placeholders other than the fields of the message and of its context. */
const MAKERS: Readonly<Record<string, Maker>> = {
  nonce: (_, nonce) => nonce,
  message: ({ payload }) => workWords(payload.message.payload),
  "role.id": ({ role }) => role.role_id,
  "role.name": ({ role }) => role.display_name ?? role.role_id,
  // A model gets it as its system text.
  "role.system_prompt": ({ role }) => (role.backend === "model" ? undefined : role.system_prompt),
  "role.output_schema": ({ role: { output_schema: form } }) => (typeof form === "object" ? JSON.stringify(form) : form),
  "role.output_json": ({ role }) => yes(schemaIn(role.output_schema) !== undefined),
  "role.manager": ({ role }) => yes(role.type === "manager"),
  "role.worker": ({ role }) => yes(role.type === "worker"),
  "role.participant": ({ role }) => yes(role.type === "participant"),
  "role.asks": ({ role, unattended }) => yes(unattended !== true && permissionsOf(role).ask === "user"),
  "role.denied": ({ role, unattended, payload }) =>
    yes(isAtWork(role, payload) && seesWorkspace(role) && (unattended === true || permissionsOf(role).ask === "deny")),
  "role.commands": ({ role, payload }) => allowedTo(role, payload),
  unattended: ({ unattended }) => yes(unattended === true),
  // Who plans or instructs must know who works.
  crew: ({ crew = [], payload: { expects } }) =>
    expects.includes("plan") || expects.includes("instruction") ? crewWords(crew) : undefined,
  fresh: (request) => yes(!goesOn(request)),
  goes_on: (request) => yes(goesOn(request)),
  rework: (request) => yes(isRework(request)),
  new_work: (request) => yes(!isRework(request)),
  works: ({ role, payload }) => yes(isAtWork(role, payload)),
  delivers: ({ payload }) => yes(payload.delivers !== undefined),
  session: ({ session_id }) => session_id,
  turn: ({ payload }) => payload.turn_id,
  ticket: ({ payload }) => payload.context.ticket?.ticket_id,
  task: ({ payload }) => taskOf(payload),
  plan: ({ payload }) => payload.context.plan?.summary,
  discuss: ({ payload }) => yes(payload.discuss === true),
  others_plan: ({ payload: { expects } }) => yes(expects.includes("clarification") && !expects.includes("plan")),
  no_more_questions: ({ payload: { message } }) =>
    yes(message.payload_type === "clarification_response" && message.payload["status"] === "complete"),
  workspace: ({ role, payload }) => (seesWorkspace(role) ? payload.workspace : undefined),
  artifacts_dir: ({ payload }) => payload.artifacts_dir,
  home: ({ payload }) => payload.home,
  remaining_turns: ({ payload }) => payload.limits?.remaining_turns,
  changes: ({ payload }) => latestReview(payload.context.history),
  failed_checks: ({ payload }) =>
    listOf(latest(payload.context.history, "check_result")["results"]).filter(hasFailed).map(checkWords),
  checks: ({ payload }) => listOf(objectOf(payload.message.payload)["checks"]).map(checkWords),
  base_tests: ({ payload }) => {
    const { files, results } = objectOf(objectOf(payload.message.payload)["base_tests"]);
    return files === undefined ? undefined : [listOf(files).map(textOf).join(", "), ...listOf(results).map(checkWords)];
  },
  history: (request) =>
    historyWords(request.payload.context.history, request.payload.message.payload_type, isRework(request)),
  "answer.types": ({ payload }) => answersTo(payload.expects).join(", "),
  "answer.content": ({ payload }) => contentsOf(payload.expects).join(", "),
};

const ANSWERS = Object.keys(ANSWER_SCHEMAS).map((type) => `answer.${type}`);
const EXPLAINED = ANSWERS.map((name) => name.replace("answer", "explain"));

/** The placeholders that the template of this message may use. Without a message, as for the frame, only the general ones. */
export function placeholdersFor(message?: string): string[] {
  const context = fieldsOf(fieldsOf(SHAPES["turn_request"])["context"]);
  const names = [...Object.keys(MAKERS), ...ANSWERS, ...EXPLAINED, "answer.schema"];
  const ofMessage = message === undefined ? [] : Object.keys(fieldsOf(SHAPES[message]));
  return [
    ...names,
    ...Object.keys(context).map((name) => `context.${name}`),
    ...ofMessage.map((name) => `message.${name}`),
  ];
}

/** The values of a request. Set `withSchema` if the program has no other way to learn the form of the answer. */
export function valuesOf(request: TurnRequest, nonce: string, withSchema: boolean): Values {
  const { message, context, expects } = request.payload;
  const types = answersTo(expects);
  const unexplained = types.filter((type) => isNew(request, type));
  return (name) => {
    if (name === "answer.schema") {
      const isGiven = unexplained.length === 0 && (message.payload_type !== "instruction" || isRework(request));
      return withSchema && !isGiven ? JSON.stringify(schemaOf(request.payload)) : "";
    }
    if (ANSWERS.includes(name)) return yes(types.some((type) => name === `answer.${type}`));
    if (EXPLAINED.includes(name)) return yes(unexplained.some((type) => name === `explain.${type}`));
    const value = found(name);
    const isReport = message.payload_type === "report" && name.startsWith("message");
    return isReport || DATA.includes(name) ? quotation(value, nonce) : outline(value);
  };

  function found(name: string): Json | undefined {
    const make = MAKERS[name];
    if (make !== undefined) return make(request, nonce);
    const [place, field = ""] = name.split(".");
    const fields: JsonObject = place === "message" ? message.payload : context;
    return workWords(fields[field]);
  }
}

/**
 * Whether the turn goes on in a conversation that has the turns before it. One without tokens may never have reached its model, and a run that is
 * repeated may have been cut off before its prompt was read.
 */
function goesOn({ conversation, stamp }: TurnRequest): boolean {
  return conversation?.how === "resume" && (conversation.tokens ?? 0) > 0 && stamp.run === 1;
}

/** Whether the worker goes on with the instruction that it has reported on in this conversation. A ticket that a revised plan restarts is pending. */
function isRework(request: TurnRequest): boolean {
  const { message, context } = request.payload;
  const { owner, status } = context.ticket ?? {};
  if (!goesOn(request) || message.payload_type !== "instruction" || status === "pending") return false;
  const types = listOf(context.history).map((entry) => textOf(objectOf(entry)["payload_type"]));
  const last = types.findLastIndex((type) => type === "instruction" || type === "instruction_proposal");
  return owner === request.role.role_id && types.includes("report", last + 1);
}

/** Whether no turn of the conversation has told what this answer is. A manager's conversation on a ticket begins with its instruction. */
function isNew(request: TurnRequest, type: string): boolean {
  if (!goesOn(request)) return true;
  const later = request.payload.context.ticket === undefined ? ["instruction"] : ["plan", "review"];
  return request.role.type === "manager" && later.includes(type);
}

/** Whether the turn asks a worker for the work itself, and not for what it thinks of a proposal. */
function isAtWork({ type }: TurnRequest["role"], { message }: TurnRequest["payload"]): boolean {
  return type === "worker" && message.payload_type !== "instruction_proposal";
}

/** The commands that need no permission. Nobody is asked about those of the plan, where somebody would be about others. */
function allowedTo(role: TurnRequest["role"], payload: TurnRequest["payload"]): string {
  const isAsked = isAtWork(role, payload) && permissionsOf(role).ask === "user" && payload.context.ticket !== undefined;
  const ofTask = isAsked ? ["the commands of the acceptance criteria, as they stand"] : [];
  return seesWorkspace(role) ? [...ofTask, ...commandsOf(role)].join(", ") : "";
}

/** The task of the turn's ticket, without what only the scheduler reads, and without an instruction that stands beside it. */
function taskOf({ message, context }: TurnRequest["payload"]): Json | undefined {
  const task = context.ticket?.task as Json | undefined;
  if (!isJsonObject(task)) return task;
  const { status: _, review: __, budget: ___, max_attempts: ____, instruction, ...told } = task;
  const isBeside = ["instruction", "review_request"].includes(message.payload_type);
  return workWords(isBeside ? told : { ...told, ...defined({ instruction }) });
}

function yes(is: boolean): string {
  return is ? "yes" : "";
}

/** The payload of the latest history entry of this type; empty if there is none. */
function latest(history: Json | undefined, type: string): JsonObject {
  const entries = listOf(history).map(objectOf);
  return objectOf(entries.findLast(({ payload_type }) => payload_type === type)?.["payload"]);
}

/** The latest review that sent the work back, or what a panel decided. */
function latestReview(history: Json | undefined): JsonObject {
  const reviews = listOf(history)
    .map(objectOf)
    .map(({ payload_type, payload }) => (payload_type === "review" ? payload : objectOf(payload)["result"]))
    .map(objectOf);
  const last = reviews.findLast(({ decision }) => decision !== undefined) ?? {};
  return last["decision"] === "changes_requested" ? last : {};
}

function hasFailed(check: Json): boolean {
  return objectOf(check)["passed"] === false;
}

function fieldsOf(shape: Shape | string | undefined): Readonly<Record<string, Shape | string>> {
  if (typeof shape === "string" && shape !== "") return fieldsOf(SHAPES[shape]);
  return typeof shape === "object" && "fields" in shape ? shape.fields : {};
}
