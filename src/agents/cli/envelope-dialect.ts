import { isDeepStrictEqual } from "node:util";
import type { Answer, TurnEvent, TurnRequest } from "../../kernel/agent.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import type { JsonObject } from "../../lib/json.ts";
import { acceptAnswer, type Channel } from "../../protocol/envelope.ts";
import { WIRE_VERSION } from "../../protocol/record.ts";
import { parseLine } from "../../protocol/limits.ts";
import { isNotice, type TypedPayload } from "../../protocol/payload.ts";
import type { Refusal } from "../../protocol/refusal.ts";

const OPENING_BRACE = 0x7b;
const MAX_EVENTS = 1_000;
const MAX_REFUSALS = 8;
const EXCERPT_CHARACTERS = 2_048;

/** Emitted once, so that viewers know that later messages are missing. */
const TOO_MANY_EVENTS: TurnEvent = {
  kind: "refused",
  refusal: {
    payload_type: "",
    code: "output_limit",
    pointer: "",
    message: "1,000 messages of this run are recorded; later ones are lost, except the answer.",
  },
  excerpt: "",
};

/** The line that gives a turn to an agent: canonical, so that the log reproduces its bytes. */
export function requestLine(request: TurnRequest): string {
  const envelope = {
    session_id: request.session_id,
    timestamp: request.at,
    source: "scheduler",
    target: request.role.role_id,
    payload_type: "turn_request",
    version: WIRE_VERSION,
    payload: request.payload,
  };
  return `${canonicalJson(envelope)}\n`;
}

/** Whether a line with this first byte can be an envelope, which may be longer than console text. */
export function mayBeEnvelope(firstByte: number): boolean {
  return firstByte === OPENING_BRACE;
}

/**
 * Reads one turn's stdout line by line and separates messages from console text. The first acceptable message of an expected type is
 * the answer; earlier messages are emitted, later ones are duplicates or late. A refused message is emitted with the reason and does
 * not end the turn. Emits at most 1,000 events and one that says so; keeps the latest 8 refusals.
 */
export class EnvelopeReader {
  readonly #channel: Channel;
  readonly #expects: ReadonlySet<string>;
  readonly #emit: (event: TurnEvent) => void;
  readonly #redact: (text: string) => string;
  #events = 0;
  #answer: Answer | undefined;
  #refused: Refusal[] = [];

  constructor(request: TurnRequest, emit: (event: TurnEvent) => void, redact: (text: string) => string) {
    const { session_id, role, stamp, payload } = request;
    this.#channel = {
      session_id,
      role_id: role.role_id,
      turn_id: stamp.turn_id,
      ...(stamp.subject === undefined ? {} : { subject: stamp.subject }),
    };
    this.#expects = new Set([...payload.expects, "error"]);
    this.#emit = emit;
    this.#redact = redact;
  }

  get answer(): Answer | undefined {
    return this.#answer;
  }

  get refused(): readonly Refusal[] {
    return this.#refused;
  }

  /** Takes a line and tells what it is: console text, the turn's answer, or another message, accepted or refused. */
  read(line: Buffer, cut: boolean): "console" | "message" | "answer" {
    if (line.length === 0 || !mayBeEnvelope(line.readUInt8(0))) return "console";
    // Only for lines that do not parse: decides whether they are a broken message or console text.
    const looksLikeMessage = () => line.includes('"payload_type"');
    if (cut) {
      // With sorted keys the payload comes first, and the type is cut off.
      if (!looksLikeMessage() && !line.includes('"payload"')) return "console";
      this.#refuse(line, {
        payload_type: "",
        code: "output_limit",
        pointer: "",
        message: `The line is longer than the ${line.length} bytes a message may have. Put large texts into files and send artifact_ref.`,
      });
      return "message";
    }
    const parsed = parseLine(line);
    if (!parsed.ok) {
      if (!looksLikeMessage()) return "console";
      this.#refuse(line, parsed.error);
      return "message";
    }
    if (!Object.hasOwn(parsed.value, "payload_type")) return "console";
    return this.#accept(line, parsed.value);
  }

  #accept(line: Buffer, value: JsonObject): "message" | "answer" {
    const accepted = acceptAnswer(value, this.#channel);
    if (!accepted.ok) this.#refuse(line, accepted.error);
    else if (this.#answer !== undefined) this.#afterAnswer(accepted.value, this.#answer);
    else if (isNotice(accepted.value)) this.#notice(accepted.value);
    else if (!this.#expects.has(accepted.value.payload_type))
      this.#refuse(line, this.#unexpected(accepted.value.payload_type));
    else {
      this.#answer = answerOf(accepted.value);
      return "answer";
    }
    return "message";
  }

  #notice(message: TypedPayload): void {
    const { payload_type, payload } = answerOf(message);
    if (payload_type === "artifact_ref" || payload_type === "report")
      this.#emitEvent({ kind: "envelope", payload_type, payload });
  }

  #afterAnswer(message: TypedPayload, answer: Answer): void {
    const { payload_type, payload } = answerOf(message);
    const repeated = payload_type === answer.payload_type && isDeepStrictEqual(payload, answer.payload);
    this.#emitEvent(repeated ? { kind: "duplicate", payload_type } : { kind: "late", payload_type, payload });
  }

  #unexpected(payload_type: string): Refusal {
    const expected = [...this.#expects].join(", ");
    return {
      payload_type,
      code: "not_permitted",
      pointer: "/payload_type",
      message: `${payload_type} does not answer this turn. It expects one of: ${expected}.`,
    };
  }

  #refuse(line: Buffer, refusal: Refusal): void {
    this.#refused = [...this.#refused, refusal].slice(-MAX_REFUSALS);
    // Redacts more than the excerpt, so that a secret across its end is found.
    const redacted = this.#redact(line.toString("utf8", 0, 4 * EXCERPT_CHARACTERS));
    this.#emitEvent({ kind: "refused", refusal, excerpt: redacted.slice(0, EXCERPT_CHARACTERS) });
  }

  #emitEvent(event: TurnEvent): void {
    this.#events += 1;
    if (this.#events <= MAX_EVENTS) this.#emit(event);
    else if (this.#events === MAX_EVENTS + 1) this.#emit(TOO_MANY_EVENTS);
  }
}

/** A checked message as plain JSON. */
function answerOf(message: TypedPayload): Answer {
  return { payload_type: message.payload_type, payload: message.payload };
}
