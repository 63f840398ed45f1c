import { formatDuration } from "../lib/durations.ts";
import type { JsonObject } from "../lib/json.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { clipped } from "./display.ts";
import type { Style } from "./terminal.ts";
import { allWords, counted, wordsOf } from "./words.ts";

/** One line of a record for people: the ticket it is about, what happened, and how it should catch the eye. */
export interface RecordLine {
  readonly ticket: string | undefined;
  readonly text: string;
  readonly style?: Style;
}

const QUOTE_WIDTH = 100;

/**
 * What a record means to somebody who follows a session: a line for every transition, and for what else they would want to
 * know. Requests, progress and what merely repeats a transition give none. Questions are told by the reporter, with the answer's command.
 */
export function recordLines(record: UnsealedRecord): RecordLine[] {
  const { disposition, ticket_id } = record.record;
  if (disposition !== "applied") return [{ ticket: ticket_id, ...setAside(record) }];
  // A plan makes all its tickets at once, and is one line of its own.
  const effects = (record.record.effects ?? []).filter((effect) => effect.from !== null);
  if (effects.length === 0) {
    const told = eventOf(record);
    return told ? [{ ticket: ticket_id, ...told }] : [];
  }
  const why = details(record);
  return effects.map((effect): RecordLine => {
    const reason = effect.reason === undefined ? "" : ` reason=${effect.reason}`;
    const own = effect.ticket_id === ticket_id || effects.length === 1 ? why : "";
    const style = STATE_STYLE[effect.to];
    return {
      ticket: effect.ticket_id,
      text: `${effect.from ?? "new"} -> ${effect.to}${reason}${own}`,
      ...(style ? { style } : {}),
    };
  });
}

const STATE_STYLE: Readonly<Record<string, Style>> = { done: "green", error: "red", blocked: "yellow" };

function setAside({ source, payload_type, payload, record }: UnsealedRecord): Omit<RecordLine, "ticket"> {
  const why = typeof payload.message === "string" ? ` ${quoted(payload.message)}` : "";
  const what = payload_type === "error" ? "a message" : payload_type;
  return { text: `${record.disposition.toUpperCase()} ${what} of ${source}${why}`, style: "dim" };
}

function details({ source, payload_type, payload, record }: UnsealedRecord): string {
  const parts: string[] = [];
  if (payload_type === "report" || payload_type === "turn_failed") {
    if (record.attempt !== undefined) parts.push(`attempt=${record.attempt}`);
  }
  if (source !== "scheduler" && source !== "user") parts.push(`by=${source}`);
  const said = summaryOf(payload_type, payload);
  if (said !== "") parts.push(quoted(said));
  return parts.length === 0 ? "" : `  ${parts.join(" ")}`;
}

function summaryOf(payload_type: string, payload: JsonObject): string {
  if (payload_type === "instruction" || payload_type === "plan") return "";
  if (payload_type === "check_result") return failedChecks(payload).join("; ");
  if (payload_type === "review" && payload.decision === "changes_requested") {
    const changes = allWords(payload.requested_changes);
    return changes.length > 0 ? changes.join("; ") : wordsOf(payload.notes);
  }
  const said = payload.summary ?? payload.message ?? payload.notes;
  return wordsOf(said);
}

function eventOf(record: UnsealedRecord): Omit<RecordLine, "ticket"> | undefined {
  const { payload_type, payload, source, target } = record;
  switch (payload_type) {
    case "turn_request":
      return record.record.ticket_id === undefined ? { text: `asked ${target}`, style: "dim" } : undefined;
    case "plan":
      return {
        text: `PLAN ${counted(lengthOf(payload.tasks), "task")} by ${source}${said(payload.summary)}`,
        style: "bold",
      };
    case "clarification":
      return { text: `QUESTIONS of ${source} ${quoted(allWords(payload.questions).join(" / "))}` };
    case "approval":
      return { text: `${wordsOf(payload.decision).toUpperCase()} by ${who(record)}${said(payload.notes)}` };
    case "clarification_response":
      return { text: `ANSWERED by ${who(record)} ${quoted(answersOf(payload))}` };
    case "turn_failed":
      return { text: `FAILED ${target === "session" ? "" : `${target} `}${codeOf(payload)}`, style: "yellow" };
    case "error":
      return { text: `ERROR ${source} ${codeOf(payload)}`, style: "yellow" };
    case "check_result":
      return checks(payload);
    case "artifact_ref":
      return { text: `artifact ${wordsOf(payload.label)}${sizeOf(payload.size_bytes)}`, style: "dim" };
    case "user_command":
      return { text: `${wordsOf(payload.command).toUpperCase()} by ${who(record)}${said(payload.text)}` };
    case "session_recovered":
      return { text: `RESUMED ${counted(lengthOf(payload.turns), "turn")} to repeat` };
    case "time_shifted":
      return { text: shifted(payload), style: "dim" };
    case "session_reopened":
      return { text: `REOPENED${said(payload.reason)}` };
    case "session_stopped":
      return { text: `STOPPED ${wordsOf(payload.reason)}${said(payload.message)}`, style: "yellow" };
    case "session_closed":
      return closed(payload);
    case "opinion":
      return { text: `OPINION of ${source}${said(payload.summary ?? payload.position ?? payload.text)}` };
    case "verdict":
      return {
        text: `VERDICT of ${source}${said(payload.summary ?? payload.conclusion ?? payload.text)}`,
        style: "bold",
      };
    default:
      return undefined;
  }
}

function checks(payload: JsonObject): Omit<RecordLine, "ticket"> {
  const failed = failedChecks(payload);
  const all = lengthOf(payload.results);
  if (failed.length === 0) return { text: `checks: ${all} passed`, style: "dim" };
  return { text: `checks: ${failed.length} of ${all} FAILED ${quoted(failed.join("; "))}`, style: "yellow" };
}

function failedChecks({ results }: JsonObject): string[] {
  const all = (Array.isArray(results) ? results : []) as JsonObject[];
  return all.filter((result) => result.passed !== true).map((result) => wordsOf(result.criterion));
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

function codeOf(payload: JsonObject): string {
  return `${wordsOf(payload.code)}${said(payload.message)}${said(payload.resolution_hint)}`;
}

function answersOf(payload: JsonObject): string {
  const answers = (Array.isArray(payload.answers) ? payload.answers : []) as JsonObject[];
  return answers.map((answer) => `${wordsOf(answer.question_id)}: ${wordsOf(answer.text)}`).join("; ");
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

function said(value: JsonObject[string]): string {
  const words = wordsOf(value);
  return words === "" ? "" : ` ${quoted(words)}`;
}

function quoted(text: string): string {
  return `"${clipped(text, QUOTE_WIDTH)}"`;
}
