import type { createAnthropic } from "@ai-sdk/anthropic";
import { isClosedSchema } from "../lib/closed-schema.ts";
import { defined, type JsonObject, objectOf } from "../lib/json.ts";
import { joined } from "./history.ts";
import type { ChatMessage, ContentPart, ToolResult, UserMessage } from "./messages.ts";
import { partsOf, textOfValue } from "./messages.ts";
import type { ChatRequest } from "./provider.ts";
import type { ModelAddress, ProviderName } from "./providers.ts";

/** What the packages of all providers have in common. */
export type Model = ReturnType<ReturnType<typeof createAnthropic>>;

/** Anthropic demands a limit. The package lowers it to that of a model which it knows. */
const ANTHROPIC_OUTPUT_TOKENS = 32_000;

const NAMES_OF_OPTIONS: Readonly<Record<string, string>> = { gemini: "google", "openai-compatible": "compatible" };

/** A request in the words of the packages. */
export function optionsFor(address: ModelAddress, request: ChatRequest): Parameters<Model["doStream"]>[0] {
  const { provider, structuredOutput = provider === "openai-compatible" ? "json" : "schema" } = address;
  const { model, config = {}, messages, tools = [], toolChoice = "auto", responseFormat, signal } = request;
  const { providerOptions, maxOutputTokens = provider === "anthropic" ? ANTHROPIC_OUTPUT_TOKENS : undefined } = config;
  // A schema and tools at once some take for a forced tool, and others refuse. But Anthropic refuses earlier calls without their tools.
  const format = tools.length === 0 || toolChoice === "none" ? responseFormat : undefined;
  const hasTools = tools.length > 0 && (format === undefined || provider === "anthropic");
  const schema = format?.schema;
  const isTold = schema && (structuredOutput !== "schema" || provider === "openai-compatible");
  const strictJsonSchema = schema !== undefined && isClosedSchema(schema);
  // Each package takes what it knows; the last one sends what it does not. A conversation is always sent whole, so a provider need not keep it.
  const others = provider === "openai-compatible" ? {} : { store: false, structuredOutputMode: "outputFormat" };
  const options = {
    ...defined({ ...config, maxOutputTokens, abortSignal: signal }),
    prompt: (isTold ? withSchema(messages, schema) : messages).map((one) => toMessage(one, provider, model)),
    ...(hasTools && {
      tools: tools.map(({ parameters, ...tool }) => ({ type: "function", ...tool, inputSchema: parameters })),
      toolChoice: typeof toolChoice === "string" ? { type: toolChoice } : { type: "tool", toolName: toolChoice.tool },
    }),
    ...(format &&
      structuredOutput !== "none" && {
        responseFormat: { name: "answer", ...format, schema: structuredOutput === "schema" ? schema : undefined },
      }),
    providerOptions: { [NAMES_OF_OPTIONS[provider] ?? provider]: { strictJsonSchema, ...others, ...providerOptions } },
  };
  return options as object as Parameters<Model["doStream"]>[0];
}

/** With the schema at the end of the user's last message. */
function withSchema(messages: readonly ChatMessage[], schema: JsonObject): ChatMessage[] {
  const text = `Answer with one JSON value of this JSON Schema, and with nothing else:\n${JSON.stringify(schema)}`;
  const last = messages.findLast(({ role }) => role === "user") as UserMessage;
  const told = { ...last, content: joined(last.content, text) };
  return messages.map((one) => (one === last ? told : one));
}

function toMessage(message: ChatMessage, provider: ProviderName, model: string): object {
  const { role } = message;
  if (role === "system") return message;
  if (role === "user") return { role, content: partsOf(message.content).map(toPart) };
  if (role === "tool") return { role, content: message.content.map((result) => toResult(result, provider)) };
  const { content: text, toolCalls = [], reasoning = [] } = message;
  const own = reasoning.filter(({ by }) => by === `${provider}/${model}`);
  const signed = own.map(({ data }) => objectOf(data).call);
  const thoughts = own.filter((_, index) => signed[index] === undefined);
  const calls = toolCalls.map(({ id: toolCallId, name: toolName, arguments: input }, index) => ({
    ...{ type: "tool-call", toolCallId, toolName, input, providerOptions: own[signed.indexOf(index)]?.data },
  }));
  const parts = thoughts.map(({ text, data: providerOptions }) => ({ type: "reasoning", text, providerOptions }));
  return { role, content: [...parts, ...(text === "" ? [] : [{ type: "text", text }]), ...calls] };
}

function toPart(part: ContentPart): object {
  if (part.type === "text") return part;
  const data = "url" in part ? { type: "url", url: new URL(part.url) } : { type: "data", data: part.data };
  return { type: "file", mediaType: part.mediaType, data, ...(part.type === "file" && { filename: part.name }) };
}

function toResult({ toolCallId, name: toolName, value, isError }: ToolResult, provider: ProviderName): object {
  const result = { type: "tool-result", toolCallId, toolName };
  // These protocols have no word for a failed call.
  if (isError && (provider === "xai" || provider === "openai-compatible"))
    return { ...result, output: { type: "text", value: `Error: ${textOfValue(value)}` } };
  return {
    ...result,
    output: { type: `${isError ? "error-" : ""}${typeof value === "string" ? "text" : "json"}`, value },
  };
}
