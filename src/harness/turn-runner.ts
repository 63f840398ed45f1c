import { defined } from "../lib/json.ts";
import { sendable } from "./history.ts";
import type { AssistantMessage, ChatMessage, MessageContent, ToolMessage, UserMessage } from "./messages.ts";
import type { ChatChunk, ChatRequest, ChatResponse, Participant, ResponseFormat, ToolChoice } from "./provider.ts";
import { ProviderError, streamOf } from "./provider.ts";
import { callsIn, carriedOut, resultOf, type ToolHandling } from "./tool-calls.ts";
import type { Tools } from "./tools.ts";
import type { ConversationTurn, ToolInvocationRecord } from "./transcript.ts";
import { sumOfUsage, type TokenBudget, TokenBudgetError, type Usage } from "./usage.ts";

export interface TurnRunnerOptions extends ToolHandling {
  /** Requests of a turn, 16 if absent. The last one may call no tool, so that the turn ends with an answer. */
  readonly maxSteps?: number;
}

export interface TurnOptions {
  readonly tools?: Tools;
  /** For the first request. Later ones may choose, or else the model would call tools for ever. */
  readonly toolChoice?: ToolChoice;
  /** With tools the answer is asked for once more when the model calls none: in the format, and without tools. */
  readonly responseFormat?: ResponseFormat;
  readonly signal?: AbortSignal;
  readonly budget?: TokenBudget;
}

/** The answer that ends a turn, and what led to it. */
export interface TurnResult extends ChatResponse {
  /** Of all requests of the turn. */
  readonly usage: Usage;
  /** The turn as a transcript takes it. */
  readonly turn: ConversationTurn;
  /** Requests that were sent. */
  readonly steps: number;
  /** `answer`: the model's own end; the others forced the last answer. */
  readonly endedBy: "answer" | "maxSteps" | "repetition";
}

export type TurnChunk =
  | ChatChunk
  | { readonly type: "toolResult"; readonly record: ToolInvocationRecord }
  | { readonly type: "turn"; readonly result: TurnResult };

/** As often as this in a row the same calls are answered with an error, and the turn must end. */
const MAX_REPETITIONS = 3;

/** Runs turns of one participant: asks, carries out the tools that it calls, and asks again with their results and errors. */
export class TurnRunner {
  readonly participant: Participant;
  readonly #options: TurnRunnerOptions;

  constructor(participant: Participant, options: TurnRunnerOptions = {}) {
    this.participant = participant;
    this.#options = options;
  }

