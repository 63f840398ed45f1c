import type { Command } from "commander";
import { givenAnswer, loadAnswers } from "../config/answers.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { answerCommand, type OpenQuestion, showWaiting } from "../ui/waiting.ts";
import { localize } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { type Asked, askedAmong, isKept, stillOpen } from "./interaction/asked.ts";
import { putToOwner } from "./interaction/put.ts";
import { type Answer, answerIn, askedHere } from "./interaction/typed-answers.ts";
import { showUnused } from "./interaction/unused-answers.ts";
import { CHANGED_SESSION } from "./lookup/resolve.ts";

interface AnswerOptions {
  readonly file?: string;
  readonly defaults?: boolean;
  /** False with `--no-more`. */
  readonly more?: boolean;
  readonly input?: boolean;
}

/** `bosun answer`: answers a session's questions from any terminal. */
export function register(command: Command, run: Run): void {
  command
    .argument(...CHANGED_SESSION)
    .argument("[question]", "the question's id (optional if only one is open)")
    .argument("[text...]", "the answer, or the number of an option")
    .option("--file <file>", "answers by question id, as YAML or JSON")
    .option("--defaults", "take the default of every question that has one")
    .option("--no-more", "answer no more questions: the manager decides the rest")
    .option("--no-input", "never ask at this terminal");
  command.action((_session, _question, _text, options: AnswerOptions) =>
    run((context) => answer(context, command.args, options)),
  );
}

async function answer(
  context: CommandContext,
  words: readonly string[],
  options: AnswerOptions,
): Promise<Result<number, Failure>> {
  return withHome(openExistingHome(context), async ({ store }) => {
    const found = await askedAmong(store, words);
    if (!found.ok) return found;
    const asked = found.value;
    const open = () => stillOpen(store, asked);
    const answers = await answersFrom(context, asked, options, open);
    if (!answers.ok) return answers;
    if (answers.value === "interrupted") return ok(EXIT_INTERRUPTED);
    const noMore = options.more === false;
    if (answers.value.length === 0 && !noMore) {
      const code = tellOpen(context, asked, await open(), words[0]);
      if (code === EXIT_DONE && options.file !== undefined) return err(saysNothing(options.file, asked.row));
      return ok(code);
    }
    const overtaken = answeredAlready(asked, answers.value);
    if (overtaken) return err(overtaken);
    const put = await putAnswers(context, store, asked, answers.value, noMore);
    if (!put.ok) return put;
    const answered = new Set(answers.value.map(({ question_id }) => question_id));
    const left = asked.questions.filter((one) => !isKept(asked, one) && !answered.has(one.question_id));
    const isForAll = options.defaults === true || options.file !== undefined;
    if (isForAll && !noMore && left.length > 0) listOpen(context, asked, "still asks", left);
    return ok(EXIT_DONE);
  });
}

/** Shows the open questions when nothing was answered; gives the exit code. */
function tellOpen(
  context: CommandContext,
  asked: Asked,
  open: readonly OpenQuestion[],
  word: string | undefined,
): number {
  if (open.length > 0) listOpen(context, asked, "asks", open);
  tellMeant(context, asked.row, open, word);
  return open.every((one) => isKept(asked, one)) ? EXIT_DONE : EXIT_PERSON_NEEDED;
}

/** An answers file for a session whose questions are all answered: exit code 0 would mean that it was used. */
function saysNothing(file: string, { session_id }: SessionRow): Failure {
  return failure("usage", `${safeLine(file)} answers no question of ${session_id}: all are answered already.`, {
    hint: `The answers take effect with bosun resume ${session_id}.`,
  });
}

async function putAnswers(
  context: CommandContext,
  store: Store,
  { row, questions, kept }: Asked,
  answers: readonly Answer[],
  noMore: boolean,
): Promise<Result<void, Failure>> {
  const status = noMore ? "complete" : "answered";
  for (const group of byAsk(questions, answers, noMore)) {
    const put = await putToOwner(context, store, row, {
      payload_type: "clarification_response",
      payload: { answers: group.map((one) => ({ ...one })), status },
    });
    if (!put.ok) return put;
  }
  for (const { question_id } of answers) {
    const before = kept.get(question_id);
    if (before !== undefined)
      context.terminal.out.line(`It replaces the earlier answer to ${safeLine(question_id)}: ${quoted(before)}.`);
  }
  return ok(undefined);
}

