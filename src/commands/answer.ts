import type { Command } from "commander";
import { givenAnswer, loadAnswers } from "../config/answers.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { answerCommand, type OpenQuestion, showWaiting, type Waiting } from "../ui/waiting.ts";
import type { CommandContext, Run } from "./call/command.ts";
import { openExistingHome, withHome } from "./call/home.ts";
import { keptFor } from "./person/kept.ts";
import { putToOwner } from "./person/put.ts";
import { type Answer, answerIn, askedHere, orAnswering } from "./person/typed-answers.ts";
import { settled, showUnused } from "./person/unused-answers.ts";
import { waitingOf } from "./session/asks.ts";
import { chooseSession, OPEN_SESSION } from "./session/choose.ts";
import { isGivenId } from "./session/id.ts";

interface AnswerOptions {
  readonly file?: string;
  readonly defaults?: boolean;
  /** False with `--no-more`. */
  readonly more?: boolean;
  readonly input?: boolean;
}

/** `bosun answer`: a person answers the questions of a session, from any terminal. */
export function register(command: Command, run: Run): void {
  command
    .argument(...OPEN_SESSION)
    .argument("[question]", "the question's id; may be left out where only one is open")
    .argument("[text...]", "the answer, or the number of an option")
    .option("--file <file>", "answers by question id, as YAML or JSON")
    .option("--defaults", "take the default of every question that has one")
    .option("--no-more", "no more questions, please: the manager decides the rest")
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
    const chosen = sessionAmong(store, words);
    if (!chosen.ok) return err(await orAsAnswer(store, chosen.error, words));
    const { row, rest } = chosen.value;
    const waiting = await waitingOf(store, row.session_id);
    if (!waiting.ok) return waiting;
    const questions = questionsIn(waiting.value);
    if (questions.length === 0) return err(await orAsAnswer(store, nothingAsked(row, waiting.value), words));
    const kept = new Map(questions.map((one) => [one.question_id, keptFor(store, row.session_id, one)] as const));
    const isKept = ({ question_id }: OpenQuestion) => kept.get(question_id) !== undefined;
    const late = rest[0] === undefined ? undefined : await settled(store, row.session_id, rest[0], questions);
    if (late) return err(rest.length === 1 ? orAnswering(late, row.session_id, questions, rest[0] ?? "") : late);
    const open = async () => {
      const now = await waitingOf(store, row.session_id);
      if (!now.ok) return questions;
      return questionsIn(now.value).filter((one) => isKept(one) || keptFor(store, row.session_id, one) === undefined);
    };
    const answers = await answersFrom(context, questions, isKept, rest, options, open);
    if (!answers.ok) return answers;
    if (answers.value === "interrupted") return ok(EXIT_INTERRUPTED);
    const noMore = options.more === false;
    if (answers.value.length === 0 && !noMore) {
      const left = await open();
      if (left.length > 0) listOpen(context, row, "asks", left, kept);
      tellMeant(context, row, left, words[0]);
      return ok(left.every(isKept) ? EXIT_DONE : EXIT_PERSON_NEEDED);
    }
    const overtaken = answeredAlready(row, questions, kept, answers.value);
    if (overtaken) return err(overtaken);
    const status = noMore ? "complete" : "answered";
    for (const group of byAsk(questions, answers.value, noMore)) {
      const put = await putToOwner(context, store, row, {
        payload_type: "clarification_response",
        payload: { answers: group.map((one) => ({ ...one })), status },
      });
      if (!put.ok) return put;
    }
    for (const { question_id } of answers.value) {
      const before = kept.get(question_id);
      if (before !== undefined)
        context.terminal.out.line(`It replaces what was kept for ${safeLine(question_id)}: ${quoted(before)}.`);
    }
    const answered = new Set(answers.value.map(({ question_id }) => question_id));
    const left = questions.filter((one) => !isKept(one) && !answered.has(one.question_id));
    const isForAll = options.defaults === true || options.file !== undefined;
    if (isForAll && !noMore && left.length > 0) listOpen(context, row, "still asks", left, kept);
    return ok(EXIT_DONE);
  });
}

function questionsIn(waiting: readonly Waiting[]): OpenQuestion[] {
  return waiting.filter((one) => one.kind === "question");
}

/** What is kept for each question until the session is resumed, by the question's id. */
type Kept = ReadonlyMap<string, string | undefined>;

/**
 * Why an answer comes too late, though nobody has taken the one before. Questions that are asked together are settled as soon as
 * each of them has an answer; later answers would be refused. Until then another answer takes the place of the one before.
 */
function answeredAlready(
  { session_id }: SessionRow,
  questions: readonly OpenQuestion[],
  kept: Kept,
  answers: readonly Answer[],
): Failure | undefined {
  for (const { question_id } of answers) {
    const before = kept.get(question_id);
    const ask_id = questions.find((one) => one.question_id === question_id)?.ask_id;
    const together = questions.filter((one) => one.ask_id === ask_id);
    if (before === undefined || together.some((one) => kept.get(one.question_id) === undefined)) continue;
    return failure("usage", `${safeLine(question_id)} is answered already, ${quoted(before)}, which comes first.`, {
      hint: `It takes effect with bosun resume ${session_id}. To say more to the agents: bosun tell ${session_id} "…".`,
    });
  }
  return undefined;
}

