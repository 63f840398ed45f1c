import type { IncomingHttpHeaders } from "node:http";
import { type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { digest, parsedObject, textOf, words } from "./bodies.ts";
import type { Chunk, Message, Protocol, Said } from "./conversation.ts";

const FINISH = { end: "stop", calls: "tool_calls", refusal: "content_filter", length: "length" };

function usageOf({ usage: { input, cached, output } }: Said): JsonObject {
  return {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens: output,
    total_tokens: input + output,
  };
}

function toolCalls({ calls }: Said): JsonObject[] {
  return calls.map(({ id, name, input, written = JSON.stringify(input) }, index) => ({
    index,
    id: `call_${id}`,
    type: "function",
    function: { name, arguments: written },
  }));
}

function frame(said: Said, object: string): JsonObject {
  return { id: `chatcmpl-${said.id}`, object, created: 1_795_294_863, model: said.model };
}

function messageOf(value: Json): Message[] {
  const message = objectOf(value);
  const text = textOf(message);
  if (message.role === "user") return [{ from: "user", text }];
  if (message.role === "tool") {
    return [{ from: "tool", call_id: textOf(message.tool_call_id), text, failed: /^error/i.test(text) }];
  }
  if (message.role !== "assistant") return [];
  const calls = listOf(message.tool_calls)
    .map(objectOf)
    .map(({ id, function: called }) => ({
      id: textOf(id),
      name: textOf(objectOf(called).name),
      input: parsedObject(objectOf(called).arguments),
    }));
  return [{ from: "model", text, calls }];
}

/** OpenAI's Chat Completions: `opencode`. */
export const chat: Protocol = {
  name: "chat",
  path: /^(?:\/v1)?\/chat\/completions$/,
  read(body: JsonObject, headers: IncomingHttpHeaders) {
    const all = listOf(body.messages);
    const messages = all.flatMap(messageOf);
    const tools = listOf(body.tools)
      .map((tool) => objectOf(objectOf(tool).function))
      .map(({ name, parameters }) => ({ name: textOf(name), schema: objectOf(parameters) }));
    const { schema } = objectOf(objectOf(body.response_format).json_schema);
    return {
      id: String(headers["x-session-id"] ?? headers["x-session-affinity"] ?? digest(messages[0]?.text ?? "")),
      model: textOf(body.model),
      system: all
        .map(objectOf)
        .filter(({ role }) => role === "system")
        .map(textOf)
        .join("\n"),
      messages,
      tools,
      ...(schema === undefined ? {} : { schema: objectOf(schema) }),
    };
  },
  streams: (body) => body.stream === true,
  events(said) {
    const delta = (delta: JsonObject, finish_reason: string | null = null): Chunk => ({
      data: { ...frame(said, "chat.completion.chunk"), choices: [{ index: 0, finish_reason, delta }] },
    });
    return [
      delta({ role: "assistant", content: "" }),
      ...words(said.text).map((content) => delta({ content })),
      ...toolCalls(said).map((call) => delta({ tool_calls: [call] })),
      delta({}, FINISH[said.stop]),
      { data: { ...frame(said, "chat.completion.chunk"), choices: [], usage: usageOf(said) } },
      { data: "[DONE]" },
    ];
  },
  whole: (said) => ({
    ...frame(said, "chat.completion"),
    choices: [
      {
        index: 0,
        finish_reason: FINISH[said.stop],
        message: {
          role: "assistant",
          content: said.text,
          ...(said.calls.length === 0 ? {} : { tool_calls: toolCalls(said) }),
        },
      },
    ],
    usage: usageOf(said),
  }),
  error: (status, message, code) => ({
    error: { message, type: status === 429 ? "rate_limit_error" : "invalid_request_error", code: code ?? null },
  }),
  streamError: (message) => [{ data: { error: { message, type: "server_error", code: null } } }],
};
