import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";

/** The parts of a question that are needed to interpret an answer. */
export interface Answerable {
  /** The request that asked it. */
  readonly ask_id: string;
  /** Scoped by the request: `c2.q1`. */
  readonly question_id: string;
  readonly text: string;
  readonly options?: readonly string[];
  readonly default?: string | undefined;
  /** If false, the answer must be one of the options. */
  readonly free_text?: boolean | undefined;
}

const NUMBER = /^[-+]?\d+(?:\.\d+)?$/;

/** Whether options can be chosen by their number: not if all of them are numbers, which would be ambiguous. */
export function isCounted(options: readonly string[]): boolean {
  return !options.every((option) => NUMBER.test(option));
}

/**
 * Interprets typed words as an answer: an option or the default that they equal, else the option with this number, else the words themselves. Failure
 * `usage` for a number without an option, and for other words if the answer must be one of the options.
 */
export function answerTo(question: Answerable, words: string): Fallible<string> {
  const { question_id, options = [], free_text = true } = question;
  // An option that is a number is chosen by its text: printed commands contain the text.
  if (!isFreeText(question, words)) return ok(words);
  const isNumber = isCounted(options) && NUMBER.test(words);
  const counted = isNumber && /^\d+$/.test(words) ? options[Number(words) - 1] : undefined;
  if (counted !== undefined) return ok(counted);
  if (!free_text) {
    return fails("usage", `${JSON.stringify(words)} is none of the options of ${question_id}.`, {
      hint: `Give one of them${isCounted(options) ? ", or its number" : ""}: ${options.join(", ")}.`,
    });
  }
  if (!isNumber) return ok(words);
  return fails("usage", `${question_id} has no option ${words}.`, {
    hint: `Give a number from 1 to ${options.length}, or an answer in words.`,
  });
}

/** Whether there are options and the answer is neither one of them nor the default. */
export function isFreeText({ options = [], default: usual }: Answerable, answer: string): boolean {
  return options.length > 0 && !options.includes(answer) && answer !== usual;
}
