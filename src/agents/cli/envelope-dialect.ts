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

/** Said once: whoever watches would take what was said last for the latest, and what was brought for kept. */
const ONE_TOO_MANY: TurnEvent = {
  kind: "refused",
  refusal: {
    payload_type: "",
    code: "output_limit",
    pointer: "",
    message: "1,000 messages of this run are recorded; later ones that are no answer are lost.",
  },
  excerpt: "",
};

/** The one line that gives a turn to an agent: canonical, so that the log gives the same bytes again. */
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

/** Whether a line that begins so can be an envelope, and may thus be longer than console text. */
export function mayBeEnvelope(firstByte: number): boolean {
  return firstByte === OPENING_BRACE;
}

/**
 * Hears one turn's stdout, line by line, and tells messages from console text. The first acceptable message whose type the
 * request expects is the answer; what comes before it is emitted, what comes after it is a duplicate or late. A refused
 * message is emitted with its reason and ends nothing. At most 1,000 events are emitted, and one that says so; the latest 8 refusals are kept.
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

  /** Takes a line, and says whether it was meant as a message; if not, it is console text. */
  read(line: Buffer, cut: boolean): boolean {
    if (line.length === 0 || !mayBeEnvelope(line.readUInt8(0))) return false;
    // The quick look only serves lines that do not parse: they are a broken message or console text by what they seem to be.
    const seemsMeant = () => line.includes('"payload_type"');
    if (cut) {
      // With sorted keys the payload comes first, and the type in the part that is not kept.
      if (!seemsMeant() && !line.includes('"payload"')) return false;
      this.#refuse(line, {
        payload_type: "",
        code: "output_limit",
        pointer: "",
        message: `The line is longer than the ${line.length} bytes a message may have. Put large texts into files and send artifact_ref.`,
      });
      return true;
    }
    const parsed = parseLine(line);
    if (!parsed.ok) {
      if (!seemsMeant()) return false;
      this.#refuse(line, parsed.error);
      return true;
    }
    if (!Object.hasOwn(parsed.value, "payload_type")) return false;
    this.#hear(line, parsed.value);
    return true;
  }

  #hear(line: Buffer, value: JsonObject): void {
    const accepted = acceptAnswer(value, this.#channel);
    if (!accepted.ok) return this.#refuse(line, accepted.error);
    const message = accepted.value;
    if (this.#answer !== undefined) return this.#afterAnswer(message, this.#answer);
    if (isNotice(message)) return this.#notice(message);
    if (!this.#expects.has(message.payload_type)) return this.#refuse(line, this.#unexpected(message.payload_type));
    this.#answer = answerOf(message);
  }

  #notice(message: TypedPayload): void {
    const { payload_type, payload } = answerOf(message);
    if (payload_type === "artifact_ref" || payload_type === "report")
      this.#tell({ kind: "envelope", payload_type, payload });
  }

  #afterAnswer(message: TypedPayload, answer: Answer): void {
    const { payload_type, payload } = answerOf(message);
    const repeated = payload_type === answer.payload_type && isDeepStrictEqual(payload, answer.payload);
    this.#tell(repeated ? { kind: "duplicate", payload_type } : { kind: "late", payload_type, payload });
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
    // More is looked at than is kept, so that a secret across the end of the excerpt is seen whole.
    const seen = this.#redact(line.toString("utf8", 0, 4 * EXCERPT_CHARACTERS));
    this.#tell({ kind: "refused", refusal, excerpt: seen.slice(0, EXCERPT_CHARACTERS) });
  }

  #tell(event: TurnEvent): void {
    this.#events += 1;
    if (this.#events <= MAX_EVENTS) this.#emit(event);
    else if (this.#events === MAX_EVENTS + 1) this.#emit(ONE_TOO_MANY);
  }
}

/** A checked message as plain JSON, for whoever records it. */
function answerOf(message: TypedPayload): Answer {
  return { payload_type: message.payload_type, payload: message.payload };
}
