import type { TurnRequest } from "../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { ANSWER_SCHEMAS } from "../../protocol/generated/answers.ts";
import { type Shape, SHAPES } from "../../protocol/generated/shapes.ts";
import { permissionsOf, seesWorkspace } from "../../protocol/roles.ts";
import { schemaIn } from "../../protocol/content-schema.ts";
import { contentsOf } from "../content-schema.ts";
import { answerSchema, answersTo } from "./answers.ts";
import { outline, quotation } from "./quoting.ts";

/** Untrusted text, which is quoted as data. A report is data as a whole. */
const DATA: readonly string[] = [
  "context.plan",
  "context.history",
  "context.dependencies",
  "context.transcript",
  "message.report",
  "message.checks",
  "message.artifacts",
  "message.diff_stat",
  "message.messages",
  "message.scratchpad",
  "message.details",
  "failed_checks",
];

/** Returns a value of one request by name. */
export type Values = (name: string) => string;

type Maker = (request: TurnRequest, nonce: string) => Json | undefined;

/** The placeholders other than the fields of the message and of its context. */
const MAKERS: Readonly<Record<string, Maker>> = {
  nonce: (_, nonce) => nonce,
  message: ({ payload }) => payload.message.payload,
  "role.id": ({ role }) => role.role_id,
  "role.name": ({ role }) => role.display_name ?? role.role_id,
  // A model gets it as its system text.
  "role.system_prompt": ({ role }) => (role.backend === "model" ? undefined : role.system_prompt),
  "role.output_schema": ({ role: { output_schema: form } }) => (typeof form === "object" ? JSON.stringify(form) : form),
  "role.output_json": ({ role }) => yes(schemaIn(role.output_schema) !== undefined),
  "role.manager": ({ role }) => yes(role.type === "manager"),
  "role.worker": ({ role }) => yes(role.type === "worker"),
  "role.participant": ({ role }) => yes(role.type === "participant"),
  "role.asks": ({ role }) => yes(permissionsOf(role).ask === "user"),
  session: ({ session_id }) => session_id,
  turn: ({ payload }) => payload.turn_id,
  ticket: ({ payload }) => payload.context.ticket?.ticket_id,
  task: ({ payload }) => payload.context.ticket?.task,
  discuss: ({ payload }) => yes(payload.discuss === true),
  others_plan: ({ payload: { expects } }) => yes(expects.includes("clarification") && !expects.includes("plan")),
  no_more_questions: ({ payload: { message } }) =>
    yes(message.payload_type === "clarification_response" && message.payload["status"] === "complete"),
  workspace: ({ role, payload }) => (seesWorkspace(role) ? payload.workspace : undefined),
  artifacts_dir: ({ payload }) => payload.artifacts_dir,
  home: ({ payload }) => payload.home,
  remaining_turns: ({ payload }) => payload.limits?.remaining_turns,
  changes: ({ payload }) => latestReview(payload.context.history),
  failed_checks: ({ payload }) => listOf(latest(payload.context.history, "check_result")["results"]).filter(hasFailed),
  "answer.types": ({ payload }) => answersTo(payload.expects).join(", "),
  "answer.content": ({ payload }) => contentsOf(payload.expects).join(", "),
};

const ANSWERS = Object.keys(ANSWER_SCHEMAS).map((type) => `answer.${type}`);

/** The placeholders that the template of this message may use. Without a message, as for the frame, only the general ones. */
export function placeholdersFor(message?: string): string[] {
  const context = fieldsOf(fieldsOf(SHAPES["turn_request"])["context"]);
  const names = [...Object.keys(MAKERS), ...ANSWERS, "answer.schema"];
  const ofMessage = message === undefined ? [] : Object.keys(fieldsOf(SHAPES[message]));
  return [
    ...names,
    ...Object.keys(context).map((name) => `context.${name}`),
    ...ofMessage.map((name) => `message.${name}`),
  ];
}

/** The values of a request. Set `withSchema` if the program has no other way to learn the form of the answer. */
export function valuesOf(request: TurnRequest, nonce: string, withSchema: boolean): Values {
  const { message, context, expects, choices } = request.payload;
  const types = answersTo(expects).map((type) => `answer.${type}`);
  return (name) => {
    if (name === "answer.schema") return withSchema ? JSON.stringify(answerSchema(expects, choices)) : "";
    if (ANSWERS.includes(name)) return types.includes(name) ? "yes" : "";
    const value = found(name);
    const isReport = message.payload_type === "report" && name.startsWith("message");
    return isReport || DATA.includes(name) ? quotation(value, nonce) : outline(value);
  };

  function found(name: string): Json | undefined {
    const make = MAKERS[name];
    if (make !== undefined) return make(request, nonce);
    const [place, field = ""] = name.split(".");
    const fields: JsonObject = place === "message" ? message.payload : context;
    return fields[field];
  }
}

function yes(is: boolean): string {
  return is ? "yes" : "";
}

/** The payload of the latest history entry of this type; empty if there is none, or if it does not fit. */
function latest(
  history: Json | undefined,
  type: string,
  fits: (payload: JsonObject) => boolean = () => true,
): JsonObject {
  const entry = listOf(history)
    .map(objectOf)
    .findLast(({ payload_type }) => payload_type === type);
  const payload = objectOf(entry?.["payload"]);
  return fits(payload) ? payload : {};
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
