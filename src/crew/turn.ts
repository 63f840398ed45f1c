import { type Json, type JsonObject, listOf, objectOf } from "../lib/json.ts";

// Without a handler, this signal opens Node's inspector, through which any program of the same user can take over the process.
process.on("SIGUSR1", () => {});

/** The parts of an agent's `turn_request` (SPEC.md) that the crew reads. */
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
  /** The request line as it arrived, for the programs that a step runs. */
  readonly line: string;
}

/** An agent's answer. */
export interface Reply {
  readonly payload_type: string;
  readonly payload: JsonObject;
}

/** An `error` answer. `code` is an error code of the wire, `hint` says what to do next. */
export function errorReply(code: string, message: string, hint?: string): Reply {
  return {
    payload_type: "error",
    payload: { code, message, ...(hint === undefined ? {} : { resolution_hint: hint }) },
  };
}

/**
 * Reads the turn from stdin; undefined if the input ends before the end of its line. Then the scheduler is gone, and the program must exit without
 * working. Throws if the line is not a turn request.
 */
export async function readTurn(): Promise<Turn | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (chunk.includes(0x0a)) break;
  }
  const [line = "", ...rest] = Buffer.concat(chunks).toString("utf8").split("\n");
  if (line.trim() === "") return undefined;
  try {
    return turnOf(JSON.parse(line) as Json, line);
  } catch (error) {
    if (rest.length === 0) return undefined;
    throw new Error(`the line on stdin is no turn request: ${(error as Error).message}`, { cause: error });
  }
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

/** A program without a model uses nothing. It reports that, because unknown usage cannot be held against a budget. */
const NOTHING_USED = { input_tokens: 0, output_tokens: 0, cost_usd: 0 };

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
