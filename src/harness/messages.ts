import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";

/** Base64, or an address that the provider fetches. */
type MediaSource = { readonly data: string } | { readonly url: string };

/** A piece of a user's message. Audio and PDF are files. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image"; readonly mediaType: string } & MediaSource)
  | ({ readonly type: "file"; readonly mediaType: string; readonly name?: string } & MediaSource);

export type MessageContent = string | readonly ContentPart[];

/** One message as providers see it. Survives a round trip through JSON. */
export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export interface SystemMessage {
  readonly role: "system";
  readonly content: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: MessageContent;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly reasoning?: readonly Reasoning[];
}

/** The results of all calls of the message before, in their order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly content: readonly ToolResult[];
}

/** What a model thought. Sent back only to the model that thought it. */
export interface Reasoning {
  /** `<id of the adapter>/<model>`. */
  readonly by: string;
  readonly text: string;
  /** What the provider wants back with it, for example a signature. */
  readonly data?: Json;
}

export interface ToolDefinition {
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** What the model wrote, if it is no JSON object. `arguments` is empty then. */
  readonly malformed?: string;
}

export interface ToolResult {
  readonly toolCallId: string;
  readonly name: string;
  readonly value: Json;
  readonly isError?: true;
}

/** A call from a provider's text of the arguments, which models leave empty or half written. */
export function toolCall(id: string, name: string, text: string): ToolCall {
  try {
    const given: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    if (isJsonObject(given)) return { id, name, arguments: given };
  } catch {
    // Told to the model when the call is carried out.
  }
  return { id, name, arguments: {}, malformed: text };
}

export function partsOf(content: MessageContent): readonly ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The text of a message's content, without images and files. */
export function textOfContent(content: MessageContent): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** A tool's value as text for people and models. */
export function textOfValue(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
