import type { TurnEvent, TurnRequest } from "../../../kernel/agent.ts";
import { canonicalJson } from "../../../lib/canonical.ts";
import { WIRE_VERSION } from "../../../protocol/record.ts";
import { membersFor, parseLine } from "../../../protocol/limits.ts";
import { refusal } from "../../../protocol/refusal.ts";
import type { ContentCheck } from "../../content-schema.ts";
import { Messages, OPENING_BRACE } from "../messages.ts";
import type { Dialect, Reader, ReadOutput } from "./dialect.ts";

/** The line that gives a turn to an agent: canonical JSON, so that the log reproduces its bytes. */
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

/** The wire protocol itself: one request line on stdin, envelopes among console text on stdout (SPEC.md). */
export const envelope: Dialect = ({ request, emit, check }) => ({
  command: request.role.cli_command ?? [],
  input: requestLine(request),
  reader: new EnvelopeReader(request, emit, check),
});

/** Reads one turn's stdout line by line and separates messages from console text. */
export class EnvelopeReader implements Reader {
  readonly #messages: Messages;
  readonly #members: number;

  constructor(request: TurnRequest, emit: (event: TurnEvent) => void, check?: ContentCheck) {
    this.#messages = new Messages(request, emit, check);
    this.#members = membersFor(request.payload.expects);
  }

  /** Takes a line and returns what it is: console text, the turn's answer, or another message, accepted or refused. */
  read(line: Buffer, cut: boolean): "console" | "message" | "answer" {
    if (line[0] !== OPENING_BRACE) return "console";
    // For lines that do not parse: whether they are a broken message or console text.
    const looksLikeMessage = () => line.includes('"payload_type"');
    if (cut) {
      // If the keys are sorted, the payload comes first and the type is cut off.
      if (!looksLikeMessage() && !line.includes('"payload"')) return "console";
      const what = `The line is longer than the ${line.length} bytes a message may have. Put large texts into files and send artifact_ref.`;
      this.#messages.refuse(line, refusal("", "output_limit", "", what));
      return "message";
    }
    const parsed = parseLine(line, this.#members);
    if (!parsed.ok) {
      if (!looksLikeMessage()) return "console";
      this.#messages.refuse(line, parsed.error);
      return "message";
    }
    if (!Object.hasOwn(parsed.value, "payload_type")) return "console";
    return this.#messages.accept(line, parsed.value);
  }

  end(): ReadOutput {
    const { answer, refused } = this.#messages;
    return { answer, refused, exitCounts: true };
  }
}
