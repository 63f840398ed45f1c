import type { AssistantMessage, ChatMessage, MessageContent, ToolCall, ToolResult } from "./messages.ts";
import { partsOf, textOfContent, textOfValue } from "./messages.ts";

const NOT_CARRIED_OUT = { value: "This call was not carried out.", isError: true } as const;

/** Before a conversation that the model itself begins. */
const BEGINNING = "(The conversation begins.)";

/**
 * The messages in the form that every provider takes, wherever they come from: one system message first, no empty messages, never two of a
 * role in a row, a user's message before the model's, each call with its result right after it, ids of our own, and only `by`'s own reasoning.
 * Throws if there is nothing to answer.
 */
export function sendable(messages: readonly ChatMessage[], by: string): ChatMessage[] {
  const system: string[] = [];
  const sent: ChatMessage[] = [];
  let calls: { readonly was: string; readonly call: ToolCall }[] = [];
  let results = new Map<string, ToolResult>();
  let number = 0;

  const addUser = (content: MessageContent) => {
    if (isBlank(content)) return;
    const last = sent.at(-1);
    if (last?.role === "user") sent[sent.length - 1] = { role: "user", content: joined(last.content, content) };
    else sent.push({ role: "user", content });
  };
  const addResults = () => {
    if (calls.length > 0) {
      const content = calls.map(({ was, call: { id, name } }) => {
        const result = { ...(results.get(was) ?? NOT_CARRIED_OUT), toolCallId: id, name };
        results.delete(was);
        return result;
      });
      sent.push({ role: "tool", content });
    }
    for (const { name, value } of results.values()) addUser(`Result of the tool ${name}: ${textOfValue(value)}`);
    [calls, results] = [[], new Map()];
  };
  const addAssistant = ({ content, toolCalls = [], reasoning = [] }: AssistantMessage) => {
    if (isBlank(content) && toolCalls.length === 0) return;
    if (sent.length === 0) addUser(BEGINNING);
    calls = toolCalls.map(({ id, name, arguments: given }) => {
      number += 1;
      return { was: id, call: { id: `call_${number}`, name: cleanToolName(name), arguments: given } };
    });
    const own = reasoning.filter((one) => one.by === by);
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(calls.length > 0 ? { toolCalls: calls.map(({ call }) => call) } : {}),
      ...(own.length > 0 ? { reasoning: own } : {}),
    };
    const last = sent.at(-1);
    if (last?.role !== "assistant") sent.push(message);
    else
      sent[sent.length - 1] = {
        ...message,
        content: [last.content, content].filter((text) => text !== "").join("\n\n"),
      };
  };

  for (const message of messages) {
    if (message.role === "tool") {
      for (const result of message.content) results.set(result.toolCallId, result);
      continue;
    }
    addResults();
    if (message.role === "assistant") addAssistant(message);
    else if (message.role === "system" && sent.length === 0) system.push(message.content);
    else addUser(message.content);
  }
  addResults();
  const last = sent.at(-1);
  if (last === undefined || last.role === "assistant")
    throw new Error("There is nothing to answer: the last message must be a user's or a tool's, and not empty.");
  const first = system.filter((text) => !isBlank(text)).join("\n\n");
  return first === "" ? sent : [{ role: "system", content: first }, ...sent];
}

/** A name in the letters and length that every provider takes. */
export function cleanToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "tool";
}

function isBlank(content: MessageContent): boolean {
  const hasMedia = typeof content !== "string" && content.some(({ type }) => type !== "text");
  return !hasMedia && textOfContent(content).trim() === "";
}

export function joined(one: MessageContent, other: MessageContent): MessageContent {
  if (typeof one === "string" && typeof other === "string") return `${one}\n\n${other}`;
  return [...partsOf(one), ...partsOf(other)];
}
