import type { Command } from "commander";
import { givenAnswer, loadAnswers } from "../config/answers.ts";
import { isFreeText } from "../config/picked-option.ts";
import { ok, type Result } from "../lib/result.ts";
import { fails, type Failure } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { BESIDES } from "../ui/prompt.ts";
import type { OpenPermission } from "../ui/permission-lines.ts";
import { type OpenQuestion, showWaiting } from "../ui/waiting.ts";
import { tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { type OpenHome, withHome } from "./context/home.ts";
import { watchSignals } from "./context/signals.ts";
import { type Answer, answerIn, type Asked, askedAmong, showUnused, unansweredOf } from "./interaction/answers.ts";
import { promptPermission } from "./interaction/decisions.ts";
import { Drafts } from "./interaction/drafts.ts";
import { keptFor, unsettled } from "./interaction/kept.ts";
import { permissionDecision } from "./interaction/permission-answers.ts";
import { answersMessage, type PersonMessage } from "./interaction/person-message.ts";
import { askQuestions } from "./interaction/questions.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION } from "./driver/put-and-resume.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { isGeneratedId } from "./lookup/id.ts";
import { CHANGED_SESSION } from "./lookup/resolve.ts";

interface AnswerOptions extends AfterwardsOptions {
  readonly file?: string;
  readonly defaults?: boolean;
  /** False with `--no-more`. */
  readonly more?: boolean;
}

/** `bosun answer`: answers a session's questions from any terminal. */
export function register(command: Command, run: Run): void {
  command
    .argument(...CHANGED_SESSION)
    .argument("[question]", "the question's id (optional if only one is open)")
    .argument("[text...]", "the answer, or the number of an option")
    .option("--file <file>", "answers by question id, as YAML or JSON; - reads standard input")
    .option("--defaults", "take the default of every question that has one")
    .option("--no-more", "answer no more questions: the manager decides the rest")
    .option(...RESUME_OPTION)
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
  const { out } = context.terminal;
  return withHome(await openHomeOf(context, sessionWord(words)), async (home) => {
    const { store } = home;
    const asked = await askedAmong(store, words);
    if (!asked.ok) return asked;
    const { row, questions, permissions, typed } = asked.value;
    const { session_id } = row;
    const decision = permissionDecision(store, session_id, permissions, typed, questions.length === 0);
    if (!decision.ok) return decision;
    if (decision.value) return putAndResume(context, home, row, [decision.value], options);
    if (questions.length === 0 && permissions.length > 0)
      return decidePermissions(context, home, row, permissions, options);
    if (typed.length > 0 && (options.file !== undefined || options.defaults === true))
      return fails("usage", "An answer cannot be combined with --file or --defaults.", { hint: "Give one." });
    if (questions.length === 0) {
      const all = `All questions of ${session_id} are answered.`;
      if (typed.length > 0 || options.file !== undefined)
        return fails("usage", all, { hint: `The answers take effect with bosun resume ${session_id}.` });
      out.line(all);
      tellNext(out, `bosun resume ${session_id}`);
      return ok(EXIT_DONE);
    }
    const answers = await answersFrom(context, home, asked.value, options);
    if (!answers.ok) return answers;
    if (answers.value === "interrupted") return ok(EXIT_INTERRUPTED);
    const noMore = options.more === false;
    if (answers.value.length === 0 && !noMore) {
      const open = await unansweredOf(store, session_id);
      if (!open.ok) return open;
      for (const one of [...open.value, ...permissions]) showWaiting(out, session_id, one);
      return ok(open.value.length + permissions.length === 0 ? EXIT_DONE : EXIT_PERSON_NEEDED);
    }
    const status = noMore ? "complete" : "answered";
    const messages = byAsk(questions, answers.value, noMore).map((group) => answersMessage(group, status));
    const answered = new Set(answers.value.map(({ question_id }) => question_id));
    const left = questions.map(({ question_id }) => question_id).filter((id) => !answered.has(id));
    if (left.length > 0 && !noMore) out.line(`Still open: ${safeLine(left.join(", "))}.`);
    const put = await putAndResume(context, home, row, messages, options);
    if (put.ok) new Drafts(home.home, session_id).forget(answered);
    return put;
  });
}

/** Asks the person at this terminal to decide on each permission, until they leave. Without a person, shows what is asked. */
async function decidePermissions(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  permissions: readonly OpenPermission[],
  options: AnswerOptions,
): Promise<Result<number, Failure>> {
  const { terminal, leave } = context;
  const { store } = home;
  const open = unsettled(store, row.session_id, permissions);
  const messages: PersonMessage[] = [];
  if (options.input !== false && terminal.hasPerson) {
    const enough = new AbortController();
    const signals = watchSignals({ stop: () => enough.abort(), kill: () => {} }, leave, ["SIGINT"]);
    for (const one of open) {
      const message = await promptPermission(terminal, one, enough.signal);
      if (message === undefined) break;
      messages.push(message);
    }
    signals.restore();
    if (enough.signal.aborted) return ok(EXIT_INTERRUPTED);
  }
  if (messages.length > 0) return putAndResume(context, home, row, messages, options);
  for (const one of permissions) showWaiting(terminal.out, row.session_id, one, keptFor(store, row.session_id, one));
  return ok(open.length === 0 ? EXIT_DONE : EXIT_PERSON_NEEDED);
}

/** The word that may name a session. A single word is more likely the answer to the only question. */
function sessionWord([first, ...rest]: readonly string[]): string | undefined {
  return rest.length > 0 || isGeneratedId(first ?? "") ? first : undefined;
}

/** Groups answers by ask, because each ask takes its own message. With `noMore` an empty group closes the asks without an answer. */
function byAsk(
  questions: readonly OpenQuestion[],
  answers: readonly Answer[],
  noMore: boolean,
): readonly (readonly Answer[])[] {
  const askOf = new Map(questions.map(({ question_id, ask_id }) => [question_id, ask_id]));
  const groups = [...Map.groupBy(answers, ({ question_id }) => askOf.get(question_id)).values()];
  return noMore && groups.length < new Set(askOf.values()).size ? [...groups, []] : groups;
}

/** The answers as typed, or from the file and the defaults, or asked for at the terminal. */
async function answersFrom(
  context: CommandContext,
  home: OpenHome<Store>,
  { row, questions, typed }: Asked,
  { file, defaults, more, input }: AnswerOptions,
): Promise<Result<Answer[] | "interrupted", Failure>> {
  const { terminal } = context;
  const isAsked = file === undefined && defaults !== true && more !== false && input !== false && terminal.hasPerson;
  if (typed.length === 0 && isAsked) return askedHere(context, home, row.session_id, questions);
  const answers =
    typed.length > 0 ? answerIn(questions, typed) : await filedAnswers(context, questions, file, defaults);
  for (const { question_id, text } of answers.ok ? answers.value : []) {
    terminal.out.line(`${safeLine(question_id)}: ${safeLine(text)}`);
    const question = questions.find((one) => one.question_id === question_id);
    if (question && isFreeText(question, text)) terminal.err.line(terminal.err.style("yellow", BESIDES));
  }
  return answers;
}

async function filedAnswers(
  { terminal }: CommandContext,
  questions: readonly OpenQuestion[],
  file: string | undefined,
  defaults = false,
): Promise<Result<Answer[], Failure>> {
  const given = file === undefined ? ok([]) : await loadAnswers(file);
  if (!given.ok) return given;
  showUnused(terminal.err, given.value, questions);
  return ok(
    questions.flatMap((question) => {
      const said = givenAnswer(given.value, question);
      const byDefault = said === undefined && defaults ? question.default : undefined;
      const text = said?.ok === true ? said.value : byDefault;
      return text === undefined ? [] : [{ question_id: question.question_id, text }];
    }),
  );
}

/**
 * Asks the person at this terminal; no answers if they leave. Skips questions that are answered elsewhere meanwhile, because the first answer stands.
 */
async function askedHere(
  { terminal, leave }: CommandContext,
  { home, store }: OpenHome<Store>,
  session_id: string,
  questions: readonly OpenQuestion[],
): Promise<Result<Answer[] | "interrupted", Failure>> {
  const told = new Set<OpenQuestion>();
  const anySettled = async (about: readonly OpenQuestion[]) => {
    const now = await unansweredOf(store, session_id);
    const open = new Set((now.ok ? now.value : about).map(({ question_id }) => question_id));
    const settled = about.filter(({ question_id }) => !open.has(question_id));
    for (const question of settled.filter((one) => !told.has(one))) {
      terminal.err.line(terminal.err.style("yellow", `  ${safeLine(question.question_id)} was answered elsewhere.`));
      told.add(question);
    }
    return settled.length > 0;
  };
  const enough = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort(), kill: () => {} }, leave, ["SIGINT"]);
  const answers = await askQuestions({
    terminal,
    drafts: new Drafts(home, session_id),
    questions,
    isOpen: async (question) => !(await anySettled([question])),
    async put(about, prompt) {
      if (await anySettled(about)) return { kind: "settled" };
      const typed = await prompt(enough.signal);
      return typed.kind === "text" && (await anySettled(about)) ? { kind: "settled" } : typed;
    },
  });
  signals.restore();
  return ok(enough.signal.aborted ? "interrupted" : (answers ?? []));
}