/**
 * Why an answer comes too late although the session has not taken the earlier one: questions that are asked together are closed once each
 * has an answer. Until then a new answer replaces the earlier one.
 */
function answeredAlready({ row, questions, kept }: Asked, answers: readonly Answer[]): Failure | undefined {
  for (const { question_id } of answers) {
    const before = kept.get(question_id);
    const ask_id = questions.find((one) => one.question_id === question_id)?.ask_id;
    const together = questions.filter((one) => one.ask_id === ask_id);
    if (before === undefined || together.some((one) => kept.get(one.question_id) === undefined)) continue;
    return failure("usage", `${safeLine(question_id)} is answered already: ${quoted(before)}.`, {
      hint: `The answer takes effect with bosun resume ${row.session_id}. To send the agents a note: bosun tell ${row.session_id} "…".`,
    });
  }
  return undefined;
}

function quoted(text: string): string {
  return JSON.stringify(safeLine(text));
}

/** Answers grouped by ask: each ask takes its own message. With `noMore` an empty group closes the asks without an answer. */
function byAsk(
  questions: readonly OpenQuestion[],
  answers: readonly Answer[],
  noMore: boolean,
): readonly (readonly Answer[])[] {
  const askOf = new Map(questions.map(({ question_id, ask_id }) => [question_id, ask_id]));
  const groups = [...Map.groupBy(answers, ({ question_id }) => askOf.get(question_id)).values()];
  return noMore && groups.length < new Set(askOf.values()).size ? [...groups, []] : groups;
}

/** A word that was read as a session's prefix may have been meant as the answer. */
function tellMeant(
  { terminal: { out } }: CommandContext,
  { session_id }: SessionRow,
  [only, another]: readonly OpenQuestion[],
  word: string | undefined,
): void {
  if (word === undefined || word === session_id || only === undefined || another !== undefined) return;
  out.line(`  To answer it with ${quoted(word)}: ${localize(out, answerCommand(session_id, only, word))}`);
}

async function answersFrom(
  context: CommandContext,
  asked: Asked,
  options: AnswerOptions,
  open: () => Promise<readonly OpenQuestion[]>,
): Promise<Result<Answer[] | "interrupted", Failure>> {
  const { questions, typed: words } = asked;
  if (words.length > 0) {
    if (options.file !== undefined) return err(givenTwice("--file"));
    if (options.defaults === true) return err(givenTwice("--defaults"));
    const one = answerIn(questions, words);
    if (!one.ok) return one;
    const { question_id, text } = one.value;
    const typed = words.slice(words.length > 1 ? 1 : 0).join(" ");
    // The number of an option: show which one.
    if (/^\d+$/.test(typed) && typed !== text) context.terminal.out.line(`${safeLine(question_id)}: ${safeLine(text)}`);
    return ok([one.value]);
  }
  const given = options.file === undefined ? ok([]) : await loadAnswers(options.file);
  if (!given.ok) return given;
  showUnused(context.terminal.err, given.value, questions, questions, "that is open");
  const answers = questions.flatMap((question) => {
    const said = givenAnswer(given.value, question);
    const byDefault = said === undefined && options.defaults === true && !isKept(asked, question);
    const text = said?.ok === true ? said.value : byDefault ? question.default : undefined;
    return text === undefined ? [] : [{ question_id: question.question_id, text }];
  });
  const alone =
    options.file !== undefined || options.defaults === true || options.more === false || options.input === false;
  if (alone || !context.terminal.hasPerson) return ok(answers);
  const unanswered = questions.filter((question) => !isKept(asked, question));
  return ok(await askedHere(context, unanswered, open));
}

function givenTwice(flag: string): Failure {
  return failure("usage", `An answer and ${flag} cannot be combined.`, { hint: "Leave one of them out." });
}

function listOpen(
  { terminal: { out } }: CommandContext,
  { row: { session_id }, kept }: Asked,
  asks: "asks" | "still asks",
  questions: readonly OpenQuestion[],
): void {
  out.line(`${session_id} ${asks}:`);
  for (const question of questions) showWaiting(out, session_id, question, kept.get(question.question_id));
}
