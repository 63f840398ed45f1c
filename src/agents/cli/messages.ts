import { isDeepStrictEqual } from "node:util";
import type { Answer, TurnEvent, TurnRequest } from "../../kernel/agent.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { acceptAnswer, type Channel } from "../../protocol/envelope.ts";
import { isNotice, type TypedPayload } from "../../protocol/payload.ts";
import { WIRE_VERSION } from "../../protocol/record.ts";
import { cut, refusal, type Refusal } from "../../protocol/refusal.ts";
import type { ContentCheck } from "../content-schema.ts";
import { answerIn, readAnswer } from "../prompts/answers.ts";

/** The first byte of a message. Only such a line of stdout may be as long as a message. */
export const OPENING_BRACE = 0x7b;

const MAX_EVENTS = 1_000;
const MAX_REFUSALS = 8;
/** More than the record keeps, so that a secret across the end of that is withheld. */
const MAX_EXCERPT_BYTES = 8_192;

/** Emitted once, so that viewers know that later messages are missing. */
const TOO_MANY_EVENTS: TurnEvent = {
  kind: "refused",
  refusal: refusal(
    "",
    "output_limit",
    "",
    "1,000 messages of this run are recorded; later ones are lost, except the answer.",
  ),
  excerpt: "",
};

/**
 * The messages of one process, in any dialect. The first acceptable message of an expected type is the answer; earlier messages are
 * emitted, later ones are duplicates or late. A refused message is emitted with the reason and does not end the turn. Emits at most
 * 1,000 events and one that says so; keeps the latest 8 refusals.
 */
export class Messages {
  readonly #channel: Channel;
  readonly #expects: ReadonlySet<string>;
  readonly #emit: (event: TurnEvent) => void;
  readonly #check: ContentCheck;
  #events = 0;
  #answer: Answer | undefined;
  #refused: Refusal[] = [];

  constructor(request: TurnRequest, emit: (event: TurnEvent) => void, check: ContentCheck = () => undefined) {
    const { session_id, role, stamp, payload } = request;
    this.#channel = {
      session_id,
      role_id: role.role_id,
      turn_id: stamp.turn_id,
      ...(stamp.subject === undefined ? {} : { subject: stamp.subject }),
    };
    this.#expects = new Set([...payload.expects, "error"]);
    this.#emit = emit;
    this.#check = check;
  }

  get answer(): Answer | undefined {
    return this.#answer;
  }

  get refused(): readonly Refusal[] {
    return this.#refused;
  }

  /** Takes the answer in a text of a program without envelopes, or in the `structured` form that it gave instead. */
  read(text: string, structured?: Json): "message" | "answer" {
    const expects = [...this.#expects];
    const read = structured === undefined ? answerIn(text, expects) : readAnswer(structured, expects);
    if (read.ok) return this.take(read.value);
    this.refuse(Buffer.from(structured === undefined ? text : JSON.stringify(structured)), read.error);
    return "message";
  }

  /** Takes the answer of a program without envelopes, as if it had sent this payload. */
  take({ payload_type, payload }: Answer): "message" | "answer" {
    const { session_id, role_id } = this.#channel;
    const value = { session_id, source: role_id, target: "scheduler", payload_type, version: WIRE_VERSION, payload };
    return this.accept(Buffer.from(JSON.stringify(payload)), value);
  }

  /** Takes a parsed envelope; `line` is what it was parsed from. */
  accept(line: Buffer, value: JsonObject): "message" | "answer" {
    const accepted = acceptAnswer(value, this.#channel);
    if (!accepted.ok) this.refuse(line, accepted.error);
    else if (this.#answer !== undefined) this.#afterAnswer(accepted.value, this.#answer);
    else if (isNotice(accepted.value)) this.#notice(accepted.value);
    else if (!this.#expects.has(accepted.value.payload_type))
      this.refuse(line, this.#unexpected(accepted.value.payload_type));
    else {
      const unfit = this.#check(accepted.value);
      if (unfit === undefined) {
        this.#answer = accepted.value;
        return "answer";
      }
      this.refuse(line, unfit);
    }
    return "message";
  }

  #notice(message: TypedPayload): void {
    const { payload_type, payload }: Answer = message;
    if (payload_type === "artifact_ref" || payload_type === "report")
      this.#emitEvent({ kind: "envelope", payload_type, payload });
  }

  #afterAnswer(message: TypedPayload, answer: Answer): void {
    const { payload_type, payload }: Answer = message;
    const repeated = payload_type === answer.payload_type && isDeepStrictEqual(payload, answer.payload);
    this.#emitEvent(repeated ? { kind: "duplicate", payload_type } : { kind: "late", payload_type, payload });
  }

  #unexpected(payload_type: string): Refusal {
    const expected = [...this.#expects].join(", ");
    const message = `${payload_type} does not answer this turn. It expects one of: ${expected}.`;
    return refusal(payload_type, "not_permitted", "/payload_type", message);
  }

  /** Refuses a line of this process. */
  refuse(line: Buffer, why: Refusal): void {
    this.#refused = [...this.#refused, why].slice(-MAX_REFUSALS);
    this.#emitEvent({ kind: "refused", refusal: why, excerpt: line.toString("utf8", 0, MAX_EXCERPT_BYTES) });
  }

  #emitEvent(event: TurnEvent): void {
    this.#events += 1;
    if (this.#events <= MAX_EVENTS) this.#emit(event);
    else if (this.#events === MAX_EVENTS + 1) this.#emit(TOO_MANY_EVENTS);
  }
}

/** A line that says what a program does, as it is shown. */
export function oneLine(text: string): string {
  return cut(text.replaceAll(/\s+/g, " ").trim(), 200);
}
