import { textOfContent } from "./messages.ts";
import type { ConversationTranscript } from "./transcript.ts";

/** Whether a conversation stops. A plain function is one; a label says in the result what stopped it. */
export interface StopCondition {
  (transcript: ConversationTranscript): boolean;
  readonly label?: string;
  /** The labels of those of its parts that hold, if it consists of parts. */
  readonly held?: (transcript: ConversationTranscript) => readonly string[];
}

export type Comparison = ">=" | ">" | "<=" | "<" | "=";

const COMPARE: Readonly<Record<Comparison, (one: number, other: number) => boolean>> = {
  ">=": (one, other) => one >= other,
  ">": (one, other) => one > other,
  "<=": (one, other) => one <= other,
  "<": (one, other) => one < other,
  "=": (one, other) => one === other,
};

/** What a condition may count in a transcript. */
export const MEASURES = {
  /** Turns of participants. */
  turns: (transcript: ConversationTranscript) => transcript.contributions.length,
  /** Tokens that are known to be used. */
  tokens: (transcript: ConversationTranscript) => transcript.tokens,
};

export function measure(what: keyof typeof MEASURES, comparison: Comparison, limit: number): StopCondition {
  const holds = COMPARE[comparison];
  return labelled(`${what}${comparison}${limit}`, (transcript) => holds(MEASURES[what](transcript), limit));
}

/** The last turn contains a text, in this case. With a name, only if it is that participant's. */
export function contains(text: string, by?: string): StopCondition {
  const words = [text, ...(by === undefined ? [] : [by])].map((word) => JSON.stringify(word)).join(", ");
  return labelled(`contains(${words})`, ({ contributions }) => {
    const last = contributions.at(-1);
    if (last === undefined || (by !== undefined && last.participant !== by)) return false;
    return textOfContent(last.message.content).includes(text);
  });
}

/** A condition with a label. */
export function labelled(label: string, holds: (transcript: ConversationTranscript) => boolean): StopCondition {
  return Object.assign((transcript: ConversationTranscript) => holds(transcript), { label });
}

export function anyOf(...conditions: readonly StopCondition[]): StopCondition {
  const holds = labelled(labelOf(conditions, " or "), (transcript) => conditions.some((one) => one(transcript)));
  return Object.assign(holds, {
    held: (transcript: ConversationTranscript) => conditions.flatMap((one) => heldBy(one, transcript)),
  });
}

export function allOf(...conditions: readonly StopCondition[]): StopCondition {
  return labelled(labelOf(conditions, " and "), (transcript) => conditions.every((one) => one(transcript)));
}

export function not(condition: StopCondition): StopCondition {
  return labelled(`not ${labelOf([condition])}`, (transcript) => !condition(transcript));
}

/** The labels of what holds; none if the condition does not. */
export function heldBy(condition: StopCondition, transcript: ConversationTranscript): readonly string[] {
  if (!condition(transcript)) return [];
  return condition.held?.(transcript) ?? [labelOf([condition])];
}

/** One label of several conditions, in parentheses. */
function labelOf(conditions: readonly StopCondition[], word = ""): string {
  const labels = conditions.map(({ label, name }) => label ?? (name === "" ? "condition" : name));
  return labels.length === 1 ? labels.join() : `(${labels.join(word)})`;
}
