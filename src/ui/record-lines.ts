import { type Presentation, shownStatus } from "../kernel/presentation.ts";
import { formatDuration } from "../lib/durations.ts";
import { MODES } from "../modes/index.ts";
import { isJsonObject, type JsonObject, objectOf } from "../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../protocol/record.ts";
import { nextCause } from "./cause.ts";
import { clipped } from "./display.ts";
import { failedChecks, type PrintedLimits, printedLines, resultsOf } from "./failure-lines.ts";
import { eventStyle, statusWords } from "./status.ts";
import type { Style } from "./terminal.ts";
import { allWords, counted, quoted, said, wordsOf } from "./words.ts";

/** One line about a record: the ticket it concerns, and what happened. */
export interface RecordLine {
  readonly ticket: string | undefined;
  readonly text: string;
  /** A command to type, shown at the end of the line and never broken. */
  readonly command?: string | undefined;
  readonly style?: Style | undefined;
  /** The colour of the ticket's name. */
  readonly name_style?: Style | undefined;
}

/** Maximum width of the summary of work, in columns. */
const SUMMARY_WIDTH = 100;

type Told = Omit<RecordLine, "ticket">;

/** How much of a record is shown; `width` is for errors, refusals and failures. */
export interface FormatOptions extends PrintedLimits {
  /** The role that took the record's turn, if it is known. */
  readonly role_id?: string | undefined;
  /** How the session's mode shows its statuses, if it is known. */
  readonly presentation?: Presentation | undefined;
  /** Whether states and failures are shown with their codes, as in the record, instead of in a person's words. */
  readonly codes?: boolean;
  /** How many tickets are done, for the line of a ticket that is finished. */
  readonly done?: string | undefined;
}

/** For following a session. */
export const BRIEF: FormatOptions = { width: 400, last_lines: 2 };

/** For finding a reason: nothing is cut, and states, events and codes have their names in the record. */
export const WHOLE: FormatOptions = { width: Number.POSITIVE_INFINITY, last_lines: 10, codes: true };

/**
 * The lines of one record for a person who follows the session: each transition, other events, and the last output of what failed. A ticket's
 * requests, progress, and records that repeat a transition have no lines. The reporter shows questions.
 */
export function recordLines(record: UnsealedRecord, options: FormatOptions = BRIEF): RecordLine[] {
  const { disposition, ticket_id } = record.record;
  // The command that a person typed says itself why it was refused.
  const isTyped = record.payload_type === "user_command" && options.codes !== true;
  if (disposition !== "applied") return isTyped ? [] : [{ ticket: ticket_id, ...setAside(record, options) }];
  // A plan creates all its tickets at once and has one line.
  const effects = (record.record.effects ?? []).filter((effect) => effect.from !== null);
  // Why the session's own seat gave up is said once, and not with each subject that it leaves.
  const isGivenUp = record.payload_type === "error" && ticket_id === undefined && effects.length > 1;
  const hasLine = effects.length === 0 || isGivenUp || OWN_LINE.has(record.payload_type);
  const event = hasLine ? eventOf(record, options) : undefined;
  return [
    ...(event ? [{ ticket: ticket_id, ...event }] : []),
    ...transitions(record, effects, options),
    ...printedBy(record, options).map((text): RecordLine => ({ ticket: ticket_id, text, style: "dim" })),
  ];
}

/** What it printed last, which may be why it failed, word for word. */
function printedBy(record: UnsealedRecord, options: FormatOptions): string[] {
  const lines = printedLines(record, options);
  const words = options.codes === true ? undefined : nextCause(undefined, record)?.words;
  return lines.length > 0 && lines[0] === `| ${words}` ? lines.slice(1) : lines;
}

/** The fields of each message of a mode of which the first that is there is its line. */
const LINES = new Map(
  Array.from(MODES.values(), ({ reader }) => Object.entries(reader.presentation.lines ?? {})).flat(),
);

/** These report more than why a ticket moved, so they have a line besides those of the transitions. */
export const OWN_LINE: ReadonlySet<string> = new Set([...LINES.keys(), "plan", "approval", "user_command"]);

function transitions(record: UnsealedRecord, effects: readonly RecordedEffect[], options: FormatOptions): RecordLine[] {
  const { ticket_id } = record.record;
  const reasonOf = options.codes === true ? details : whyMoved;
  const why = OWN_LINE.has(record.payload_type) ? "" : reasonOf(record, options);
  return effects.map((effect): RecordLine => {
    const reason = effect.reason === undefined ? "" : ` reason=${effect.reason}`;
    const own = effect.ticket_id === ticket_id || effects.length === 1 ? why : "";
    const { stage } = shownStatus(options.presentation, effect.to);
    const count = stage === "done" && options.done !== undefined ? `  ${options.done}` : "";
    const text =
      options.codes === true
        ? `${effect.from ?? "new"} -> ${effect.to}${reason}${count}${own}`
        : `${movedTo(record, effect)}${count}${own}`;
    return { ticket: effect.ticket_id, text, style: eventStyle(options.presentation, effect.to) };
  });
}

