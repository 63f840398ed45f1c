import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TurnRequest } from "../../kernel/agent.ts";
import type { ChatMessage, ToolMessage } from "../../harness/messages.ts";
import { makeDirectory, OWN, textIn } from "../../lib/files.ts";
import type { Json } from "../../lib/json.ts";
import type { Withholder } from "../../lib/withholder.ts";

/** Of calls whose results are not on file: the scheduler died while they ran. */
const CUT_OFF = "The scheduler died while this call ran. Look whether it has had an effect before you repeat it.";

/**
 * What was said to a model and by it, in a file beside the log, without the session's secrets. Written as it happens, so that a turn that is cut off
 * goes on where it was.
 */
export class Conversation {
  readonly id: string;
  /** What was said before this turn. */
  readonly past: readonly ChatMessage[];
  /** Whether the conversation that the request continues is no longer there. */
  readonly isLost: boolean;
  readonly #file: string;
  readonly #secrets: Withholder;
  /** What a copy begins with, until it is written. */
  #copied: readonly ChatMessage[];

  constructor({ conversation, output_directory, stamp }: TurnRequest, secrets: Withholder) {
    const own = `model.${stamp.turn_id}.${stamp.run}`;
    const fileOf = (id: string) => join(output_directory, `${id}.conversation.ndjson`);
    // An id comes from a record, which an agent cannot write, and is made here alone.
    const known = conversation && /^model\.[\w.]+$/.test(conversation.id) ? fileOf(conversation.id) : undefined;
    const isThere = known !== undefined && existsSync(known);
    this.isLost = conversation !== undefined && !isThere;
    this.past = isThere ? messagesIn(textIn(known) ?? "") : [];
    this.id = isThere && conversation?.how === "resume" ? conversation.id : own;
    this.#file = fileOf(this.id);
    this.#secrets = secrets;
    this.#copied = this.id === own ? this.past : [];
  }

  /** Throws what the file system throws. */
  add(message: ChatMessage): void {
    makeDirectory(dirname(this.#file));
    const lines = [...this.#copied, message].map(
      (one) => `${JSON.stringify(this.#secrets.json(one as unknown as Json))}\n`,
    );
    appendFileSync(this.#file, lines.join(""), OWN);
    this.#copied = [];
  }
}

/** The messages of a file. A line that a crash cut is left out, and calls without results get one that says so. */
function messagesIn(text: string): ChatMessage[] {
  const messages = text.split("\n").flatMap((line): ChatMessage[] => {
    try {
      return [JSON.parse(line) as ChatMessage];
    } catch {
      return [];
    }
  });
  const answered = new Set(
    messages.flatMap((one) => (one.role === "tool" ? one.content.map(({ toolCallId }) => toolCallId) : [])),
  );
  const last = messages.findLast(({ role }) => role !== "tool");
  const calls = last?.role === "assistant" ? (last.toolCalls ?? []) : [];
  const cutOff = calls.filter(({ id }) => !answered.has(id));
  const results: ToolMessage = {
    role: "tool",
    content: cutOff.map(({ id, name }) => ({ toolCallId: id, name, value: CUT_OFF, isError: true })),
  };
  return cutOff.length === 0 ? messages : [...messages, results];
}
