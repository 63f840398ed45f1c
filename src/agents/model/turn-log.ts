import { ProviderError } from "../../harness/provider.ts";
import type { TraceEvent } from "../../harness/trace.ts";
import type { TurnChunk } from "../../harness/turn-runner.ts";
import { sumOfUsage, type Usage as TokenUsage } from "../../harness/usage.ts";
import type { TurnContext, TurnRequest } from "../../kernel/agent.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { Usage } from "../../protocol/payload.ts";
import type { CliSettings } from "../cli/agent.ts";
import { oneLine } from "../cli/messages.ts";
import { TurnOutput } from "../cli/turn-output.ts";
import type { Conversation } from "./conversation.ts";
import { Prose } from "./prose.ts";

/** What a model says and does in a turn: shown to people as it comes, kept in the turn's files and in its conversation, and counted. */
export class TurnLog {
  readonly conversation: Conversation;
  readonly #output: TurnOutput;
  readonly #prose = new Prose((line) => this.show(line));
  readonly #usages: (TokenUsage | undefined)[] = [];
  #held: number | undefined;

  constructor(request: TurnRequest, context: TurnContext, settings: CliSettings, conversation: Conversation) {
    this.conversation = conversation;
    this.#output = new TurnOutput(request, context, settings);
  }

  /** Tokens of all requests, as far as they are known. */
  get usage(): Usage | undefined {
    const { inputTokens, outputTokens, cacheReadTokens } = sumOfUsage(this.#usages);
    const usage = defined({ input_tokens: inputTokens, output_tokens: outputTokens, cached_tokens: cacheReadTokens });
    return Object.keys(usage).length === 0 ? undefined : usage;
  }

  /** The tokens of the latest request and its answer: what the conversation holds. */
  get held(): number | undefined {
    return this.#held;
  }

  get hasAnswered(): boolean {
    return this.#usages.length > 0;
  }

  show(line: string): void {
    void this.#output.show("stdout", line);
  }

  keep(line: string): void {
    void this.#output.keep(line);
  }

  take(chunk: TurnChunk): void {
    switch (chunk.type) {
      case "text":
        this.#prose.push(chunk.text);
        break;
      case "finish":
        this.#prose.end();
        this.conversation.add(chunk.response.message);
        break;
      case "toolCall":
        this.#prose.end();
        this.show(oneLine(`${chunk.toolCall.name} ${wordsOf(chunk.toolCall.arguments)}`));
        break;
      case "toolResult": {
        const { id, name, result = null, error } = chunk.record;
        const told = error === undefined ? { value: result } : { value: error, isError: true as const };
        this.conversation.add({ role: "tool", content: [{ toolCallId: id, name, ...told }] });
        if (error !== undefined) this.show(oneLine(`${name} failed: ${error}`));
        break;
      }
      case "turn":
      case "reasoning":
      case "progress":
        break;
    }
  }

  note(event: TraceEvent): void {
    if (event.type === "response") {
      const { message, finishReason, usage, warnings } = event.response;
      this.#usages.push(usage);
      this.#held = usage?.inputTokens === undefined ? undefined : usage.inputTokens + (usage.outputTokens ?? 0);
      this.keep(JSON.stringify({ message, finishReason, usage, warnings }));
    }
    if (event.type === "toolResult") this.keep(JSON.stringify(event.record));
    // A request that was refused cost nothing. What one cost that broke off is not known.
    const isRefused = event.type === "failure" && event.error instanceof ProviderError && event.error.details.status;
    if (event.type === "failure" && !isRefused) this.#usages.push(undefined);
  }

  async close(): Promise<void> {
    this.#output.end();
    await this.#output.close();
  }
}

/** Arguments of a call in one line, the long ones cut. */
function wordsOf(given: JsonObject): string {
  return Object.values(given)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .map((text) => (text.length > 80 ? `${text.slice(0, 80)}…` : text))
    .join(" ");
}
