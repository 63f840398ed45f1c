import { type GivenAnswer, givenAnswer } from "../../config/answers.ts";
import { type Answerable, bareId } from "../../config/picked-option.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { ok, type Result } from "../../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";
import { EXIT_PERSON_NEEDED } from "../../runtime/exit.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import type { Output } from "../../ui/terminal.ts";
import type { CommandContext } from "../context/command.ts";
import { waitingOf } from "../lookup/asks.ts";
import { questionSets } from "../lookup/schedule-state.ts";
import type { GivenMessage } from "../options/run-options.ts";

/**
 * Passes the outcome of a run on. If the session waits for a person, or something else was taken as an answer, tells which answers given
 * beforehand fit no question that was asked, or name no option: most of them have a misspelt id.
 */
export async function withUnusedAnswers(
  { terminal }: CommandContext,
  store: StoreReader,
  session_id: string,
  { answers, unanswered }: Pick<GivenMessage, "answers" | "unanswered">,
  left: Promise<Result<number, Failure>>,
): Promise<Result<number, Failure>> {
  const code = await left;
  if (answers.length === 0 || !code.ok) return code;
  const isWaiting = code.value === EXIT_PERSON_NEEDED;
  if (!isWaiting && unanswered === "stop") return code;
  const row = store.session(session_id);
  if (!row.ok) return isOfStorage(row.error) ? row : code;
  const isDecided = unanswered !== "stop" && row.value.state === "closed";
  if (!isWaiting && !isDecided) return code;
  const waiting = await waitingOf(store, session_id);
  if (!waiting.ok) return waiting;
  const open = waiting.value.filter((one) => one.kind === "question");
  const asked = await askedSoFar(store, session_id);
  if (!asked.ok) return asked;
  if (isDecided && asked.value.every((question) => givenAnswer(answers, question) !== undefined)) return code;
  showUnused(terminal.err, answers, [...asked.value, ...open], open, "that was asked");
  return code;
}

/** Tells which answers fit none of the questions, or name no option of an open one, and which questions are open. */
export function showUnused(
  out: Output,
  answers: readonly GivenAnswer[],
  asked: readonly Answerable[],
  open: readonly Answerable[],
  which: "that was asked" | "that is open",
): void {
  const unused = answers.filter((answer) => asked.every((question) => givenAnswer([answer], question) === undefined));
  const optionless = open.flatMap((question) => {
    const said = givenAnswer(answers, question);
    return said?.ok === false ? [said.error] : [];
  });
  if (unused.length === 0 && optionless.length === 0) return;
  const ids = open.map(({ question_id }) => question_id);
  const nameable = open.length > 0 ? open : asked;
  for (const answer of unused) {
    if ("match" in answer) {
      out.line(out.style("yellow", `No question ${which} has ${safeLine(JSON.stringify(answer.match))} in it.`));
      continue;
    }
    const id = answer.question_id;
    const question = didYouMean(id, [...nameable.map(bareId), ...nameable.map(({ question_id }) => question_id)]);
    out.line(out.style("yellow", safeLine(`No question ${which} is called ${JSON.stringify(id)}.${question}`)));
  }
  for (const { message, hint = "" } of optionless) out.line(out.style("yellow", `${safeLine(message)} ${hint}`));
  if (ids.length > 0) out.line(`Open: ${safeLine(ids.join(", "))}.`);
}

/** Why a question takes no answer any more: it has one. Undefined if it is open, or there is none with this id. */
export async function whySettled(
  reader: StoreReader,
  session_id: string,
  id: string,
  open: readonly Answerable[],
): Promise<Failure | undefined> {
  const isCalled = (question: Answerable) => question.question_id === id || bareId(question) === id;
  if (open.some(isCalled)) return undefined;
  const asked = await askedSoFar(reader, session_id);
  if (!asked.ok || !asked.value.some(isCalled)) return undefined;
  const ids = open.map(({ question_id }) => question_id).join(", ");
  return failure("usage", `${safeLine(id)} is already answered.`, {
    hint: `Open are ${safeLine(ids)}. To say more to the agents: bosun tell ${session_id} "…".`,
  });
}

/** Every question that a schedule has asked people, answered or not, with its scoped id. */
async function askedSoFar(reader: StoreReader, session_id: string): Promise<Result<Answerable[], Failure>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  return ok(
    questionSets(stored.value).flatMap(({ id, record }) => {
      const questions = (keptRecord(reader, session_id, record).payload.questions ?? []) as unknown as Question[];
      return questions.map(({ question_id, text }) => ({ ask_id: id, question_id: `${id}.${question_id}`, text }));
    }),
  );
}