/** Where a subject is now, in a person's words. */
function movedTo({ payload_type, payload, record }: UnsealedRecord, { from, to, reason }: RecordedEffect): string {
  const hasFailed = payload_type === "turn_failed" || payload.status === "error";
  if (hasFailed) return (record.attempt ?? 1) > 1 ? `failed (try ${record.attempt})` : "failed";
  if (reason === "checks_failed") return "checks failed";
  const isSentBack = from === "awaiting_review" && to === "in_progress";
  if (isSentBack || payload.decision === "changes_requested") return "sent back";
  return statusWords(to, reason);
}

/** By whom, and why or with which result. */
function whyMoved(whole: UnsealedRecord, { width }: FormatOptions): string {
  const { source, payload_type, payload } = whole;
  const by = source === "scheduler" ? "" : ` by ${authorOf(whole)}`;
  const cause = nextCause(undefined, whole);
  const words =
    cause === undefined ? clipped(summaryOf(payload_type, payload), SUMMARY_WIDTH) : clipped(cause.words, width);
  return words === "" ? by : `${by}: ${words}`;
}

/** The scheduler writes a refusal; the turn shows whose message it refused. */
function setAside({ source, payload_type, payload, record }: UnsealedRecord, { width, role_id }: FormatOptions): Told {
  const what = payload_type === "error" ? "message" : payload_type;
  const author = source === "scheduler" ? role_id : source;
  const from = author === undefined ? "" : ` from ${author}`;
  return { text: `${record.disposition.toUpperCase()} ${what}${from}${said(payload.message, width)}`, style: "dim" };
}

function details(whole: UnsealedRecord, { width }: FormatOptions): string {
  const { source, payload_type, payload, record } = whole;
  const parts: string[] = [];
  if (payload_type === "report" || payload_type === "turn_failed") {
    if (record.attempt !== undefined) parts.push(`attempt=${record.attempt}`);
  }
  if (source !== "scheduler") parts.push(`by=${authorOf(whole)}`);
  if (payload_type === "turn_failed" || payload_type === "error") {
    parts.push(`${said(payload.message, width)}${said(payload.resolution_hint, width)}`.trim());
  } else {
    const words = summaryOf(payload_type, payload);
    const isTrouble = payload_type === "check_result" || payload.status === "error" || payload.status === "blocked";
    if (words !== "") parts.push(quoted(words, isTrouble ? width : undefined));
  }
  const shown = parts.filter((part) => part !== "");
  return shown.length === 0 ? "" : `  ${shown.join(" ")}`;
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

function eventOf(record: UnsealedRecord, { width, role_id, codes = false }: FormatOptions): Told | undefined {
  const { payload_type, payload, source, target } = record;
  switch (payload_type) {
    case "turn_request":
      return record.record.ticket_id === undefined ? { text: `asked ${target}`, style: "dim" } : undefined;
    case "plan": {
      const tasks = counted(lengthOf(payload.tasks), "task");
      return {
        text: `PLAN ${tasks} by ${source}${said(payload.summary)}${revision(record, width)}`,
        style: "bold",
      };
    }
    case "clarification":
      return { text: `QUESTIONS from ${source} ${quoted(allWords(payload.questions).join(" / "))}` };
    case "approval_request": {
      const about = objectOf(payload.about);
      if (payload.subject !== "permission") return undefined;
      return { text: `ASKS ${wordsOf(about.role_id)} wants to${said(about.action, width)}`, style: "yellow" };
    }
    case "approval": {
      const edits = payload.plan === undefined ? "" : ", with edits";
      const scope = payload.scope === "ticket" || payload.scope === "session" ? ` for the ${payload.scope}` : "";
      const decision = `${wordsOf(payload.decision).toUpperCase()}${scope}`;
      return { text: `${decision} by ${authorOf(record)}${edits}${said(payload.notes)}` };
    }
    case "clarification_response":
      return { text: `ANSWERED by ${authorOf(record)}${answersOf(payload)}` };
    case "turn_failed":
      // A stop itself reports how many turns it cuts off.
      if (isJsonObject(payload.details) && payload.details.cut_off === true) return undefined;
      return {
        text: codes
          ? `FAILED ${role_id === undefined ? "" : `${role_id} `}${errorOf(payload, width)}`
          : `${role_id ?? "a turn"} failed: ${whyFailed(record, width)}`,
        style: "yellow",
      };
    case "error":
      if (!codes && source !== "scheduler")
        return { text: `${source} gave up: ${whyFailed(record, width)}`, style: "yellow" };
      return { text: `ERROR ${source} ${errorOf(payload, width)}`, style: "yellow" };
    case "check_result":
      return checks(payload, width);
    case "report":
      return source === "scheduler"
        ? { text: `LONG WAIT ${quoted(allWords(payload.issues).join("; "), width)}`, style: "yellow" }
        : undefined;
    case "artifact_ref": {
      const size = typeof payload.size_bytes === "number" ? ` ${payload.size_bytes} bytes` : "";
      return { text: `artifact ${wordsOf(payload.label)}${size}`, style: "dim" };
    }
    case "user_command": {
      const command = [wordsOf(payload.command).toUpperCase(), wordsOf(payload.role_id)].join(" ").trim();
      return { text: `${command} by ${authorOf(record)}${said(payload.text ?? payload.reason)}` };
    }
    case "session_begun":
      return { text: `STARTED ${wordsOf(payload.mode)} ${wordsOf(payload.session_id)}` };
    case "session_finished":
      return { text: `${wordsOf(payload.session_id)} ENDED ${wordsOf(payload.outcome)}${said(payload.reason, width)}` };
    case "session_recovered": {
      const turns = lengthOf(payload.turns);
      return { text: `RESUMED${turns === 0 ? "" : ` ${counted(turns, "turn")} to repeat`}` };
    }
    case "time_shifted":
      return { text: timeShift(payload), style: "dim" };
    case "session_reopened":
      return { text: `REOPENED${said(payload.reason, width)}` };
    case "session_stopped":
      return {
        text: codes
          ? `STOPPED ${wordsOf(payload.reason)}${said(payload.message, width)}`
          : clipped(stopWords(payload), width),
        style: "yellow",
      };
    case "session_closed": {
      const reason = typeof payload.reason === "string" ? ` reason=${payload.reason}` : "";
      const style = payload.outcome === "done" ? "green" : "red";
      return { text: `CLOSED ${wordsOf(payload.outcome)}${reason}`, style };
    }
    default: {
      const words = LINES.get(payload_type)?.map((field) => payload[field]);
      const text = said(
        words?.find((word) => word !== undefined),
        width,
      );
      // About no ticket: the session's own seat concludes.
      const style = record.record.ticket_id === undefined ? "bold" : undefined;
      return words && { text: `${payload_type.replaceAll("_", " ").toUpperCase()} from ${source}${text}`, style };
    }
  }
}

/** Why it stopped. That of a role which failed is said before. */
function stopWords({ reason, message }: JsonObject): string {
  const words = (wordsOf(message) || wordsOf(reason)).replace(
    /(?: on \w+ \([^)]*\))?, (?:the last time )?with \w+$/,
    "",
  );
  return words.startsWith("stopped") ? words : `stopped: ${words}`;
}

