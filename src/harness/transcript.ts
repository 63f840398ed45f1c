import { frozen, type Json, type JsonObject } from "../lib/json.ts";
import type { AssistantMessage, ChatMessage, ToolMessage, UserMessage } from "./messages.ts";
import { textOfContent, textOfValue } from "./messages.ts";
import type { FinishReason } from "./provider.ts";
import { type Usage, sumOfUsage, tokensOf } from "./usage.ts";

/** The author of what comes from outside of the conversation. Its words stand without a name. */
export const OUTSIDE = "user";

/** What one participant said, or a message from outside. */
export interface ConversationTurn {
  readonly participant: string;
  /** A participant's is an assistant's message, one from outside a user's. */
  readonly message: UserMessage | AssistantMessage;
  /** The calls of tools and their results that led to the message, in the order in which they happened. */
  readonly steps?: readonly (AssistantMessage | ToolMessage)[];
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
}

/** A call of a tool that was carried out: with its result, or with the error that the model was told. */
export interface ToolInvocationRecord {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly result?: Json;
  readonly error?: string;
}

/** The turns of a conversation. Turns are added and never changed: what is appended is copied and frozen. */
export class ConversationTranscript {
  readonly #turns: ConversationTurn[] = [];

  /** From the turns of an earlier transcript, for example out of its JSON. */
  constructor(turns: Iterable<ConversationTurn> = []) {
    for (const turn of turns) this.append(turn);
  }

  append(turn: ConversationTurn): void {
    if (!/^\S(?:.*\S)?$/.test(turn.participant))
      throw new Error(`${JSON.stringify(turn.participant)} is no name for a participant: it must be one line of text.`);
    this.#turns.push(frozen(structuredClone(turn)));
  }

  get turns(): readonly ConversationTurn[] {
    return [...this.#turns];
  }

  /** The turns of participants, without messages from outside. */
  get contributions(): readonly ConversationTurn[] {
    return this.#turns.filter(({ message }) => message.role === "assistant");
  }

  /** The tokens of all contributions; a figure that one of them lacks is absent. */
  get usage(): Usage {
    return sumOfUsage(this.contributions.map(({ usage }) => usage));
  }

  /** The tokens that are known to be used. */
  get tokens(): number {
    return this.contributions.reduce((sum, { usage }) => sum + tokensOf(usage), 0);
  }

  toJSON(): { readonly turns: readonly ConversationTurn[] } {
    return { turns: this.turns };
  }

  /**
   * The conversation as one participant sees it: its own words and tools as the assistant's, everybody else's as the user's. Others' words
   * are indented below their name, so that no text can pass for another author's.
   */
  messagesFor(name: string): ChatMessage[] {
    return this.#turns.flatMap(({ participant, message, steps = [] }): ChatMessage[] => {
      if (participant === name) return [...steps, message];
      if (participant === OUTSIDE && message.role === "user") return [message];
      const text = textOfContent(message.content);
      const said = { type: "text", text: `${participant}:\n${indented(text)}` } as const;
      const media = typeof message.content === "string" ? [] : message.content.filter(({ type }) => type !== "text");
      return [{ role: "user", content: media.length > 0 ? [said, ...media] : said.text }];
    });
  }

  /** As text for people and models: `Turn 1, ann:` and below it the words, indented. A longer text is cut in its middle, and says so. */
  toText({ maxCharacters = 200_000 }: { readonly maxCharacters?: number } = {}): string {
    let number = 0;
    const blocks = this.#turns.map(({ participant, message, steps = [] }) => {
      const heading = message.role === "user" ? participant : `Turn ${(number += 1)}, ${participant}`;
      const tools = toolInvocationsIn(steps).map(
        ({ name, arguments: given, result = null, error }) =>
          `[${name}(${brief(given)}) → ${error === undefined ? brief(result) : `error ${brief(error)}`}]`,
      );
      const called = tools.length > 0 ? `${heading}, tools:\n${indented(tools.join("\n"))}\n\n` : "";
      return `${called}${heading}:\n${indented(textOfContent(message.content))}`;
    });
    const text = blocks.join("\n\n");
    if (text.length <= maxCharacters) return text;
    // What follows the cut may be the middle of a line: it must not begin at the margin either.
    const half = Math.floor(maxCharacters / 2);
    const [head, tail] = [text.slice(0, half).toWellFormed(), text.slice(-half).toWellFormed()];
    return `${head}\n[… ${text.length - 2 * half} characters left out …]\n  …${tail}`;
  }
}

/** The calls in messages, each with what its result says. A call without a result was not carried out, and is left out. */
export function toolInvocationsIn(messages: readonly ChatMessage[]): ToolInvocationRecord[] {
  return messages.flatMap((message, index): ToolInvocationRecord[] => {
    const next = messages[index + 1];
    if (message.role !== "assistant" || next?.role !== "tool") return [];
    return (message.toolCalls ?? []).flatMap(({ id, name, arguments: given }) => {
      const found = next.content.find(({ toolCallId }) => toolCallId === id);
      if (!found) return [];
      const outcome = found.isError ? { error: textOfValue(found.value) } : { result: found.value };
      return [{ id, name, arguments: given, ...outcome }];
    });
  });
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

/** JSON in one line that is not long. */
function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= 500 ? text : `${text.slice(0, 500).toWellFormed()}… (${text.length} characters)`;
}
