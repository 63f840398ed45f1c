import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** What of a question decides on its answer; its options as people read them. */
export interface Answerable {
  /** What it was asked with. */
  readonly ask_id: string;
  /** Scoped by that: `c2.q1`. */
  readonly question_id: string;
  readonly text: string;
  readonly options?: readonly string[];
  readonly default?: string | undefined;
}

const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;

/** A question's id without its scope: `q1` for `c2.q1`. Either part may have dots of its own. */
export function bareId({ ask_id, question_id }: Pick<Answerable, "ask_id" | "question_id">): string {
  return question_id.slice(ask_id.length + 1);
}

/** Whether options can be named by their place: where all of them are numbers themselves, nobody could tell which is meant. */
export function isCounted(options: readonly string[]): boolean {
  return !options.every((option) => NUMBER.test(option));
}

/**
 * What words mean as the answer to a question, through whichever door they come: an option or the default if they are one, else a
 * number the option that it counts, else themselves. Failure `usage` for a number that counts none, where options are counted.
 */
export function answerTo(question: Answerable, words: string): Result<string, Failure> {
  const { question_id, options = [] } = question;
  // An option that is a number itself is named by it: a command that is printed to be copied says what it shows.
  if (!isCounted(options) || !NUMBER.test(words) || options.includes(words) || words === question.default)
    return ok(words);
  const counted = /^\d+$/.test(words) ? options[Number(words) - 1] : undefined;
  if (counted !== undefined) return ok(counted);
  return err(
    failure("usage", `${question_id} has no option ${words}.`, {
      hint: `Give a number from 1 to ${options.length}, or an answer in words.`,
    }),
  );
}
