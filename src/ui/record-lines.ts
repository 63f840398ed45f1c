import { formatDuration } from "../lib/durations.ts";
import type { JsonObject } from "../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../protocol/record.ts";
import { clipped } from "./display.ts";
import { checkLines, failedChecks, printedLines } from "./failure-lines.ts";
import { BRIEF, type RecordLine, STATE_STYLE, type FormatOptions } from "./format-options.ts";
import { allWords, counted, quoted, said, wordsOf } from "./words.ts";

/**
 * What a record means to somebody who follows a session: a line for every transition, and for what else they would want to
 * know, with the last words of what failed. Requests, progress (`progress.ts` has its latest) and what merely repeats a transition give
 * none. Questions are told by the reporter, with the answer's command.
 */
export function recordLines(record: UnsealedRecord, telling: FormatOptions = BRIEF): RecordLine[] {
  const { disposition, ticket_id } = record.record;
  if (disposition !== "applied") return [{ ticket: ticket_id, ...setAside(record, telling) }];
  // A plan makes all its tickets at once, and is one line of its own.
  const effects = (record.record.effects ?? []).filter((effect) => effect.from !== null);
  const told = effects.length === 0 || OWN_LINE.has(record.payload_type) ? eventOf(record, telling) : undefined;
  return [
    ...(told ? [{ ticket: ticket_id, ...told }] : []),
    ...transitions(record, effects, telling),
    ...printedLines(record, telling).map((text): RecordLine => ({ ticket: ticket_id, text, style: "dim" })),
  ];
}

/** What is said with these is more than why a subject moved: an opinion, a plan, or a person's word, which moves one subject or many. */
const OWN_LINE: ReadonlySet<string> = new Set(["opinion", "verdict", "plan", "approval", "user_command"]);

function transitions(record: UnsealedRecord, effects: readonly RecordedEffect[], telling: FormatOptions): RecordLine[] {
  const { ticket_id } = record.record;
  const why = OWN_LINE.has(record.payload_type) ? "" : details(record, telling);
  return effects.map((effect): RecordLine => {
    const reason = effect.reason === undefined ? "" : ` reason=${effect.reason}`;
    const own = effect.ticket_id === ticket_id || effects.length === 1 ? why : "";
    const text = `${effect.from ?? "new"} -> ${effect.to}${reason}${own}`;
    return { ticket: effect.ticket_id, text, style: STATE_STYLE[effect.to] };
  });
}

/** The scheduler writes the refusal; whose message it was is known from the turn. */
function setAside(
  { source, payload_type, payload, record }: UnsealedRecord,
  { room, role_id }: FormatOptions,
): Omit<RecordLine, "ticket"> {
  const what = payload_type === "error" ? "a message" : payload_type;
  const whose = source === "scheduler" ? role_id : source;
  const of = whose === undefined ? "" : ` of ${whose}`;
  return { text: `${record.disposition.toUpperCase()} ${what}${of}${said(payload.message, room)}`, style: "dim" };
}

function details(whole: UnsealedRecord, { room }: FormatOptions): string {
  const { source, payload_type, payload, record } = whole;
  const parts: string[] = [];
  if (payload_type === "report" || payload_type === "turn_failed") {
    if (record.attempt !== undefined) parts.push(`attempt=${record.attempt}`);
  }
  if (source !== "scheduler") parts.push(`by=${who(whole)}`);
  if (payload_type === "turn_failed" || payload_type === "error") {
    parts.push(`${said(payload.message, room)}${said(payload.resolution_hint, room)}`.trim());
  } else {
    const words = summaryOf(payload_type, payload);
    const isTrouble = payload_type === "check_result" || payload.status === "error" || payload.status === "blocked";
    if (words !== "") parts.push(quoted(words, isTrouble ? room : undefined));
  }
  const told = parts.filter((part) => part !== "");
  return told.length === 0 ? "" : `  ${told.join(" ")}`;
}

function summaryOf(payload_type: string, payload: JsonObject): string {
  if (payload_type === "instruction" || payload_type === "plan") return "";
  if (payload_type === "check_result") return failedChecks(payload).join("; ");
  if (payload_type === "review" && payload.decision === "changes_requested") {
    const changes = allWords(payload.requested_changes);
    return changes.length > 0 ? changes.join("; ") : wordsOf(payload.notes);
  }
  return wordsOf(payload.summary ?? payload.message ?? payload.notes);
}

