import { type Json, type JsonObject, listOf, objectOf } from "../lib/json.ts";

/** The one request an agent gets, as far as the crew reads it: field by field what WIRE calls `turn_request`. */
export interface Turn {
  readonly session_id: string;
  readonly role_id: string;
  readonly turn_id: string;
  readonly expects: readonly string[];
  readonly message: { readonly payload_type: string; readonly payload: JsonObject };
  readonly context: JsonObject;
  readonly discuss: boolean;
  readonly workspace: string;
  readonly artifacts_dir: string;
  /** The line as it came, for programs further down that want to read it themselves. */
  readonly line: string;
}

/** What an agent answers with. */
export interface Reply {
  readonly payload_type: string;
  readonly payload: JsonObject;
}

/** An `error` answer: `code` is one of the wire's, `hint` says what to do next. */
export function errorReply(code: string, message: string, hint?: string): Reply {
  return {
    payload_type: "error",
    payload: { code, message, ...(hint === undefined ? {} : { resolution_hint: hint }) },
  };
}

/**
 * The turn on stdin; undefined when the input ended without one, which means: exit without working, for whoever started us is
 * gone. A line cut short counts as none. Throws what is wrong with a line that is complete and no turn request.
 */
export async function readTurn(): Promise<Turn | undefined> {
  const { line, complete } = await firstLine();
  if (line.trim() === "") return undefined;
  let envelope: Json;
  try {
    envelope = JSON.parse(line) as Json;
  } catch (error) {
    if (!complete) return undefined;
    throw new Error(`the line on stdin is not JSON: ${(error as Error).message}`, { cause: error });
  }
  return turnOf(envelope, line);
}

async function firstLine(): Promise<{ line: string; complete: boolean }> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    const end = chunk.indexOf(0x0a);
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (end >= 0) return { line: Buffer.concat(chunks).toString("utf8"), complete: true };
  }
  return { line: Buffer.concat(chunks).toString("utf8"), complete: false };
}

function turnOf(envelope: Json, line: string): Turn {
  const outer = objectOf(envelope);
  if (outer["payload_type"] !== "turn_request") {
    throw new Error(
      `expected one turn_request envelope on stdin, got payload_type ${JSON.stringify(outer["payload_type"])}`,
    );
  }
  const payload = objectOf(outer["payload"]);
  const message = objectOf(payload["message"]);
  return {
    session_id: required(outer["session_id"], "session_id"),
    role_id: required(payload["role_id"], "payload.role_id"),
    turn_id: required(payload["turn_id"], "payload.turn_id"),
    expects: listOf(payload["expects"]).filter((type) => typeof type === "string"),
    message: {
      payload_type: required(message["payload_type"], "payload.message.payload_type"),
      payload: objectOf(message["payload"]),
    },
    context: objectOf(payload["context"]),
    discuss: payload["discuss"] === true,
    workspace: required(payload["workspace"], "payload.workspace"),
    artifacts_dir: required(payload["artifacts_dir"], "payload.artifacts_dir"),
    line,
  };
}

function required(value: Json | undefined, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`the turn_request has no ${name}`);
}

/** What a program without a model takes of either, known and not only untold: a budget can be kept by it. */
const NOTHING_USED = { input_tokens: 0, output_tokens: 0, cost_usd: 0 };

/** Prints this turn's answer on stdout. */
export function sayAnswer(turn: Turn, { payload_type, payload }: Reply): void {
  say(turn, { payload_type, payload: { ...payload, usage: NOTHING_USED } });
}

/** Prints one envelope of this turn on stdout. */
export function say(turn: Turn, reply: Reply): void {
  const envelope = {
    session_id: turn.session_id,
    timestamp: new Date().toISOString(),
    source: turn.role_id,
    target: "scheduler",
    payload_type: reply.payload_type,
    version: "1.0",
    payload: { turn_id: turn.turn_id, ...reply.payload },
  };
  process.stdout.write(`${JSON.stringify(envelope)}\n`);
}

/** The text of a value that may be a plain string or an object with a `text`; empty when it has none. */
export function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  const inner = objectOf(value)["text"];
  return typeof inner === "string" ? inner : "";
}

/** A text with at most so many UTF-16 units, which are never half a character. */
export function cutTo(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
