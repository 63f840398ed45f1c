import { shellWord } from "../lib/shell-word.ts";
import { widthOf } from "../lib/text-layout.ts";
import { heldRole, remedyFor } from "../kernel/holds.ts";
import type { LedgerHold } from "../kernel/ledger.ts";
import { clipped, hanging, safeLine, safeText } from "./display.ts";
import type { Output } from "./terminal.ts";
import { localize, quoted } from "./words.ts";

/** The columns that each thing that was reported, or failed, gets where a review is asked for. */
const ROOM = 400;

/** A question that waits for its answer. */
export interface OpenQuestion {
  readonly kind: "question";
  readonly ask_id: string;
  /** Scoped, as it is to be answered: `c2.q1`. */
  readonly question_id: string;
  readonly text: string;
  readonly why?: string | undefined;
  readonly options: readonly string[];
  readonly default?: string | undefined;
  readonly ticket_id?: string | undefined;
}

/** Something a person must say before a session, or one ticket of it, can go on. */
export type Waiting =
  | OpenQuestion
  | { readonly kind: "approval"; readonly ask_id: string; readonly about: "plan" | "result" }
  | {
      readonly kind: "review";
      readonly ask_id: string;
      readonly ticket_id: string;
      /** What was reported of the work. */
      readonly summary: string;
      readonly outputs: readonly string[];
      readonly issues: readonly string[];
      /** What did not hold when the work was checked: it can be sent back, and not approved. */
      readonly failed_checks?: readonly string[];
    };

/** What a child session waits for a person for: what it asks, and the roles that only a person releases. */
export interface ChildWaiting {
  readonly session_id: string;
  readonly waiting: readonly Waiting[];
  readonly holds: readonly LedgerHold[];
}

/** A word that a session closed before it heard of, and the command that does now what was meant, if one does. */
export interface Unheard {
  readonly said: string;
  readonly again?: string;
}

/** The command that answers it. */
export function commandFor(session_id: string, waiting: Waiting): string {
  switch (waiting.kind) {
    case "question":
      return answerCommand(session_id, waiting, waiting.default ?? waiting.options[0] ?? "");
    case "approval":
      return waiting.about === "plan" ? `bosun plan ${session_id} --approve` : `bosun review ${session_id} --approve`;
    case "review":
      return `bosun review ${session_id} ${waiting.ticket_id} ${waiting.failed_checks ? '--changes "…"' : "--approve"}`;
  }
}

/** The command that gives a question this answer, to copy. One that would not say exactly what it shows leaves a place to write it. */
export function answerCommand(
  session_id: string,
  { question_id }: { readonly question_id: string },
  answer: string,
): string {
  const isExact = answer !== "" && answer.length <= LONGEST_ANSWER && safeLine(answer) === answer;
  const word = isExact ? `${answer.startsWith("-") ? "-- " : ""}${shellWord(answer)}` : '"…"';
  return `bosun answer ${session_id} ${shellWord(safeLine(question_id))} ${word}`;
}

/** The longest answer that is spelled out, in characters. */
const LONGEST_ANSWER = 60;

/** What it is, in one line of plain words. */
export function sentenceFor(waiting: Waiting): string {
  switch (waiting.kind) {
    case "question":
      return `${safeLine(waiting.question_id)}: ${safeLine(waiting.text)}`;
    case "approval":
      return waiting.about === "plan" ? "The plan waits to be approved." : "The result waits to be accepted.";
    case "review":
      return `The work on ${waiting.ticket_id} waits for your review.${failedWords(waiting.failed_checks)}`;
  }
}

/** That nobody is asked it any more, with what was said to it elsewhere, if that is why. */
export function settledSentence(waiting: Waiting, taken: string | undefined): string {
  const [what, how] = settledWords(waiting);
  return taken === undefined ? `${what} waits for nobody any more.` : `${what} was ${how} elsewhere: ${quoted(taken)}`;
}

function settledWords(waiting: Waiting): [what: string, how: string] {
  switch (waiting.kind) {
    case "question":
      return [safeLine(waiting.question_id), "answered"];
    case "approval":
      return [`The ${waiting.about}`, "decided on"];
    case "review":
      return [`The work on ${waiting.ticket_id}`, "reviewed"];
  }
}

