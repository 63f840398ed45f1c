import { answersLabel, promptLine, promptQuestion, type Typed } from "../../ui/prompt.ts";
import { safeLine, wrapped } from "../../ui/display.ts";
import type { Terminal } from "../../ui/terminal.ts";
import type { OpenQuestion } from "../../ui/waiting.ts";
import { counted } from "../../ui/words.ts";
import type { Answer } from "./answers.ts";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerTo } from "../../config/picked-option.ts";
import { makeDirectory, OWN, textIn } from "../../lib/files.ts";
import { type JsonObject, parsedObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";

/** Questions that are asked together at a terminal. */
interface Asking {
  readonly terminal: Terminal;
  readonly drafts: Drafts;
  readonly questions: readonly OpenQuestion[];
  /** Whether nobody has answered it elsewhere. */
  readonly isOpen: (question: OpenQuestion) => boolean;
  /** Shows a prompt about some of them. If any were settled elsewhere before or meanwhile, reports those, and nothing counts as typed. */
  readonly put: (
    about: readonly OpenQuestion[],
    prompt: (signal: AbortSignal) => Promise<Typed>,
  ) => Promise<Typed | { readonly kind: "settled" }>;
}

/**
 * Asks questions one at a time and returns the answers to those that are still open; undefined if the person left. Several answers are shown
 * once more, to be sent or changed. Answers given before a person leaves are kept and offered the next time.
 */
export async function askQuestions(asking: Asking): Promise<Answer[] | undefined> {
  const { terminal, drafts, questions } = asking;
  const answers = drafts.of(questions);
  const kept = answers.size;
  if (kept > 0) terminal.err.line(`${counted(kept, "answer")} from before ${kept === 1 ? "is" : "are"} not sent yet.`);
  for (const question of questions) {
    if (answers.has(question.question_id)) continue;
    if (!(await askOne(asking, question, answers))) return left(asking, answers);
  }
  for (;;) {
    const given = questions.filter((question) => answers.has(question.question_id) && asking.isOpen(question));
    if (given.length === 0 || (given.length === 1 && kept === 0)) return answersTo(given, answers);
    const typed = await asking.put(given, (signal) => promptAnswers(terminal, given, answers, signal));
    if (typed.kind === "settled") continue;
    if (typed.kind === "left") return left(asking, answers);
    const changed = given[Number(typed.text) - 1];
    if (changed === undefined) return answersTo(given, answers);
    if (!(await askOne(asking, changed, answers))) return left(asking, answers);
  }
}

/** False if the person left. */
async function askOne(asking: Asking, question: OpenQuestion, answers: Map<string, string>): Promise<boolean> {
  const { terminal, drafts, questions } = asking;
  const place = { number: questions.indexOf(question) + 1, of: questions.length };
  const typed = await asking.put([question], (signal) => promptQuestion(terminal, question, place, signal));
  if (typed.kind !== "text") return typed.kind === "settled";
  answers.set(question.question_id, typed.text);
  // A single answer is sent at once, so it is not kept.
  const written = questions.length > 1 ? drafts.keep(question.question_id, typed.text) : undefined;
  if (written?.ok === false) terminal.err.line(safeLine(written.error.message));
  return true;
}

/** Shows the answers until the person sends them (an empty text) or picks one to change (its number). */
async function promptAnswers(
  terminal: Terminal,
  questions: readonly OpenQuestion[],
  answers: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Typed> {
  const shown = questions.map(({ question_id, text }) => ({ text, answer: answers.get(question_id) ?? "" }));
  let label = answersLabel(terminal.err, shown);
  for (;;) {
    const typed = await promptLine(terminal, label, signal);
    label = "> ";
    if (typed.kind === "left" || typed.text === "" || questions[Number(typed.text) - 1]) return typed;
    const hint = `Press Enter to send them, or type a number from 1 to ${questions.length} to change that answer.`;
    for (const line of wrapped(hint, terminal.err.width, 2)) terminal.err.line(line);
  }
}

function answersTo(questions: readonly OpenQuestion[], answers: ReadonlyMap<string, string>): Answer[] {
  return questions.map(({ question_id }) => ({ question_id, text: answers.get(question_id) ?? "" }));
}

function left({ terminal, questions }: Asking, answers: ReadonlyMap<string, string>): undefined {
  const { size } = answers;
  if (questions.length > 1 && size > 0)
    terminal.err.line(`${counted(size, "answer")} ${size === 1 ? "is" : "are"} kept, and offered the next time.`);
}

/** The answers that a person has typed at a terminal but not sent yet, by question id. They outlive the command that asked. */
export class Drafts {
  readonly #folder: string;
  readonly #file: string;

  constructor(home: string, session_id: string) {
    this.#folder = sessionPaths(home, session_id).folder;
    this.#file = join(this.#folder, "answers-to-send.json");
  }

  /** The kept answers to these questions, except those that would be refused. */
  of(questions: readonly OpenQuestion[]): Map<string, string> {
    const all = this.#read();
    return new Map(
      questions.flatMap((question) => {
        const { question_id } = question;
        const text = Object.hasOwn(all, question_id) ? all[question_id] : undefined;
        const answer = typeof text === "string" ? answerTo(question, text) : undefined;
        return answer?.ok === true ? [[question_id, answer.value] as const] : [];
      }),
    );
  }

  /** Fails with `storage` or `storage_full`. */
  keep(question_id: string, text: string): Fallible<void> {
    return this.#write({ ...this.#read(), [question_id]: text });
  }

  /** Call once these were sent. */
  forget(question_ids: Iterable<string>): void {
    const sent = new Set(question_ids);
    const all = this.#read();
    const left = Object.entries(all).filter(([question_id]) => !sent.has(question_id));
    if (left.length === Object.keys(all).length) return;
    // At worst, an answer that cannot be removed is offered again.
    if (left.length > 0) this.#write(Object.fromEntries(left));
    else attempt(this.#folder, () => ok(rmSync(this.#file, { force: true })));
  }

  /** Anyone may have written the file, so invalid content counts as no drafts. */
  #read(): JsonObject {
    return parsedObject(textIn(this.#file) ?? "") ?? {};
  }

  #write(all: JsonObject): Fallible<void> {
    const write = () => {
      makeDirectory(this.#folder);
      writeFileSync(this.#file, JSON.stringify(all), OWN);
      return ok(undefined);
    };
    return attempt(this.#folder, write, "The answer");
  }
}
