import { defined } from "../lib/json.ts";
import { sendable } from "./history.ts";
import type { AssistantMessage, ChatMessage, MessageContent, ToolCall, ToolMessage, UserMessage } from "./messages.ts";
import type { Participant } from "./participant.ts";
import {
  type ChatChunk,
  type ChatRequest,
  type ChatResponse,
  ProviderError,
  type ResponseFormat,
  streamOf,
  type ToolChoice,
} from "./provider.ts";
import { type Tools, untilAborted } from "./tools.ts";
import type { Trace } from "./trace.ts";
import type { ConversationTurn, ToolInvocationRecord } from "./transcript.ts";
import { sumOfUsage, type TokenBudget, TokenBudgetError, type Usage } from "./usage.ts";

export interface TurnRunnerOptions {
  /** Requests of a turn, 16 if absent. The last one may call no tool, so that the turn ends with an answer. */
  readonly maxSteps?: number;
  /** Calls that are carried out at once, 4 if absent. */
  readonly toolConcurrency?: number;
  /** Whether an error of a tool is told to the model, which is the default, or ends the turn. */
  readonly onToolError?: "feedback" | "throw";
  readonly trace?: Trace;
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
    const repetition = repetitionCounter();
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
        requireText(response);
        const usage = sumOfUsage(usages);
        const { finishReason } = response;
        const turn = { participant: name, message: final, ...(steps.length > 0 ? { steps } : {}), usage, finishReason };
        trace?.({ type: "turn", participant: name, turn });
        yield { type: "turn", result: { ...response, message: final, usage, turn, steps: step, endedBy } };
        return;
      }
      if (repetition(calls) >= MAX_REPETITIONS) [isClosing, endedBy] = [true, "repetition"];
      const records = isClosing ? calls.map(repeated) : await this.#carryOut(calls, tools as Tools, step, signal);
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

  /** Carries out calls, several at once. The records are in the order of the calls. */
  async #carryOut(
    calls: readonly ToolCall[],
    { execute }: Tools,
    step: number,
    given: AbortSignal | undefined,
  ): Promise<ToolInvocationRecord[]> {
    const { toolConcurrency = 4, onToolError = "feedback", trace } = this.#options;
    const { name: participant } = this.participant;
    const failed = new AbortController();
    const signal = given ? AbortSignal.any([given, failed.signal]) : failed.signal;
    const carryOut = async (call: ToolCall): Promise<ToolInvocationRecord> => {
      const { id, name, arguments: args, malformed } = call;
      const start = performance.now();
      trace?.({ type: "toolCall", participant, step, toolCall: call });
      let record: ToolInvocationRecord;
      try {
        if (malformed !== undefined) throw new Error(`The arguments must be a JSON object, and are: ${malformed}`);
        const context = { toolCallId: id, signal };
        const result = await untilAborted(signal, async () => execute(name, args, context));
        record = { id, name, arguments: args, result };
      } catch (error) {
        signal.throwIfAborted();
        if (onToolError === "throw") throw error;
        record = { id, name, arguments: args, error: error instanceof Error ? error.message : String(error) };
      }
      trace?.({ type: "toolResult", participant, step, record, ms: performance.now() - start });
      return record;
    };
    const records: ToolInvocationRecord[] = [];
    const queue = calls.entries();
    const worker = async () => {
      for (const [index, call] of queue) records[index] = await carryOut(call);
    };
    try {
      await Promise.all(Array.from({ length: toolConcurrency }, worker));
    } catch (error) {
      failed.abort(error);
      throw error;
    }
    return records;
  }
}

/** The calls to carry out, each with an id of its own. What was cut off or refused is not carried out. */
function callsIn({ message, finishReason }: ChatResponse): ToolCall[] {
  if (finishReason === "length" || finishReason === "refusal") return [];
  const ids = new Set<string>();
  return (message.toolCalls ?? []).map((call, index) => {
    const id = call.id === "" || ids.has(call.id) ? `${call.id}#${index}` : call.id;
    ids.add(id);
    return { ...call, id };
  });
}

/** An answer without text is none, whatever the reason. */
function requireText({ message, finishReason }: ChatResponse): void {
  if (message.content.trim() !== "") return;
  if (finishReason === "length")
    throw new ProviderError("length", "The model reached its limit of output tokens before it had answered.");
  if (finishReason === "refusal") throw new ProviderError("refusal", "The model refused to answer.");
  throw new ProviderError("empty", "The model answered nothing.");
}

/** Counts how often the same calls came in a row. */
function repetitionCounter(): (calls: readonly ToolCall[]) => number {
  let last = "";
  let count = 0;
  return (calls) => {
    const key = keyOf(calls);
    count = key === last ? count + 1 : 1;
    last = key;
    return count;
  };
}

function keyOf(calls: readonly ToolCall[]): string {
  return JSON.stringify(calls.map(({ name, arguments: given, malformed = "" }) => [name, given, malformed]));
}

function repeated({ id, name, arguments: given }: ToolCall): ToolInvocationRecord {
  const error = `This call was made ${MAX_REPETITIONS} times in a row. Answer with what you have.`;
  return { id, name, arguments: given, error };
}

function resultOf({ id, name, result = null, error }: ToolInvocationRecord): ToolMessage["content"][number] {
  return error === undefined
    ? { toolCallId: id, name, value: result }
    : { toolCallId: id, name, value: error, isError: true };
}
