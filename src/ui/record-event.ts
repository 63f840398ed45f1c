import type { Presentation } from "../kernel/presentation.ts";
import { formatDuration } from "../lib/durations.ts";
import { isJsonObject, type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import { MODES } from "../modes/index.ts";
import { baselineOf } from "../protocol/criteria.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { nextCause } from "./cause.ts";
import { clipped } from "./display.ts";
import { failedChecks, type PrintedLimits, resultsOf } from "./failure-lines.ts";
import type { Style } from "./terminal.ts";
import { allWords, counted, quoted, said, whenTold, wordsOf } from "./words.ts";

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

/** Of a question before its answer, in columns. */
const QUESTION_WIDTH = 60;

/** Without its ticket. */
export type Told = Omit<RecordLine, "ticket">;

/** How much of a record is shown; `width` is for errors, refusals and failures. */
export interface FormatOptions extends PrintedLimits {
  /** The role that took the record's turn, if it is known. */
  readonly role_id?: string | undefined;
  /** How the session's mode shows its statuses, if it is known. */
  readonly presentation?: Presentation | undefined;
  /** Whether states and failures are shown with their codes, as in the record, instead of in a person's words. */
  readonly codes?: boolean;
  /** The texts of the questions that were asked, by their ids. */
  readonly questions?: ReadonlyMap<string, string> | undefined;
  /** How many tickets are done, for the line of a ticket that is finished. */
  readonly done?: string | undefined;
}

/** For following a session. */
export const BRIEF: FormatOptions = { width: 400, last_lines: 2 };

/** For finding a reason: nothing is cut, and states, events and codes have their names in the record. */
export const WHOLE: FormatOptions = { width: Number.POSITIVE_INFINITY, last_lines: 10, codes: true };

/** The fields of each message of a mode of which the first that is there is its line. */
const LINES = new Map(
  Array.from(MODES.values(), ({ reader }) => Object.entries(reader.presentation.lines ?? {})).flat(),
);

/** These report more than why a ticket moved, so they have a line besides those of the transitions. */
export const OWN_LINE: ReadonlySet<string> = new Set([...LINES.keys(), "plan", "approval", "user_command"]);

/** What a record says besides how subjects move. */
export function eventOf(
  record: UnsealedRecord,
  { width, role_id, codes = false, questions }: FormatOptions,
): Told | undefined {
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
      return { text: `ANSWERED by ${authorOf(record)}${answersOf(payload, width, questions)}` };
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
    case "check_result": {
      const base = baselineOf(wordsOf(payload.check_id));
      if (base === "plan") return plansChecks(payload, width);
      return checks(payload, width, base === undefined ? "checks" : "before any work, checks");
    }
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
      const when = payload.command === "tell" ? ` (${whenTold(record)})` : "";
      return { text: `${command} by ${authorOf(record)}${said(payload.text ?? payload.reason)}${when}` };
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
      const style = payload.outcome === "done" ? "green" : "red";
      const reason = textOf(payload.reason);
      const why = codes ? ` reason=${reason}` : ` (${reason.replaceAll("_", " ")})`;
      return { text: `CLOSED ${wordsOf(payload.outcome)}${reason === "" ? "" : why}`, style };
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

function checks(payload: JsonObject, width: number, which: string): Told {
  const { files, results } = objectOf(payload.base_tests);
  const softer =
    files === undefined
      ? ""
      : `; it changes tests: ${clipped(allWords(files).join(", "), width)}, with which as they were ${listOf(results).filter((one) => objectOf(one).passed !== true).length} fail`;
  const failed = failedChecks(payload);
  const all = resultsOf(payload).length;
  if (failed.length === 0) return { text: `${which}: ${all} passed${softer}`, style: softer === "" ? "dim" : "yellow" };
  return { text: `${which}: ${failed.length} of ${all} FAILED ${quoted(failed.join("; "), width)}`, style: "yellow" };
}

/** Before there is work, most checks of a plan fail: only those that cannot run need somebody. */
function plansChecks(payload: JsonObject, width: number): Told {
  const results = resultsOf(payload);
  const passing = results.filter(({ passed }) => passed === true).length;
  const text = `before any work, the plan's checks: ${passing} of ${results.length} passed`;
  const stuck = failedChecks({ results: results.filter(({ exit_code }) => exit_code === 127 || exit_code === null) });
  if (stuck.length === 0) return { text, style: "dim" };
  return { text: `${text}, ${stuck.length} CANNOT RUN ${quoted(stuck.join("; "), width)}`, style: "yellow" };
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

function answersOf({ answers, status }: JsonObject, width: number, questions: FormatOptions["questions"]): string {
  const given = listOf(answers).map(objectOf);
  const words = given.map(({ question_id, text }) => {
    const asked = questions?.get(textOf(question_id));
    const about = asked === undefined ? textOf(question_id) : clipped(asked, QUESTION_WIDTH);
    return `${about.replace(/[^?:.!…]$/, "$&:")} ${wordsOf(text)}`;
  });
  return `${words.length === 0 ? "" : ` ${quoted(words.join("; "), width)}`}${status === "complete" ? ", no more questions" : ""}`;
}

export function authorOf({ source, record }: UnsealedRecord): string {
  return record.actor ? `${record.actor.user} (${record.actor.via})` : source;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
