import { remedyFor } from "../kernel/holds.ts";
import { AGENT_PAYLOAD_TYPES, type PayloadType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { type Telling, tellingOf, type ToldHold } from "../protocol/telling.ts";
import { listOf, objectOf, textOf } from "../lib/json.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import type { FormatOptions, RecordLine } from "./record-event.ts";
import { recordLines } from "./record-lines.ts";
import { outageWords } from "./hold-words.ts";
import type { Style } from "./terminal.ts";
import { localMoment } from "./timeline.ts";
import { counted } from "./words.ts";

/**
 * A formatter needs these records, and the opening, even if they are not shown, because later lines depend on them. Plans are left out: one may have
 * many megabytes, and a request follows it.
 */
export const CONTEXT_TYPES: ReadonlySet<string> = new Set<PayloadType>([
  "turn_request",
  "turn_failed",
  "user_command",
  "session_recovered",
  "session_reopened",
  ...AGENT_PAYLOAD_TYPES.filter((type) => type !== "plan"),
]);

/** Minimum wait for a role's rate that is shown, in ms. */
const NOTICEABLE_MS = 5_000;

/** The colours of those who speak, in the order in which they come. */
const VOICES: readonly Style[] = ["cyan", "magenta", "green", "blue", "yellow"];

/** Formats a session's records. Call with them in order. It remembers the role of each turn, what was asked, and which roles are held. */
export class RecordFormatter {
  /** The role of a turn, and when the turn was given, in ms since 1970. */
  readonly #turns = new Map<string, { readonly role_id: string; readonly since: number }>();
  readonly #holds = new Map<string, ToldHold>();
  readonly #questions = new Map<string, string>();
  readonly #voices = new Map<string, Style | undefined>();
  /** The roles whose rate was shown. It holds a role again and again. */
  readonly #paced = new Set<string>();

  /** Takes the roles that are held already. */
  begin(holds: readonly ToldHold[]): void {
    for (const hold of holds) this.#holds.set(hold.hold_id, hold);
  }

  /** When a turn was given, in ms since 1970, if it was. */
  since(turn_id: string): number | undefined {
    return this.#turns.get(turn_id)?.since;
  }

  format(record: UnsealedRecord, options: FormatOptions): RecordLine[] {
    const { turn_id, received_at } = record.record;
    if (record.payload_type === "turn_request" && turn_id !== undefined)
      this.#turns.set(turn_id, { role_id: record.target, since: Date.parse(received_at) });
    const role_id = turn_id === undefined ? undefined : this.#turns.get(turn_id)?.role_id;
    const telling = tellingOf(record);
    for (const { ask_id } of telling.asks)
      for (const { question_id, text } of listOf(record.payload.questions).map(objectOf))
        this.#questions.set(`${ask_id}.${textOf(question_id)}`, textOf(text));
    const questions = options.codes === true ? undefined : this.#questions;
    const lines = [...recordLines(record, { ...options, role_id, questions }), ...this.#holdLines(record, telling)];
    // Who states something is told by its colour.
    if (options.presentation?.statementName === undefined) return lines;
    return lines.map((line) => ({ ...line, name_style: this.#voiceOf(line.ticket) }));
  }

  #voiceOf(name: string | undefined): Style | undefined {
    if (name === undefined) return undefined;
    if (!this.#voices.has(name)) this.#voices.set(name, VOICES[this.#voices.size % VOICES.length]);
    return this.#voices.get(name);
  }

  /** The roles that a record holds, and those that work again; the roles of an account in one line. A close ends all holds without a line. */
  #holdLines({ session_id, record }: UnsealedRecord, { state, holds, ended }: Telling): RecordLine[] {
    const now = milliseconds(record.received_at);
    const lines = new Map<string, RecordLine>();
    const say = (hold: ToldHold, line: Omit<RecordLine, "ticket">) => {
      const whom = hold.account ?? hold.role_id;
      if (!lines.has(whom)) lines.set(whom, { ticket: record.ticket_id, ...line });
    };
    for (const id of ended.holds) {
      const hold = this.#holds.get(id);
      this.#holds.delete(id);
      if (hold && !isRate(hold) && state !== "closed") say(hold, { text: `NO LONGER HELD: ${nameOf(hold)}` });
    }
    for (const hold of holds) {
      const before = this.#holds.get(hold.hold_id);
      this.#holds.set(hold.hold_id, hold);
      if (isRate(hold)) {
        if (this.#isPaced(hold, now)) say(hold, { text: rateWords(hold, now), style: "dim" });
      } else if (hold.trying !== true && (before === undefined || before.until !== hold.until))
        say(hold, { ...heldLine(session_id, hold, now), style: "yellow" });
    }
    return [...lines.values()];
  }

  /** Whether the rate of a role is shown now: once, when the wait is noticeable. */
  #isPaced({ role_id, until = "" }: ToldHold, now: number): boolean {
    if (this.#paced.has(role_id) || milliseconds(until) - now < NOTICEABLE_MS) return false;
    this.#paced.add(role_id);
    return true;
  }
}

function isRate({ limit }: ToldHold): boolean {
  return limit?.limit === "turns_per_minute";
}

function rateWords(hold: ToldHold, now: number): string {
  const { until = "", limit } = hold;
  const end = localMoment(new Date(milliseconds(until)), new Date(now));
  return `HELD ${nameOf(hold)} until ${end}: limited to ${counted(limit?.max ?? 0, "turn")} a minute (not shown again)`;
}

function heldLine(session_id: string, hold: ToldHold, now: number): Pick<RecordLine, "text" | "command"> {
  const { role_id, reason, until } = hold;
  const command = `bosun resume ${session_id} --release ${role_id}`;
  const outage = outageWords(hold);
  if (outage !== undefined) return { text: `HELD: ${outage}; to try now:`, command };
  const text =
    until === undefined
      ? `(${reason}): ${remedyFor(hold)}, then:`
      : `until ${localMoment(new Date(milliseconds(until)), new Date(now))} (${reason}); to release it now:`;
  return { text: `HELD ${nameOf(hold)} ${text}`, command };
}

function nameOf({ role_id, account }: ToldHold): string {
  return account === undefined ? role_id : `${role_id} and all of account ${account}`;
}
