import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { OpenQuestion, Waiting } from "../../ui/waiting.ts";
import { waitingOf } from "../lookup/asks.ts";
import { isGeneratedId } from "../lookup/id.ts";
import { CHANGE, resolveSession } from "../lookup/resolve.ts";
import { cancelFor, keptFor } from "./kept.ts";
import { orAnswering } from "./typed-answers.ts";
import { whySettled } from "./unused-answers.ts";

/** The questions of a session, and what was typed after its name. */
export interface Asked {
  readonly row: SessionRow;
  readonly questions: readonly OpenQuestion[];
  /** The answers that are kept until the session is resumed, by question id. */
  readonly kept: ReadonlyMap<string, string | undefined>;
  readonly typed: readonly string[];
}

export function isKept({ kept }: Asked, { question_id }: OpenQuestion): boolean {
  return kept.get(question_id) !== undefined;
}

/** The questions of the session that the words name, or of the one that is meant without a name. `usage` if the words fit none of them. */
export async function askedAmong(store: Store, words: readonly string[]): Promise<Result<Asked, Failure>> {
  const chosen = sessionAmong(store, words);
  if (!chosen.ok) return err(await orAsAnswer(store, chosen.error, words));
  const { row, rest: typed } = chosen.value;
  const { session_id } = row;
  const waiting = await waitingOf(store, session_id);
  if (!waiting.ok) return waiting;
  const questions = questionsIn(store, session_id, waiting.value);
  if (questions.length === 0) return err(await orAsAnswer(store, nothingAsked(store, row, waiting.value), words));
  const [first, more] = typed;
  const late = first === undefined ? undefined : await whySettled(store, session_id, first, questions);
  if (late) return err(more === undefined ? orAnswering(late, session_id, questions, first ?? "") : late);
  const kept = new Map(questions.map((one) => [one.question_id, keptFor(store, session_id, one)] as const));
  return ok({ row, questions, kept, typed });
}

/** The questions that were not answered meanwhile. An answer that was kept before may be replaced. */
export async function stillOpen(store: Store, asked: Asked): Promise<readonly OpenQuestion[]> {
  const { session_id } = asked.row;
  const now = await waitingOf(store, session_id);
  if (!now.ok) return asked.questions;
  return questionsIn(store, session_id, now.value).filter(
    (one) => isKept(asked, one) || keptFor(store, session_id, one) === undefined,
  );
}

function questionsIn(store: Store, session_id: string, waiting: readonly Waiting[]): OpenQuestion[] {
  const questions = waiting.filter((one) => one.kind === "question");
  return questions.filter((one) => cancelFor(store, session_id, one) === undefined);
}

/** The first word is a session if one has that id; else all words are about the session that is meant without a name. */
function sessionAmong(
  store: Store,
  words: readonly string[],
): Result<{ row: SessionRow; rest: readonly string[] }, Failure> {
  const [first, ...rest] = words;
  const named = first === undefined ? undefined : store.session(first);
  if (named?.ok === true) return ok({ row: named.value, rest });
  if (named !== undefined && isOfStorage(named.error)) return named;
  const usual = resolveSession(store, undefined, CHANGE);
  const isNone = !usual.ok && usual.error.code === "not_found";
  // A misspelt session id must not become an answer.
  if (named !== undefined && (isNone || isGeneratedId(first ?? ""))) return named;
  if (!usual.ok) return usual;
  return ok({ row: usual.value, rest: words });
}

/** The same failure, with the command if the only word was meant as an answer to the session that is meant without a name. */
async function orAsAnswer(store: Store, wrong: Failure, words: readonly string[]): Promise<Failure> {
  const [word, another] = words;
  const usual = resolveSession(store, undefined, CHANGE);
  if (word === undefined || another !== undefined || !usual.ok) return wrong;
  const { session_id } = usual.value;
  const waiting = await waitingOf(store, session_id);
  return waiting.ok ? orAnswering(wrong, session_id, questionsIn(store, session_id, waiting.value), word) : wrong;
}

function nothingAsked(store: Store, { session_id, state }: SessionRow, waiting: readonly Waiting[]): Failure {
  const other = waiting.find((one) => cancelFor(store, session_id, one) === undefined);
  const hint =
    other === undefined
      ? `It is ${state}: bosun status ${session_id}.`
      : `It waits for something else: bosun ${decidedBy(other, session_id)}.`;
  return failure("usage", `The session ${session_id} asks nothing.`, { hint });
}

/** The command that shows and decides something else a session asks. */
function decidedBy(waiting: Waiting, session_id: string): string {
  if (waiting.kind === "review") return `review ${session_id} ${waiting.ticket_id}`;
  return `${waiting.kind === "approval" && waiting.about === "plan" ? "plan" : "review"} ${session_id}`;
}