/** What work that is to be reviewed made, and what is wrong with it by the word of who did it. */
export function workLines({ outputs, issues }: Extract<Waiting, { kind: "review" }>): string[] {
  return [
    ...(outputs.length > 0 ? [`outputs: ${clipped(outputs.join(", "), ROOM)}`] : []),
    ...issues.map((issue) => `issue: ${clipped(issue, ROOM)}`),
  ];
}

function failedWords(failed: readonly string[] | undefined): string {
  return failed === undefined
    ? ""
    : ` It can only be sent back, for its checks failed: ${quoted(failed.join("; "), ROOM)}`;
}

/** A held role, and what helps, in one line of plain words. */
export function holdSentence(hold: LedgerHold): string {
  const { reason, until } = hold;
  return until === undefined
    ? `${heldRole(hold)} is held (${reason}): ${remedyFor(reason)}.`
    : `${heldRole(hold)} is held until ${until} (${reason}).`;
}

/** Roles of one account are held and released together, so one of them stands for all. */
export function oneOfEachAccount(holds: readonly LedgerHold[]): LedgerHold[] {
  const accounts = new Set<string>();
  return holds.filter(({ account }) => account === undefined || (!accounts.has(account) && accounts.add(account)));
}

/** The commands that release roles: one for all that an account holds together. */
export function releasesOf(session_id: string, holds: readonly LedgerHold[]): string[] {
  return oneOfEachAccount(holds).map(({ role_id }) => `bosun resume ${session_id} --release ${role_id}`);
}

/** The roles that only a person releases, and how. */
export function showHolds(output: Output, session_id: string, holds: readonly LedgerHold[]): void {
  for (const hold of holds) output.line(`  ${output.style("yellow", "?")} ${safeLine(holdSentence(hold))}`);
  for (const release of releasesOf(session_id, holds)) output.line(`      ${localize(output, safeLine(release))}`);
}

/** What was said beside answers and is kept until the session is resumed. */
export function showKept(output: Output, session_id: string, words: readonly Unheard[]): void {
  const command = localize(output, `bosun resume ${session_id}`);
  for (const { said } of words) output.line(`  ${safeLine(said)}, waits for: ${command}`);
}

/** What a session closed before it heard of, and what does it now. */
export function unheardLines(output: Output, words: readonly Unheard[]): string[] {
  return words.flatMap(({ said, again }) => [
    `Not heard, since the session closed first: ${safeLine(said)}`,
    ...(again === undefined ? [] : [`  ${localize(output, safeLine(again))}`]),
  ]);
}

/** The whole of it, with everything one needs to answer; or what is kept of an answer to it until the session is resumed. */
export function showWaiting(output: Output, session_id: string, waiting: Waiting, kept?: string): void {
  const about = waiting.kind === "question" && waiting.ticket_id !== undefined ? ` (about ${waiting.ticket_id})` : "";
  const tell = (text: string, before = "      ") => {
    const [first = "", ...more] =
      output.width === Number.POSITIVE_INFINITY ? [text] : hanging(text, output.width, widthOf(before));
    for (const line of [before + first, ...more]) output.line(line);
  };
  tell(`${sentenceFor(waiting)}${about}`, `  ${output.style("yellow", "?")} `);
  if (kept !== undefined) {
    const command = localize(output, `bosun resume ${session_id}`);
    output.line(`      answered ${JSON.stringify(safeLine(kept))}, waits for: ${command}`);
    return;
  }
  if (waiting.kind === "review") {
    const summary = waiting.summary === "" ? [] : [`reported: ${waiting.summary}`];
    for (const line of [...summary, ...workLines(waiting)]) tell(clipped(line, ROOM));
  }
  if (waiting.kind === "question") {
    if (waiting.why !== undefined) for (const line of safeText(waiting.why).split("\n")) tell(`why: ${line}`);
    if (waiting.options.length > 0) tell(`options: ${waiting.options.map(safeLine).join(" | ")}`);
    if (waiting.default !== undefined) tell(`default: ${safeLine(waiting.default)}`);
  }
  output.line(`      ${localize(output, commandFor(session_id, waiting))}`);
}
