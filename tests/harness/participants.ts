import { scriptedAdapter, type ScriptedAdapter, type ScriptedAnswer } from "../../src/harness/adapters/scripted.ts";
import { type ChatMessage, textOfContent, textOfValue, type ToolCall } from "../../src/harness/messages.ts";
import type { ChatRequest, Participant } from "../../src/harness/provider.ts";

export type Scripted = Participant & { readonly adapter: ScriptedAdapter };

/** A participant on a script. */
export function participant(
  name: string,
  script: readonly ScriptedAnswer[] | ((request: ChatRequest) => ScriptedAnswer),
  more: Partial<Participant> = {},
): Scripted {
  return { name, model: "m", ...more, adapter: scriptedAdapter(script) };
}

export function call(id: string, name: string, given: ToolCall["arguments"] = {}): ToolCall {
  return { id, name, arguments: given };
}

/** Messages as `role: text`, with calls and results in brackets. */
export function brief(messages: readonly ChatMessage[]): string[] {
  return messages.map((message) => {
    if (message.role === "tool")
      return message.content
        .map((one) => `[${one.toolCallId} ${one.isError ? "!" : "="} ${textOfValue(one.value)}]`)
        .join("");
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    return `${message.role}: ${textOfContent(message.content)}${calls.map(({ id, name }) => `[${id} ${name}]`).join("")}`;
  });
}

/** What the n-th request of a participant sent. */
export function sentBy({ adapter }: Scripted, index = 0): string[] {
  return brief(adapter.requests[index]?.messages ?? []);
}