function whyFailed(record: UnsealedRecord, width: number): string {
  const cause = nextCause(undefined, record);
  return clipped([cause?.words, cause?.hint].filter(Boolean).join(" "), width);
}

function checks(payload: JsonObject, width: number): Told {
  const failed = failedChecks(payload);
  const all = resultsOf(payload).length;
  if (failed.length === 0) return { text: `checks: ${all} passed`, style: "dim" };
  return { text: `checks: ${failed.length} of ${all} FAILED ${quoted(failed.join("; "), width)}`, style: "yellow" };
}

/** How a revised plan moved the tickets. Changed tasks that are still pending are not known here. */
function revision({ payload, record: { effects = [] } }: UnsealedRecord, width: number): string {
  const made = effects.filter(({ from }) => from === null);
  const groups = [
    { what: "new", of: made.length < lengthOf(payload.tasks) ? made : [] },
    { what: "restarted", of: effects.filter(({ from, reason }) => from !== null && reason !== "withdrawn") },
    { what: "removed", of: effects.filter(({ reason }) => reason === "withdrawn") },
  ].filter(({ of }) => of.length > 0);
  const lists = groups.map(
    ({ what, of }) => `${what}: ${clipped(of.map(({ ticket_id }) => ticket_id).join(", "), width)}`,
  );
  return lists.length === 0 ? "" : `, ${lists.join("; ")}`;
}

function timeShift({ cause, shift_ms }: JsonObject): string {
  const by = formatDuration(Math.abs(Number(shift_ms)));
  if (cause === "sleep") return `the machine slept ${by}`;
  return `the wall clock was set ${Number(shift_ms) < 0 ? "back" : "forward"} by ${by}`;
}

function errorOf(payload: JsonObject, width: number): string {
  return `${wordsOf(payload.code)}${said(payload.message, width)}${said(payload.resolution_hint, width)}`;
}

function answersOf({ answers, status }: JsonObject): string {
  const given = (Array.isArray(answers) ? answers : []) as JsonObject[];
  const words = given.map((answer) => `${wordsOf(answer.question_id)}: ${wordsOf(answer.text)}`).join("; ");
  return `${words === "" ? "" : ` ${quoted(words)}`}${status === "complete" ? ", no more questions" : ""}`;
}

function authorOf({ source, record }: UnsealedRecord): string {
  return record.actor ? `${record.actor.user} (${record.actor.via})` : source;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
