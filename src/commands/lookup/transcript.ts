import { outline } from "../../agents/prompts/quoting.ts";
import { CONTINUED, contributionsIn, type Transcript } from "../../kernel/kit/transcript.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf, textWithin } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { cut } from "../../protocol/refusal.ts";
import { recordsOf } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { CommandContext } from "../context/command.ts";
import { withHome } from "../context/home.ts";
import { readHomeOf } from "./homes.ts";
import { resolveSession, SHOW } from "./resolve.ts";

type Entry = Transcript["entries"][number];

/** Limits in characters, so that prompts, which cut what is longer, show what is left out at the place that is noted here. */
const MAX_TEXT = 16_000;
const MAX_TRANSCRIPT = 80_000;
const MAX_CALL = 500;
/** What a prompt writes around an entry, and before each of its lines. */
const AROUND_ENTRY = 220;
const BEFORE_LINE = 6;

/** What was said in a session so far, from its records. Failures: `not_found`, `usage` for an id that is none, and those of the store. */
export async function readTranscript(context: CommandContext, named: string): Promise<Fallible<Transcript>> {
  return withHome(await readHomeOf(context, named), ({ store }) =>
    catchStorage(async () => {
      const row = resolveSession(store, named, SHOW);
      if (!row.ok) return row;
      const { session_id, mode, last_sequence } = row.value;
      const entries = [...recordsOf(store, session_id, 1, last_sequence)].flatMap(entriesOf);
      if (contributionsIn({ entries }).length > 0)
        return ok({ session_id, mode, up_to: last_sequence, entries: withoutMiddle(entries) });
      return fails("not_found", `The session ${session_id} has no transcript: no agent has said anything in it.`, {
        hint: `\`bosun log ${session_id}\` shows what happened.`,
      });
    }),
  );
}

/** What a record says: what agents and people sent, results of checks, and why a turn has no answer. No requests, and nothing that was refused. */
function entriesOf({ source, payload_type, payload, record, integrity }: LogRecord): Entry[] {
  if (record.disposition !== "applied") return [];
  const { sequence } = integrity;
  const entry = (author: string, type: string, said: Entry["payload"]) =>
    said.text || said.calls ? [{ sequence, source: author, payload_type: type, payload: said }] : [];
  switch (payload_type) {
    case "session_opened": {
      const before = objectOf(objectOf(payload.input)[CONTINUED]).entries as Transcript["entries"] | undefined;
      return [...(before ?? []), ...entry("user", "requirement", { text: shortened(payload.requirement) })];
    }
    // Said by the record before.
    case "requirement":
      return [];
    case "user_command":
      return entry(source, payload_type, { text: shortened(textWithin(payload.text)) });
    case "turn_failed":
      return entry(source, payload_type, { text: `no answer: ${textOf(payload.code)}` });
    case "session_closed":
      return entry(source, payload_type, { text: `the session ended: ${textOf(payload.outcome)}` });
    case "check_result":
      return entry(source, payload_type, { calls: listOf(payload.results).map(callOf) });
    default:
      return source === "scheduler" || payload.status === "progress"
        ? []
        : entry(source, payload_type, saidIn(payload));
  }
}

/** Fields that say nothing, or are shown as calls. */
const UNSAID = ["turn_id", "ticket_id", "usage", "metadata", "evidence"];

/** What an agent or a person says in a message: its one text, or its fields. Commands stand apart, as calls. */
function saidIn(payload: JsonObject): Entry["payload"] {
  const fields = Object.entries(payload).filter(
    ([field, value]) => !UNSAID.includes(field) && !(field === "status" && value === "completed"),
  );
  const [only, more] = fields.map(([, value]) => value);
  const calls = listOf(payload.evidence).map(callOf);
  const text = shortened(more === undefined && typeof only === "string" ? only : Object.fromEntries(fields));
  return { text, ...(calls.length > 0 ? { calls } : {}) };
}

/** Evidence, or the result of a check, in one line. */
function callOf(call: Json): string {
  const { criterion, command = objectOf(criterion).command, exit_code } = objectOf(call);
  const words = Array.isArray(command) ? command.join(" ") : textOf(command);
  const what = [words, textWithin(call) || textWithin(criterion)].filter((text) => text !== "").join(": ");
  const end = exit_code === undefined ? "" : ` → ${exit_code === null ? "no exit code" : `exit ${Number(exit_code)}`}`;
  return `${cut(what.replace(/\s+/g, " "), MAX_CALL)}${end}`;
}

function shortened(value: Json | undefined): string {
  return outline(typeof value === "string" ? value : outline(value), MAX_TEXT);
}

/** The first and the last entries, if there is too much of all; the one after the gap says what is left out. */
function withoutMiddle(entries: readonly Entry[]): Entry[] {
  const costs = entries.map(costOf);
  if (sum(costs) <= MAX_TRANSCRIPT) return [...entries];
  const head = fitting(costs);
  const tail = entries.length - fitting(costs.toReversed());
  const gap = entries.slice(head, tail);
  const characters = sum(gap.map(({ payload }) => payload.text?.length ?? 0)).toLocaleString("en");
  const left_out = `${gap.length} ${gap.length === 1 ? "entry" : "entries"} with ${characters} characters`;
  const [next, ...others] = entries.slice(tail);
  return [...entries.slice(0, head), ...(next ? [{ ...next, payload: { left_out, ...next.payload } }] : []), ...others];
}

/** How many of the first entries fit into half of a transcript: at least one, since each is shorter than half. */
function fitting(costs: readonly number[]): number {
  let left = MAX_TRANSCRIPT / 2;
  const end = costs.findIndex((cost) => (left -= cost) < 0);
  return end < 0 ? costs.length : end;
}

function costOf({ payload: { text = "", calls = [] } }: Entry): number {
  return sum([text, ...calls].map((one) => one.length + one.split("\n").length * BEFORE_LINE)) + AROUND_ENTRY;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
