import { type GivenAnswer, whyUnfit } from "../../config/answers.ts";
import { type Answerable, answerTo } from "../../config/picked-option.ts";
import { err, ok } from "../../lib/result.ts";
import { fails, type Failure, failure, type Fallible, isOfStorage } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { SessionRow, Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { type OpenPermission, permissionChoices } from "../../ui/permission-lines.ts";
import type { Output } from "../../ui/terminal.ts";
import type { OpenQuestion, Waiting } from "../../ui/waiting.ts";
import { currentSessionsWith } from "../lookup/homes.ts";
import { isGeneratedId } from "../lookup/id.ts";
import { CHANGE, resolveSession } from "../lookup/resolve.ts";
import { questionSets } from "../lookup/schedule-state.ts";
import { neededOf } from "../lookup/view.ts";
import { type Needed, saidAlready, unsettled } from "../lookup/kept.ts";
import { permissionMessage, type PersonMessage } from "./put.ts";

export interface Answer {
  readonly question_id: string;
  readonly text: string;
}

/** A session that asks something, and the words typed after its name. */
export interface Asked {
  readonly row: SessionRow;
  /** The questions without an answer; empty if every answer is kept until the session is resumed. */
  readonly questions: readonly (OpenQuestion & Needed)[];
  readonly permissions: readonly (OpenPermission & Needed)[];
  readonly typed: readonly string[];
}

/** The session that the words name, or the default one. Failure `usage` if it asks a person nothing. */
export async function askedAmong(store: Store, words: readonly string[]): Promise<Fallible<Asked>> {
  const chosen = sessionAmong(store, words);
  if (!chosen.ok) return chosen;
  const { row, typed } = chosen.value;
  const { waiting } = await neededOf(store, row.session_id);
  const asked = waiting.filter((one) => one.kind === "question");
  const permissions = waiting.filter((one) => one.kind === "permission");
  const questions = unsettled(asked);
  const answered = await whyAnswered(store, row.session_id, typed[0], asked, questions);
  if (answered) return err(answered);
  const [id = "", ...text] = typed;
  const elsewhere =
    text.length === 0 || questionsMeant(id, asked).length > 0 ? [] : await currentSessionsWith(store, id);
  const other = elsewhere.find(({ session_id }) => session_id !== row.session_id);
  if (other) {
    const what = `${row.session_id} does not ask ${JSON.stringify(id)}; it belongs to ${other.session_id}.`;
    return fails("usage", what, { hint: `That one: bosun answer ${other.session_id} ${id} …` });
  }
  if (asked.length + permissions.length > 0) return ok({ row, questions, permissions, typed });
  return fails("usage", `The session ${row.session_id} asks nothing.`, { hint: `See bosun status ${row.session_id}.` });
}

/** The first word is a session if one has that id; else all words are about the default session. */
function sessionAmong(store: Store, words: readonly string[]): Fallible<{ row: SessionRow; typed: readonly string[] }> {
  const [first, ...rest] = words;
  const named = first === undefined ? undefined : store.session(first);
  if (named?.ok === true) return ok({ row: named.value, typed: rest });
  // A misspelt session id must not become an answer.
  if (named !== undefined && (isOfStorage(named.error) || isGeneratedId(first ?? ""))) return named;
  const usual = resolveSession(store, undefined, CHANGE);
  return usual.ok ? ok({ row: usual.value, typed: words }) : usual;
}

/** Why the question with this id takes no answer. Undefined if it takes one, or if there is no such question. */
async function whyAnswered(
  store: Store,
  session_id: string,
  id: string | undefined,
  asked: readonly OpenQuestion[],
  open: readonly OpenQuestion[],
): Promise<Failure | undefined> {
  if (id === undefined || questionsMeant(id, open).length > 0) return undefined;
  const [question] = questionsMeant(id, [...asked, ...(await questionsSoFar(store, session_id))]);
  if (question === undefined) return undefined;
  return failure("usage", `${safeLine(question.question_id)} is answered already, or no longer open.`, {
    hint: `${openIds(open)} To send the agents a note: bosun tell ${session_id} "…".`,
  });
}

/**
 * Parses the words after a command into an answer: a question's id and the answer, or only the answer if one question is open. Failure
 * `usage` if the question or the answer is unclear.
 */
export function answerIn(questions: readonly OpenQuestion[], words: readonly string[]): Fallible<Answer[]> {
  const [id = "", ...text] = words;
  const named = questionsMeant(id, questions);
  const answersOnly = named.length === 0 && questions.length === 1 && text.length === 0;
  const [question, another] = answersOnly ? questions : named;
  const answer = (answersOnly ? id : text.join(" ")).trim();
  if (question === undefined || another !== undefined || answer === "") {
    const what =
      question === undefined
        ? `${JSON.stringify(id)} is not an open question.`
        : another === undefined
          ? `The answer to ${question.question_id} is missing.`
          : `${JSON.stringify(id)} is asked more than once.`;
    return fails("usage", what, { hint: `${openIds(questions)} Write the id, and the answer in quotes.` });
  }
  const meant = answerTo(question, answer);
  return meant.ok ? ok([{ question_id: question.question_id, text: meant.value }]) : meant;
}

function openIds(questions: readonly OpenQuestion[]): string {
  const ids = questions.map(({ question_id }) => safeLine(question_id)).join(", ");
  return questions.length === 0 ? "No question is open." : `Open: ${ids}.`;
}

/** Shows which answers given beforehand were not used, of a session that waits or is closed. Throws a `StorageError`. */
export async function showUnused(
  out: Output,
  store: StoreReader,
  session_id: string,
  answers: readonly GivenAnswer[],
  waiting: readonly Waiting[],
): Promise<void> {
  const open = waiting.filter((one) => one.kind === "question");
  showUnfit(out, answers, [...(await questionsSoFar(store, session_id)), ...open]);
}

/** Every question that a schedule has asked people, answered or not. Throws a `StorageError`. */
async function questionsSoFar(reader: StoreReader, session_id: string): Promise<OpenQuestion[]> {
  const stored = await reader.load(session_id);
  if (!stored.ok) throw new StorageError(stored.error);
  return questionSets(stored.value).flatMap(({ id, record }) => {
    const questions = (keptRecord(reader, session_id, record).payload.questions ?? []) as unknown as Question[];
    return questions.map(
      ({ question_id, text }): OpenQuestion => ({
        kind: "question",
        ask_id: id,
        question_id: `${id}.${question_id}`,
        text,
        options: [],
      }),
    );
  });
}

/**
 * Parses the words after a command into a decision on a permission: its id, the decision, and words for the program. The id may be left out
 * if nothing else is asked (`alone`). Undefined if the words are about something else. Failure `usage` for an unknown decision, or a second
 * one.
 */
export function permissionDecision(
  session_id: string,
  permissions: readonly (OpenPermission & Needed)[],
  typed: readonly string[],
  alone: boolean,
): Fallible<PersonMessage | undefined> {
  const named = permissions.find(({ ask_id }) => ask_id === typed[0]);
  const permission = named ?? (alone && permissions.length === 1 ? permissions[0] : undefined);
  if (permission === undefined || typed.length === 0) return ok(undefined);
  return decisionOnPermission(session_id, permission, named ? typed.slice(1) : typed);
}

/** The message of a decision on a permission, with words for the program. Failure `usage` for an unknown decision, or a second one. */
export function decisionOnPermission(
  session_id: string,
  permission: OpenPermission & Needed,
  [word, ...notes]: readonly string[],
): Fallible<PersonMessage> {
  const { ask_id, kept } = permission;
  if (kept !== undefined) return err(saidAlready(session_id, ask_id, kept));
  const choices = permissionChoices(permission).map(({ key }) => key);
  const choice = choices.find((key) => key === word);
  if (choice !== undefined) return ok(permissionMessage(ask_id, choice, notes.join(" ").trim()));
  const what = word === undefined ? "The decision is missing" : `${JSON.stringify(safeLine(word))} is no decision`;
  const hint = `Write one of ${choices.join(", ")}: bosun answer ${session_id} ${ask_id} allow`;
  return fails("usage", `${what} on the permission ${ask_id}.`, { hint });
}

/** Shows which answers fit none of the questions asked so far: most of them have a misspelt id. */
export function showUnfit(out: Output, answers: readonly GivenAnswer[], questions: readonly Answerable[]): void {
  for (const answer of answers) {
    const why = whyUnfit(answer, questions);
    if (why !== undefined) out.line(out.style("yellow", safeLine(`Not used: ${why.what}; expected ${why.expected}.`)));
  }
}