function quoted(text: string): string {
  return JSON.stringify(safeLine(text));
}

/**
 * Answers to different things asked are different words: the engine asks some of them, the mode others. With `noMore` an empty one
 * closes what none of them is about.
 */
function byAsk(
  questions: readonly OpenQuestion[],
  answers: readonly Answer[],
  noMore: boolean,
): readonly (readonly Answer[])[] {
  const askOf = new Map(questions.map(({ question_id, ask_id }) => [question_id, ask_id]));
  const groups = [...Map.groupBy(answers, ({ question_id }) => askOf.get(question_id)).values()];
  return noMore && groups.length < new Set(askOf.values()).size ? [...groups, []] : groups;
}

/** The first word is a session if one is called so; else all words belong to the session that is meant without a name. */
function sessionAmong(
  store: Store,
  words: readonly string[],
): Result<{ row: SessionRow; rest: readonly string[] }, Failure> {
  const [first, ...rest] = words;
  const named = first === undefined ? undefined : store.session(first);
  if (named?.ok === true) return ok({ row: named.value, rest });
  if (named !== undefined && isOfStorage(named.error)) return named;
  const usual = chooseSession(store, undefined);
  if (!usual.ok) return named ?? usual;
  // A session's name that is misspelt must not become an answer.
  if (named !== undefined && isGivenId(first ?? "")) return named;
  return ok({ row: usual.value, rest: words });
}

/** The same failure of the only word there is, which may have been meant as an answer to the session that is meant without a name. */
async function orAsAnswer(store: Store, wrong: Failure, words: readonly string[]): Promise<Failure> {
  const [word, another] = words;
  const usual = chooseSession(store, undefined);
  if (word === undefined || another !== undefined || !usual.ok) return wrong;
  const { session_id } = usual.value;
  const waiting = await waitingOf(store, session_id);
  return waiting.ok ? orAnswering(wrong, session_id, questionsIn(waiting.value), word) : wrong;
}

/** The beginning of a session's id may have been meant as the answer, too. */
function tellMeant(
  { terminal: { out }, bosun }: CommandContext,
  { session_id }: SessionRow,
  [only, another]: readonly OpenQuestion[],
  word: string | undefined,
): void {
  if (word === undefined || word === session_id || only === undefined || another !== undefined) return;
  out.line(`  To answer it with ${quoted(word)}: ${answerCommand(bosun, session_id, only, word)}`);
}

async function answersFrom(
  context: CommandContext,
  questions: readonly OpenQuestion[],
  isKept: (question: OpenQuestion) => boolean,
  words: readonly string[],
  options: AnswerOptions,
  open: () => Promise<readonly OpenQuestion[]>,
): Promise<Result<Answer[] | "interrupted", Failure>> {
  if (words.length > 0) {
    if (options.file !== undefined) return err(givenTwice("--file"));
    if (options.defaults === true) return err(givenTwice("--defaults"));
    const one = answerIn(questions, words);
    if (!one.ok) return one;
    const { question_id, text } = one.value;
    const typed = words.slice(words.length > 1 ? 1 : 0).join(" ");
    // It counts an option, which nobody sees there.
    if (/^\d+$/.test(typed) && typed !== text) context.terminal.out.line(`${safeLine(question_id)}: ${safeLine(text)}`);
    return ok([one.value]);
  }
  const given = options.file === undefined ? ok([]) : await loadAnswers(options.file);
  if (!given.ok) return given;
  showUnused(context.terminal.err, given.value, questions, questions, "that is open");
  const answers = questions.flatMap((question) => {
    const said = givenAnswer(given.value, question);
    const byDefault = said === undefined && options.defaults === true && !isKept(question);
    const text = said?.ok === true ? said.value : byDefault ? question.default : undefined;
    return text === undefined ? [] : [{ question_id: question.question_id, text }];
  });
  const alone =
    options.file !== undefined || options.defaults === true || options.more === false || options.input === false;
  if (alone || !context.terminal.hasPerson) return ok(answers);
  const unanswered = questions.filter((question) => !isKept(question));
  return ok(await askedHere(context, unanswered, open));
}

function givenTwice(flag: string): Failure {
  return failure("usage", `The answer is given, and ${flag} is, too.`, { hint: "Leave one of them out." });
}

function nothingAsked({ session_id, state }: SessionRow, waiting: readonly Waiting[]): Failure {
  const [other] = waiting;
  const hint =
    other === undefined
      ? `It is ${state}: bosun status ${session_id}.`
      : `It waits for something else: bosun ${decidedBy(other, session_id)}.`;
  return failure("usage", `The session ${session_id} asks nothing.`, { hint });
}

/** The command that shows a decision that is asked for, and takes a person's word on it. */
function decidedBy(waiting: Waiting, session_id: string): string {
  if (waiting.kind === "review") return `review ${session_id} ${waiting.ticket_id}`;
  return `${waiting.kind === "approval" && waiting.about === "plan" ? "plan" : "review"} ${session_id}`;
}

function listOpen(
  { terminal: { out }, bosun }: CommandContext,
  { session_id }: SessionRow,
  asks: "asks" | "still asks",
  questions: readonly OpenQuestion[],
  kept: Kept,
): void {
  out.line(`${session_id} ${asks}:`);
  for (const question of questions) showWaiting(out, bosun, session_id, question, kept.get(question.question_id));
}
