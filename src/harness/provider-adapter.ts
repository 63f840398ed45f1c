import { defined, type JsonObject, objectOf, textOf } from "../lib/json.ts";
import { type AssistantMessage, type ToolCall, toolCall } from "./messages.ts";
import { type ChatChunk, type ChatRequest, ProviderError, type ProviderAdapter, responseOf } from "./provider.ts";
import { failureOf } from "./provider-failures.ts";
import { type Model, optionsFor } from "./provider-request.ts";
import { type ModelAddress, PROVIDERS } from "./providers.ts";

type Part = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

/** Loads the provider's package. A request to the adapter is one HTTP request: no retries, no loop. It always streams. */
export async function providerAdapter(address: ModelAddress): Promise<ProviderAdapter> {
  const modelFor = await modelsAt(address);
  const { provider: id } = address;
  async function* streamChat(request: ChatRequest): AsyncGenerator<ChatChunk, void> {
    request.signal?.throwIfAborted();
    try {
      const { stream } = await modelFor(request.model).doStream(optionsFor(address, request));
      yield* chunksFrom(stream, `${id}/${request.model}`);
    } catch (error) {
      // The signal's reason arrives wrapped, or as a failure of the network.
      request.signal?.throwIfAborted();
      throw failureOf(error, address, request);
    }
  }
  return { id, streamChat, sendChat: (request) => responseOf(streamChat(request)) };
}

async function modelsAt(address: ModelAddress): Promise<(model: string) => Model> {
  // What is absent the packages take from the environment.
  const { provider, apiKey = "", baseURL = PROVIDERS[provider].baseURL } = address;
  const settings = { apiKey, baseURL };
  if (provider === "anthropic") return (await import("@ai-sdk/anthropic")).createAnthropic(settings);
  if (provider === "openai") return (await import("@ai-sdk/openai")).createOpenAI(settings);
  if (provider === "xai") return (await import("@ai-sdk/xai")).createXai(settings);
  if (provider === "gemini") return (await import("@ai-sdk/google")).createGoogle(settings);
  const supportsStructuredOutputs = address.structuredOutput === "schema";
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return createOpenAICompatible({ ...settings, name: "compatible", includeUsage: true, supportsStructuredOutputs });
}

async function* chunksFrom(parts: AsyncIterable<Part>, by: string): AsyncGenerator<ChatChunk, void> {
  let [written, content, isRefused] = ["", "", false];
  let finish: Extract<Part, { type: "finish" }> | undefined;
  let metadata: JsonObject = {};
  const toolCalls: ToolCall[] = [];
  const warnings: string[] = [];
  const thoughts: Record<string, { readonly by: string; text: string; data: JsonObject }> = {};
  for await (const part of parts) {
    if (part.type === "stream-start") warnings.push(...part.warnings.map((one) => Object.values(one).join(": ")));
    else if (part.type === "response-metadata") metadata = defined({ id: part.id, model: part.modelId });
    else if (part.type === "finish") finish = part;
    else if (part.type === "text-delta") {
      written += part.delta;
      const text = withoutThoughts(written).slice(content.length);
      content += text;
      yield text === "" ? { type: "progress" } : { type: "text", text };
    } else if (part.type === "reasoning-start" || part.type === "reasoning-delta" || part.type === "reasoning-end") {
      const thought = (thoughts[part.id] ??= { by, text: "", data: {} });
      if ("delta" in part) yield { type: "reasoning", text: part.delta };
      if ("delta" in part) thought.text += part.delta;
      thought.data = { ...thought.data, ...(part.providerMetadata as JsonObject) };
    } else if (part.type === "tool-call") {
      // Gemini signs calls, and wants the signature back.
      const { google } = part.providerMetadata ?? {};
      if (google) thoughts[part.toolCallId] = { by, text: "", data: { call: toolCalls.length, google } };
      toolCalls.push(toolCall(part.toolCallId, part.toolName, part.input));
      yield { type: "toolCall", toolCall: toolCalls.at(-1) as ToolCall };
    } else if (part.type === "error") {
      const { name, value } = part.error as JsonObject;
      // The package of xAI does not know refusals. An empty event says nothing, and a stream without its end has no finish either.
      if (JSON.stringify(value)?.includes('"response.refusal.')) isRefused = true;
      else if (!isRefused && name !== "AI_InvalidResponseDataError" && JSON.stringify(value) !== "{}") throw part.error;
      if (isRefused) content += textOf(objectOf(value).delta);
    } else yield { type: "progress" };
  }
  const hasAnswer = content !== "" || toolCalls.length > 0;
  const { unified, raw } = finish?.finishReason ?? { unified: "interrupted" };
  // Some packages call it `other` if a stream ends before its end.
  if (!finish || (!isRefused && (/error|interrupted/.test(unified) || (unified === "other" && raw === undefined)))) {
    if (hasAnswer || metadata.id !== undefined) throw new ProviderError("network", "The answer broke off.");
    throw new ProviderError("server", "The answer is in no form that this provider has.");
  }
  const reasons = { "content-filter": "refusal", length: "length", other: "other" } as const;
  const byCalls = toolCalls.length > 0 ? "toolCalls" : "stop";
  const isIncomplete = raw === "incomplete";
  const finishReason = isRefused
    ? "refusal"
    : isIncomplete
      ? "length"
      : (reasons[unified as keyof typeof reasons] ?? byCalls);
  const { inputTokens: input, outputTokens: output } = finish.usage;
  const [inputTokens, outputTokens] = [input.total, output.total];
  const { cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens } = input;
  const usage = { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens: output.reasoning };
  // Where a server tells no usage, some packages tell 0.
  const isTold = Boolean(inputTokens || outputTokens || !hasAnswer);
  const some = <T>(list: readonly T[]) => (list.length > 0 ? list : undefined);
  const lists = { toolCalls: some(toolCalls), reasoning: some(Object.values(thoughts)) };
  const message: AssistantMessage = { role: "assistant", content, ...defined(lists) };
  const more = defined({ usage: isTold ? defined(usage) : undefined, warnings: some(warnings) });
  const response = { message, finishReason, ...more, metadata: { ...metadata, ...defined({ finish: raw }) } };
  yield { type: "finish", response };
}

/** Without `<think>…</think>`, which local servers leave before a text. The end of it may not be there yet. */
function withoutThoughts(text: string): string {
  if ("<think>".startsWith(text.trimStart())) return "";
  return text.replace(/^\s*<think>.*?(?:<\/think>\s*|$)/s, "");
}