  async runTurn(
    history: readonly ChatMessage[],
    message: MessageContent | UserMessage,
    options: TurnOptions = {},
  ): Promise<TurnResult> {
    for await (const chunk of this.#turn(history, message, options, false))
      if (chunk.type === "turn") return chunk.result;
    throw new Error("A turn ended without its result: this is a bug.");
  }

  /** The same turn as it comes. The last chunk is `turn`; a `finish` ends each request. */
  streamTurn(
    history: readonly ChatMessage[],
    message: MessageContent | UserMessage,
    options: TurnOptions = {},
  ): AsyncGenerator<TurnChunk, void> {
    return this.#turn(history, message, options, true);
  }

  async *#turn(
    history: readonly ChatMessage[],
    message: MessageContent | UserMessage,
    { tools, toolChoice = "auto", responseFormat, signal, budget }: TurnOptions,
    isStreamed: boolean,
  ): AsyncGenerator<TurnChunk, void> {
    const { name, adapter, model, modelConfig: config, systemPrompts = [] } = this.participant;
    const { maxSteps = 16, trace } = this.#options;
    const asked =
      typeof message === "object" && "role" in message ? message : ({ role: "user", content: message } as const);
    const before = [...systemPrompts, ...history, asked];
    const steps: (AssistantMessage | ToolMessage)[] = [];
    const usages: (Usage | undefined)[] = [];
    let [lastCalls, repetitions] = ["", 0];
    const hasTools = tools !== undefined && tools.definitions.length > 0;
    let endedBy: TurnResult["endedBy"] = "answer";
    let isClosing = !hasTools || toolChoice === "none";

    for (let step = 1; ; step += 1) {
      signal?.throwIfAborted();
      if (budget?.isSpent) throw new TokenBudgetError(budget);
      if (!isClosing && step >= maxSteps) [isClosing, endedBy] = [true, "maxSteps"];
      const request = defined({
        model,
        config,
        messages: sendable([...before, ...steps], `${adapter.id}/${model}`),
        tools: hasTools ? tools.definitions : undefined,
        toolChoice: hasTools ? (isClosing ? "none" : step === 1 ? toolChoice : "auto") : undefined,
        responseFormat: isClosing ? responseFormat : undefined,
        signal,
      }) as ChatRequest;
      const response = yield* this.#ask(request, step, isStreamed);
      usages.push(response.usage);
      budget?.spend(response.usage);

      const calls = isClosing ? [] : callsIn(response);
      if (calls.length === 0 && !isClosing && responseFormat && response.finishReason === "stop") {
        isClosing = true;
        continue;
      }
      if (calls.length === 0) {
        const { toolCalls: _, ...final } = response.message;
        requireAnswer(response, request);
        const usage = sumOfUsage(usages);
        const { finishReason } = response;
        const turn = { participant: name, message: final, ...(steps.length > 0 ? { steps } : {}), usage, finishReason };
        trace?.({ type: "turn", participant: name, turn });
        yield { type: "turn", result: { ...response, message: final, usage, turn, steps: step, endedBy } };
        return;
      }
      const key = JSON.stringify(calls.map((call) => ({ ...call, id: "" })));
      [lastCalls, repetitions] = [key, key === lastCalls ? repetitions + 1 : 1];
      if (repetitions >= MAX_REPETITIONS) [isClosing, endedBy] = [true, "repetition"];
      const place = { ...this.#options, participant: name, step, signal };
      const records = isClosing
        ? await carriedOut(calls, refuseRepetition, { ...place, onToolError: "feedback" })
        : await carriedOut(calls, (tools as Tools).execute, place);
      for (const record of records) yield { type: "toolResult", record };
      steps.push({ ...response.message, toolCalls: calls }, { role: "tool", content: records.map(resultOf) });
    }
  }

  async *#ask(request: ChatRequest, step: number, isStreamed: boolean): AsyncGenerator<ChatChunk, ChatResponse> {
    const { name: participant, adapter } = this.participant;
    const { trace } = this.#options;
    const start = performance.now();
    trace?.({ type: "request", participant, step, request });
    let response: ChatResponse | undefined;
    try {
      if (!isStreamed) response = await adapter.sendChat(request);
      else
        for await (const chunk of streamOf(adapter, request)) {
          yield chunk;
          if (chunk.type === "finish") response = chunk.response;
        }
      if (!response) throw new ProviderError("network", "The answer broke off.");
    } catch (error) {
      trace?.({ type: "failure", participant, step, error, ms: performance.now() - start });
      throw error;
    }
    trace?.({ type: "response", participant, step, response, ms: performance.now() - start });
    return response;
  }
}

function refuseRepetition(): never {
  throw new Error(`This call was made ${MAX_REPETITIONS} times in a row. Answer with what you have.`);
}

/** An answer without text is none, whatever the reason; nor is a call or JSON that was cut off, even if it can be read. */
function requireAnswer({ message, finishReason }: ChatResponse, { config, responseFormat }: ChatRequest): void {
  const isCut = finishReason === "length" && (message.toolCalls ?? responseFormat) !== undefined;
  if (message.content.trim() !== "" && !isCut) return;
  const limit = config?.maxOutputTokens === undefined ? "output tokens" : `${config.maxOutputTokens} output tokens`;
  if (finishReason === "length")
    throw new ProviderError("length", `The model reached its limit of ${limit} before it had answered.`);
  if (finishReason === "refusal") throw new ProviderError("refusal", "The model refused to answer.");
  throw new ProviderError("empty", "The model answered nothing.");
}
