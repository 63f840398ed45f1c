import type { JsonObject } from "../lib/json.ts";
import type { AssistantMessage, ChatMessage, SystemMessage, ToolCall, ToolDefinition } from "./messages.ts";
import type { Usage } from "./usage.ts";

export interface ModelConfig {
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** Passed on to the provider as it is. */
  readonly providerOptions?: JsonObject;
}

export type ToolChoice = "auto" | "required" | "none" | { readonly tool: string };

export interface ResponseFormat {
  readonly type: "json";
  readonly schema?: JsonObject;
  readonly name?: string;
}

/** One request to a model: one step, without retries and without a tool loop. */
export interface ChatRequest {
  readonly model: string;
  readonly config?: ModelConfig;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** `auto` if absent. */
  readonly toolChoice?: ToolChoice;
  readonly responseFormat?: ResponseFormat;
  readonly signal?: AbortSignal;
}

export type FinishReason = "stop" | "toolCalls" | "length" | "refusal" | "other";

export interface ChatResponse {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  readonly usage?: Usage;
  /** What the provider did otherwise than asked. */
  readonly warnings?: readonly string[];
  /** What else is worth keeping: the model that answered, the id of the answer. */
  readonly metadata?: JsonObject;
}

/** A piece of an answer. The last one is `finish`, with what `sendChat` would have answered. */
export type ChatChunk =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "toolCall"; readonly toolCall: ToolCall }
  /** A sign of life without text, for example while a model writes arguments. */
  | { readonly type: "progress" }
  | { readonly type: "finish"; readonly response: ChatResponse };

/**
 * A provider's API in common terms. Both methods reject with a `ProviderError`, or with the signal's reason once it is aborted.
 * tests/harness/adapter-contract.ts holds what every adapter keeps.
 */
export interface ProviderAdapter {
  /** Of the provider, for example `anthropic`. */
  readonly id: string;
  sendChat(request: ChatRequest): Promise<ChatResponse>;
  streamChat?(request: ChatRequest): AsyncIterable<ChatChunk>;
}

/** One actor of a conversation: configuration only. What it does is decided by whoever runs it. */
export interface Participant {
  readonly name: string;
  readonly adapter: ProviderAdapter;
  readonly model: string;
  readonly systemPrompts?: readonly SystemMessage[];
  readonly modelConfig?: ModelConfig;
}

export type ProviderErrorKind =
  | "rateLimited"
  | "authentication"
  /** More than the model's context holds. */
  | "overflow"
  /** No such model. */
  | "model"
  /** The request is refused as it is. */
  | "request"
  /** The server failed, or speaks another protocol. */
  | "server"
  | "network"
  /** Answers without text: cut by the limit of tokens, refused by the model, or simply empty. */
  | "length"
  | "refusal"
  | "empty";

export interface ProviderErrorDetails {
  readonly status?: number;
  /** The provider's own code. */
  readonly code?: string;
  /** From `retry-after`. */
  readonly retryAfterMs?: number;
}

export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly kind: ProviderErrorKind;
  readonly details: ProviderErrorDetails;

  /** The message and details must hold no key and no prompt: they are logged. */
  constructor(kind: ProviderErrorKind, message: string, details: ProviderErrorDetails = {}) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}

/** An answer as a stream, in one piece if the adapter cannot stream. */
export async function* streamOf(adapter: ProviderAdapter, request: ChatRequest): AsyncGenerator<ChatChunk, void> {
  if (adapter.streamChat) return yield* adapter.streamChat(request);
  for (const chunk of chunksOf(await adapter.sendChat(request))) {
    request.signal?.throwIfAborted();
    yield chunk;
  }
}

/** A finished answer as a stream. */
export function* chunksOf(response: ChatResponse): Generator<ChatChunk, void> {
  const { content, toolCalls = [], reasoning = [] } = response.message;
  for (const { text } of reasoning) yield { type: "reasoning", text };
  // Cut before words.
  for (const text of content.split(/(?=\s\S)/)) if (text !== "") yield { type: "text", text };
  for (const toolCall of toolCalls) yield { type: "toolCall", toolCall };
  yield { type: "finish", response };
}

/** A stream as one answer, for adapters that always stream. */
export async function responseOf(chunks: AsyncIterable<ChatChunk>): Promise<ChatResponse> {
  for await (const chunk of chunks) if (chunk.type === "finish") return chunk.response;
  throw new ProviderError("network", "The answer broke off.");
}
