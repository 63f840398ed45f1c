import type { Command } from "commander";
import { givenAnswer, loadAnswers } from "../config/answers.ts";
import { isFreeText } from "../config/picked-option.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { BESIDES } from "../ui/prompt.ts";
import type { Terminal } from "../ui/terminal.ts";
import { type OpenQuestion, showWaiting } from "../ui/waiting.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { type OpenHome, withHome } from "./context/home.ts";
import { watchSignals } from "./context/signals.ts";
import { type Answer, answerIn, type Asked, askedAmong, permissionDecision, showUnfit } from "./interaction/answers.ts";
import type { OpenAsk } from "./interaction/interaction.ts";
import { Drafts } from "./interaction/questions.ts";
import { keptFor, type Needed, unsettled } from "./lookup/kept.ts";
import { answersMessage, type PersonMessage, type Put, putMessage } from "./interaction/put.ts";
import { PromptAsker } from "./interaction/prompt-asker.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION, resumeFor } from "./driver/take-up.ts";
import { waitingFor } from "./lookup/view.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { isGeneratedId } from "./lookup/id.ts";
import { CHANGED_SESSION } from "./lookup/resolve.ts";
import { askOf } from "./lookup/state.ts";
import { readRunOptions } from "./options/run-options.ts";

interface AnswerOptions extends AfterwardsOptions {
  readonly file?: string;
  readonly defaults?: boolean;
  /** False with `--no-more`. */
  readonly more?: boolean;
}

/** `bosun answer`: answers a session's questions from any terminal. */
export function register(command: Command): Action<AnswerOptions> {
  command
    .argument(...CHANGED_SESSION)
    .argument("[question]", "the question's id (optional if only one is open)")
    .argument("[text...]", "the answer, or the number of an option")
    .option("--file <file>", "answers by question id, as YAML or JSON; - reads standard input")
    .option("--defaults", "take the default of every question that has one")
    .option("--no-more", "answer no more questions: the manager decides the rest")
    .option(...RESUME_OPTION)
    .option("--no-input", "never ask at this terminal");
  return async (context, words, options) => {
    const { terminal } = context;
    return withHome(await openHomeOf(context, sessionWord(words)), async (home) => {
      const { store } = home;
      const asked = await askedAmong(store, words);
      if (!asked.ok) return asked;
      const { row, questions, permissions, typed } = asked.value;
      const { session_id } = row;
      const decision = permissionDecision(session_id, permissions, typed, questions.length === 0);
      if (!decision.ok) return decision;
      if (decision.value) return putAndResume(context, home, row, [decision.value], options);
      const { file, defaults, more, input } = options;
      const isGiven = typed.length > 0 || file !== undefined || defaults === true || more === false;
      if (!isGiven && input !== false && terminal.hasPerson) {
        const asks = new Set([...questions, ...permissions].map(({ ask_id }) => ask_id));
        const said = await askHere(context, home, row, asks, options);
        if (said !== undefined) return said;
      }
      if (questions.length === 0 && permissions.length > 0) return showOpen(context, session_id, permissions);
      if (typed.length > 0 && (file !== undefined || defaults === true))
        return fails("usage", "An answer cannot be combined with --file or --defaults.", { hint: "Give one." });
      if (questions.length === 0) {
        const all = `All questions of ${session_id} are answered.`;
        if (typed.length > 0 || file !== undefined)
          return fails("usage", all, { hint: `The answers take effect with bosun resume ${session_id}.` });
        terminal.out.line(all);
        tellNext(terminal.out, `bosun resume ${session_id}`);
        return ok(EXIT_DONE);
      }
      const answers = await answersFrom(context, asked.value, options);
      if (!answers.ok) return answers;
      const noMore = more === false;
      if (answers.value.length === 0 && !noMore) return showOpen(context, session_id, [...questions, ...permissions]);
      const status = noMore ? "complete" : "answered";
      const messages = byAsk(questions, answers.value, noMore).map((group) => answersMessage(group, status));
      const answered = new Set(answers.value.map(({ question_id }) => question_id));
      const left = questions.map(({ question_id }) => question_id).filter((id) => !answered.has(id));
      if (left.length > 0 && !noMore) terminal.out.line(`Still open: ${safeLine(left.join(", "))}.`);
      const put = await putAndResume(context, home, row, messages, options);
      if (put.ok) new Drafts(home.home, session_id).forget(answered);
      return put;
    });
  };
}

/** Asks the person at this terminal, and sends each answer. Undefined if they left without an answer. */
async function askHere(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  ask_ids: ReadonlySet<string>,
  options: AnswerOptions,
): Promise<Exit | undefined> {
  const { store } = home;
  const { session_id } = row;
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const broken = (error: unknown) => {
    throw error;
  };
  const prompts = new PromptAsker({ context, home: home.home, store, session_id, left() {}, broken });
  let put: Fallible<Put> | undefined;
  const asks = [...ask_ids].flatMap((ask_id): OpenAsk[] => {
    const stored = () => askOf(store, session_id, ask_id);
    let isSaid = false;
    const waiting = () => {
      const open = isSaid ? undefined : stored();
      const left = open === undefined ? [] : waitingFor(store, session_id, open);
      return left.filter((one) => keptFor(store, session_id, one) === undefined);
    };
    const say = async (message: PersonMessage) => {
      isSaid = true;
      put = await putMessage(store, row, message);
      if (put.ok) return undefined;
      void prompts.end();
      return put.error;
    };
    const ask = stored();
    return ask === undefined ? [] : [{ ...ask, waiting, say }];
  });
  const signals = watchSignals({ stop: () => void prompts.end() }, context.leave, ["SIGINT"]);
  await prompts.askAll(asks);
  signals.restore();
  if (signals.exitCode() !== undefined) return ok(EXIT_INTERRUPTED);
  if (put?.ok !== true) return put;
  return resumeFor(context, home, row, put.value, runOptions.value, options.resume);
}

/** Shows what is still open, and the answers that are kept. */
function showOpen({ terminal: { out } }: CommandContext, session_id: string, asked: readonly Needed[]): Exit {
  for (const one of asked) showWaiting(out, session_id, one, one.kept);
  return ok(unsettled(asked).length === 0 ? EXIT_DONE : EXIT_PERSON_NEEDED);
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

/** The answers as typed, or from the file and the defaults. */
async function answersFrom(
  { terminal }: CommandContext,
  { questions, typed }: Asked,
  { file, defaults }: AnswerOptions,
): Promise<Fallible<Answer[]>> {
  const answers =
    typed.length > 0 ? answerIn(questions, typed) : await filedAnswers(terminal, questions, file, defaults);
  for (const { question_id, text } of answers.ok ? answers.value : []) {
    terminal.out.line(`${safeLine(question_id)}: ${safeLine(text)}`);
    const question = questions.find((one) => one.question_id === question_id);
    if (question && isFreeText(question, text)) terminal.err.line(terminal.err.style("yellow", BESIDES));
  }
  return answers;
}

async function filedAnswers(
  terminal: Terminal,
  questions: readonly OpenQuestion[],
  file: string | undefined,
  defaults = false,
): Promise<Fallible<Answer[]>> {
  const given = file === undefined ? ok([]) : await loadAnswers(file);
  if (!given.ok) return given;
  showUnfit(terminal.err, given.value, questions);
  return ok(
    questions.flatMap((question) => {
      const said = givenAnswer(given.value, question);
      const byDefault = said === undefined && defaults ? question.default : undefined;
      const text = said?.ok === true ? said.value : byDefault;
      return text === undefined ? [] : [{ question_id: question.question_id, text }];
    }),
  );
}