function eventOf(record: UnsealedRecord, { room, role_id }: FormatOptions): Omit<RecordLine, "ticket"> | undefined {
  const { payload_type, payload, source, target } = record;
  switch (payload_type) {
    case "turn_request":
      return record.record.ticket_id === undefined ? { text: `asked ${target}`, style: "dim" } : undefined;
    case "plan":
      return {
        text: `PLAN ${counted(lengthOf(payload.tasks), "task")} by ${source}${said(payload.summary)}${revised(record, room)}`,
        style: "bold",
      };
    case "clarification":
      return { text: `QUESTIONS of ${source} ${quoted(allWords(payload.questions).join(" / "))}` };
    case "approval":
      return {
        text: `${wordsOf(payload.decision).toUpperCase()} by ${who(record)}${edited(payload)}${said(payload.notes)}`,
      };
    case "clarification_response":
      return { text: `ANSWERED by ${who(record)}${answered(payload)}` };
    case "turn_failed":
      return { text: `FAILED ${role_id === undefined ? "" : `${role_id} `}${codeOf(payload, room)}`, style: "yellow" };
    case "error":
      return { text: `ERROR ${source} ${codeOf(payload, room)}`, style: "yellow" };
    case "check_result":
      return checkLines(payload, room);
    case "report":
      return source === "scheduler"
        ? { text: `LONG WAIT ${quoted(allWords(payload.issues).join("; "), room)}`, style: "yellow" }
        : undefined;
    case "artifact_ref":
      return { text: `artifact ${wordsOf(payload.label)}${sizeOf(payload.size_bytes)}`, style: "dim" };
    case "user_command":
      return {
        text: `${[wordsOf(payload.command).toUpperCase(), wordsOf(payload.role_id)].join(" ").trim()} by ${who(record)}${said(payload.text ?? payload.reason)}`,
      };
    case "session_begun":
      return { text: `DISCUSSED in ${wordsOf(payload.session_id)}, a ${wordsOf(payload.mode)} of its own` };
    case "session_finished":
      return {
        text: `${wordsOf(payload.session_id)} ENDED ${wordsOf(payload.outcome)}${said(payload.reason, room)}`,
      };
    case "session_recovered":
      return { text: `RESUMED${repeated(lengthOf(payload.turns))}` };
    case "time_shifted":
      return { text: shifted(payload), style: "dim" };
    case "session_reopened":
      return { text: `REOPENED${said(payload.reason, room)}` };
    case "session_stopped":
      return { text: `STOPPED ${wordsOf(payload.reason)}${said(payload.message, room)}`, style: "yellow" };
    case "session_closed":
      return closed(payload);
    case "opinion":
      return { text: `OPINION of ${source}${said(payload.summary ?? payload.position ?? payload.text, room)}` };
    case "verdict":
      return {
        text: `VERDICT of ${source}${said(payload.summary ?? payload.conclusion ?? payload.text, room)}`,
        style: "bold",
      };
    default:
      return undefined;
  }
}

/**
 * What a plan made of the tickets that were there before, as far as it moved them: which pending ones are changed only the plans
 * themselves would tell. A first plan makes all its tickets.
 */
function revised({ payload, record: { effects = [] } }: UnsealedRecord, room: number): string {
  const made = effects.filter(({ from }) => from === null);
  const told = [
    { what: "new", of: made.length < lengthOf(payload.tasks) ? made : [] },
    { what: "begun anew", of: effects.filter(({ from, to }) => from !== null && to === "pending") },
    { what: "left out", of: effects.filter(({ reason }) => reason === "withdrawn") },
  ].filter(({ of }) => of.length > 0);
  const lists = told.map(
    ({ what, of }) => `${what}: ${clipped(of.map(({ ticket_id }) => ticket_id).join(", "), room)}`,
  );
  return lists.length === 0 ? "" : `, ${lists.join("; ")}`;
}

function repeated(turns: number): string {
  return turns === 0 ? "" : ` ${counted(turns, "turn")} to repeat`;
}

function closed(payload: JsonObject): Omit<RecordLine, "ticket"> {
  const reason = typeof payload.reason === "string" ? ` reason=${payload.reason}` : "";
  return { text: `CLOSED ${wordsOf(payload.outcome)}${reason}`, style: payload.outcome === "done" ? "green" : "red" };
}

function shifted({ cause, shift_ms }: JsonObject): string {
  const by = formatDuration(Math.abs(Number(shift_ms)));
  if (cause === "sleep") return `the machine slept ${by}`;
  return `the wall clock was set ${Number(shift_ms) < 0 ? "back" : "forward"} by ${by}`;
}

function codeOf(payload: JsonObject, room: number): string {
  return `${wordsOf(payload.code)}${said(payload.message, room)}${said(payload.resolution_hint, room)}`;
}

function edited({ plan }: JsonObject): string {
  return plan === undefined ? "" : ", as they edited it";
}

function answered({ answers, status }: JsonObject): string {
  const given = (Array.isArray(answers) ? answers : []) as JsonObject[];
  const words = given.map((answer) => `${wordsOf(answer.question_id)}: ${wordsOf(answer.text)}`).join("; ");
  return `${words === "" ? "" : ` ${quoted(words)}`}${status === "complete" ? ", and wants no more questions" : ""}`;
}

function who({ source, record }: UnsealedRecord): string {
  return record.actor ? `${record.actor.user} (${record.actor.via})` : source;
}

function sizeOf(bytes: unknown): string {
  return typeof bytes === "number" ? ` ${bytes} bytes` : "";
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
