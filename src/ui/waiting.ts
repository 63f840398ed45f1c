import { changeLines } from "../kernel/changes.ts";
import { defined, type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import type { Answerable } from "../config/picked-option.ts";
import { shellWord } from "../lib/shell-word.ts";
import { heldRole, remedyFor } from "../kernel/holds.ts";
import type { LedgerAsk, LedgerHold } from "../kernel/ledger.ts";
import type { ChangedFiles } from "../protocol/record.ts";
import type { ToldAsk } from "../protocol/telling.ts";
import { widthOf } from "../lib/text-layout.ts";
import { clipped, hanging, safeLine, safeText, wrappedLines } from "./display.ts";
import { outageWords } from "./hold-words.ts";
import { type OpenPermission, permissionDetails, permissionSentence, wholeLines } from "./permission-lines.ts";
import type { Output } from "./terminal.ts";
import { allWords, localize, quoted, wordsOf } from "./words.ts";

/** Maximum width of each report and failure in a review request, in columns. */
const REPORT_WIDTH = 400;

export interface OpenQuestion extends Answerable {
  readonly kind: "question";
  readonly why?: string | undefined;
  readonly options: readonly string[];
  readonly ticket_id?: string | undefined;
}

/** A decision that a session, or one of its tickets, needs from a person. */
export type Waiting =
  | OpenQuestion
  | {
      readonly kind: "approval";
      readonly ask_id: string;
      readonly about: "plan" | "result";
      /** What a session with copies has merged, and the command that shows all of it. */
      readonly changes?: readonly string[];
    }
  | {
      readonly kind: "review";
      readonly ask_id: string;
      readonly ticket_id: string;
      readonly summary: string;
      readonly outputs: readonly string[];
      readonly issues: readonly string[];
      readonly changed_files?: ChangedFiles;
      /** The checks that failed. If there are any, the work can only be sent back. */
      readonly failed_checks?: readonly string[];
    }
  | OpenPermission;

/** Whether it asks to accept the result. */
export function isResult(waiting: Waiting | undefined): waiting is Extract<Waiting, { kind: "approval" }> {
  return waiting?.kind === "approval" && waiting.about === "result";
}

/** An ask, told by a record or stored. */
export type Ask = LedgerAsk | ToldAsk;

/** What an ask waits for: each of its open questions, or one decision. `payload` is that of its record; `failed_checks` and `changed_files` are those of work under review. */
export function waitingIn(
  { ask_id, kind, subject, open = [] }: Ask,
  payload: JsonObject,
  failed_checks: readonly string[] = [],
  changed_files?: ChangedFiles,
): Waiting[] {
  switch (kind) {
    case "questions":
      return listOf(payload.questions)
        .map(objectOf)
        .filter(({ question_id }) => open.includes(textOf(question_id)))
        .map((question) => openQuestion(ask_id, subject, question));
    case "approval":
      return [{ kind, ask_id, about: payload.subject === "result" ? "result" : "plan" }];
    case "review": {
      const { summary, outputs, issues } = payload;
      const reported = { summary: wordsOf(summary), outputs: allWords(outputs), issues: allWords(issues) };
      const failed = failed_checks.length === 0 ? {} : { failed_checks };
      return [{ kind, ask_id, ticket_id: subject ?? "", ...reported, ...failed, ...defined({ changed_files }) }];
    }
    case "permission": {
      const { role_id, action, details, why, prefix } = objectOf(payload.about);
      return [
        {
          kind,
          ask_id,
          role_id: wordsOf(role_id),
          ticket_id: subject,
          action: wordsOf(action),
          details: details === undefined ? undefined : wordsOf(details),
          why: why === undefined ? undefined : wordsOf(why),
          prefix: prefix === undefined ? undefined : wordsOf(prefix),
        },
      ];
    }
    default:
      return [];
  }
}

function openQuestion(ask_id: string, ticket_id: string | undefined, question: JsonObject): OpenQuestion {
  const { question_id, text, why, options, free_text } = question;
  return {
    kind: "question",
    ask_id,
    question_id: `${ask_id}.${textOf(question_id)}`,
    text: textOf(text),
    options: listOf(options).map(wordsOf),
    why: typeof why === "string" ? why : undefined,
    default: typeof question.default === "string" ? question.default : undefined,
    free_text: typeof free_text === "boolean" ? free_text : undefined,
    ticket_id,
  };
}

/** What a child session needs from a person: decisions, and roles that only a person can release. */
export interface ChildWaiting {
  readonly session_id: string;
  readonly waiting: readonly Waiting[];
  readonly holds: readonly LedgerHold[];
}

/** A message that a session did not take before it closed, and the command that does the same now, if there is one. */
export interface Unheard {
  readonly said: string;
  readonly again?: string;
}

export function idOf(waiting: Waiting): string {
  return waiting.kind === "question" ? waiting.question_id : waiting.ask_id;
}

export function commandFor(session_id: string, waiting: Waiting): string {
  switch (waiting.kind) {
    case "question":
      return answerCommand(session_id, waiting, waiting.default ?? waiting.options[0] ?? "");
    case "approval":
      return waiting.about === "plan" ? `bosun plan ${session_id} --approve` : `bosun review ${session_id} --approve`;
    case "review":
      return `bosun review ${session_id} ${waiting.ticket_id} ${waiting.failed_checks ? '--changes "…"' : "--approve"}`;
    case "permission":
      return `bosun answer ${session_id} ${waiting.ask_id} allow`;
  }
}

/** The command that answers a question. An answer that the screen would not show exactly is left out. */
function answerCommand(session_id: string, { question_id }: { readonly question_id: string }, answer: string): string {
  const isExact = answer !== "" && answer.length <= LONGEST_ANSWER && safeLine(answer) === answer;
  const word = isExact ? `${answer.startsWith("-") ? "-- " : ""}${shellWord(answer)}` : '"…"';
  return `bosun answer ${session_id} ${shellWord(safeLine(question_id))} ${word}`;
}

/** Maximum length of an answer that is spelled out, in characters. */
const LONGEST_ANSWER = 60;

export function sentenceFor(waiting: Waiting): string {
  switch (waiting.kind) {
    case "question":
      return `${safeLine(waiting.question_id)}: ${safeLine(waiting.text)}`;
    case "approval":
      return waiting.about === "plan" ? "The plan needs your approval." : "The result needs your approval.";
    case "review":
      return `The work on ${waiting.ticket_id} needs your review.${failedWords(waiting.failed_checks)}`;
    case "permission":
      return `${waiting.ask_id}: ${permissionSentence(waiting)}`;
  }
}

/** Desktops show about two lines of a notification. */
const ALERT_WIDTH = 120;

/** The notification for a person who is looking elsewhere. */
export function alertWords(session_id: string, [first]: readonly Waiting[]): string {
  return clipped(`Bosun: ${session_id} needs you. ${first ? sentenceFor(first) : ""}`, ALERT_WIDTH);
}

/** The sentence, with the lines of a permission that the sentence does not show whole. */
export function linesFor(waiting: Waiting, output: Pick<Output, "program" | "anywhere">): [string, ...string[]] {
  return [sentenceFor(waiting), ...(waiting.kind === "permission" ? wholeLines(waiting, output) : [])];
}

/** Why a prompt is withdrawn. */
export function settledSentence(waiting: Waiting): string {
  return clipped(`No longer open: ${sentenceFor(waiting)}`, REPORT_WIDTH);
}

/** The outputs of the work under review, the files that it changed, and the issues that its worker reported. */
export function workLines({ outputs, issues, changed_files }: Extract<Waiting, { kind: "review" }>): string[] {
  return [
    ...(outputs.length > 0 ? [`outputs: ${clipped(outputs.join(", "), REPORT_WIDTH)}`] : []),
    ...changeLines(changed_files).map((line) => `file: ${clipped(line, REPORT_WIDTH)}`),
    ...issues.map((issue) => `issue: ${clipped(issue, REPORT_WIDTH)}`),
  ];
}

function failedWords(failed: readonly string[] | undefined): string {
  return failed === undefined
    ? ""
    : ` Its checks failed, so it can only be sent back: ${quoted(failed.join("; "), REPORT_WIDTH)}`;
}

/** A held role and its remedy, as a sentence. */
export function holdSentence(hold: LedgerHold): string {
  const { reason, until } = hold;
  const outage = outageWords(hold);
  if (outage !== undefined) return `${outage}.`;
  return until === undefined
    ? `${heldRole(hold)} is held (${reason}): ${safeLine(remedyFor(hold))}.`
    : `${heldRole(hold)} is held until ${until} (${reason}).`;
}

/** One hold per account, because the roles of an account are held and released together. */
export function oneOfEachAccount(holds: readonly LedgerHold[]): LedgerHold[] {
  const accounts = new Set<string>();
  return holds.filter(({ account }) => account === undefined || (!accounts.has(account) && accounts.add(account)));
}

/** The commands that release roles, one for each account. */
export function releasesOf(session_id: string, holds: readonly LedgerHold[]): string[] {
  return oneOfEachAccount(holds).map(({ role_id }) => `bosun resume ${session_id} --release ${role_id}`);
}

/** Shows roles that only a person can release, and the commands for it. */
export function showHolds(output: Output, session_id: string, holds: readonly LedgerHold[]): void {
  for (const hold of holds) writeNeed(output, holdSentence(hold));
  for (const release of releasesOf(session_id, holds)) output.line(`      ${localize(output, safeLine(release))}`);
}

/** Shows messages that the session will take when it is resumed. */
export function showKept(output: Output, session_id: string, words: readonly Unheard[]): void {
  const command = localize(output, `bosun resume ${session_id}`);
  for (const { said } of words) write(output, "  ", `${said}; to deliver it:`, command);
}

/** Messages that the session did not take before it closed, and the commands that do the same now. */
export function unheardLines(output: Output, words: readonly Unheard[]): string[] {
  return words.flatMap(({ said, again }) => [
    ...hanging(`Not taken, because the session closed first: ${said}`, output.width, 2),
    ...(again === undefined ? [] : [`  ${localize(output, safeLine(again))}`]),
  ]);
}

/** Shows what is needed and how to give it, or the answer that is `kept` until the session is resumed. */
export function showWaiting(output: Output, session_id: string, waiting: Waiting, kept?: string): void {
  const about = waiting.kind === "question" && waiting.ticket_id !== undefined ? ` (about ${waiting.ticket_id})` : "";
  writeNeed(output, `${sentenceFor(waiting)}${about}`);
  if (kept !== undefined) {
    const command = localize(output, `bosun resume ${session_id}`);
    write(output, "      ", `answered ${JSON.stringify(safeLine(kept))}; to deliver it:`, command);
    return;
  }
  for (const detail of detailsOf(waiting, output))
    for (const line of wrappedLines(detail, output.width, 6)) output.line(line);
  output.line(`      ${localize(output, commandFor(session_id, waiting))}`);
}

function writeNeed(output: Output, sentence: string): void {
  write(output, `  ${output.style("yellow", "?")} `, sentence);
}

function write(output: Output, before: string, text: string, command?: string): void {
  const [first = "", ...more] = hanging(text, output.width, widthOf(before), command);
  for (const line of [before + first, ...more]) output.line(line);
}

function detailsOf(waiting: Waiting, output: Output): string[] {
  if (waiting.kind === "review") {
    const summary = waiting.summary === "" ? [] : [`reported: ${waiting.summary}`];
    return [...summary, ...workLines(waiting)].map((line) => clipped(line, REPORT_WIDTH));
  }
  if (waiting.kind === "permission") return permissionDetails(waiting, output);
  if (waiting.kind === "approval") return (waiting.changes ?? []).map((line) => localize(output, line));
  if (waiting.kind !== "question") return [];
  return [
    ...(waiting.why === undefined ? [] : safeText(waiting.why).split("\n")).map((line) => `why: ${line}`),
    ...(waiting.options.length === 0
      ? []
      : [`${waiting.free_text === false ? "one of" : "options"}: ${waiting.options.join(" | ")}`]),
    ...(waiting.default === undefined ? [] : [`default: ${waiting.default}`]),
  ];
}
