import type { IncomingHttpHeaders } from "node:http";
import { type JsonObject, listOf, objectOf, type Json } from "../../src/lib/json.ts";
import { digest, textOf, words } from "./bodies.ts";
import type { Chunk, Message, Protocol, Said } from "./conversation.ts";

const STOP = { end: "end_turn", calls: "tool_use", refusal: "refusal", length: "max_tokens" };

const ERRORS: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function usageOf({ usage: { input, cached, output } }: Said): JsonObject {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

function content({ text, calls }: Said): JsonObject[] {
  return [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id: `toolu_${id}`, name, input })),
  ];
}

function whole(said: Said): JsonObject {
  return {
    id: `msg_${said.id}`,
    type: "message",
    role: "assistant",
    model: said.model,
    content: content(said),
    stop_reason: STOP[said.stop],
    stop_sequence: null,
    usage: usageOf(said),
  };
}

function blockEvents(block: JsonObject, index: number, written = JSON.stringify(block.input)): Chunk[] {
  const [empty, ...deltas] =
    block.type === "text"
      ? [{ type: "text", text: "" }, ...words(textOf(block.text)).map((text) => ({ type: "text_delta", text }))]
      : [
          { ...block, input: {} },
          { type: "input_json_delta", partial_json: written },
        ];
  return [
    chunk("content_block_start", { index, content_block: empty }),
    ...deltas.map((delta) => chunk("content_block_delta", { index, delta })),
    chunk("content_block_stop", { index }),
  ];
}

function chunk(type: string, data: JsonObject): Chunk {
  return { event: type, data: { type, ...data } };
}

/** A message's blocks as neutral messages: tool results stand apart from the text around them. */
function messagesOf(message: Json): Message[] {
  const { role, content } = objectOf(message);
  // The client puts its own notes between the turns as messages of the system.
  if (role === "system") return [];
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content).map(objectOf);
  const text = blocks
    .filter(({ type }) => type === "text")
    .map(textOf)
    .join("\n");
  if (role === "assistant") {
    const calls = blocks
      .filter(({ type }) => type === "tool_use")
      .map(({ id, name, input }) => ({ id: textOf(id), name: textOf(name), input: objectOf(input) }));
    return [{ from: "model", text, calls }];
  }
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map(
      (block): Message => ({
        from: "tool",
        call_id: textOf(block.tool_use_id),
        text: textOf(block),
        failed: block.is_error === true,
      }),
    );
  // A resumed conversation has the result of the last tool and the new prompt in one message.
  return results.length > 0 && isReminder(text) ? results : [...results, { from: "user", text }];
}

/** Whether nobody wrote a text: the client adds notes of its own to the results of tools. */
function isReminder(text: string): boolean {
  return text.replaceAll(/<system-reminder>.*?<\/system-reminder>/gs, "").trim() === "";
}

/** Anthropic's Messages: `claude`, and `claude-agent-acp`. */
export const anthropic: Protocol = {
  name: "anthropic",
  path: /^\/v1\/messages$/,
  read(body: JsonObject, headers: IncomingHttpHeaders) {
    const messages = listOf(body.messages).flatMap(messagesOf);
    const tools = listOf(body.tools)
      .map(objectOf)
      .map(({ name, input_schema }) => ({ name: textOf(name), schema: objectOf(input_schema) }));
    const answer = tools.find(({ name }) => name === "StructuredOutput");
    return {
      id: String(headers["x-claude-code-session-id"] ?? digest(messages[0]?.text ?? "")),
      model: textOf(body.model),
      system: textOf({ content: body.system }),
      messages,
      tools: tools.filter(({ name }) => name !== "StructuredOutput"),
      ...(answer === undefined ? {} : { schema: answer.schema }),
    };
  },
  streams: (body) => body.stream === true,
  events(said) {
    const start = { ...whole(said), content: [], stop_reason: null, usage: { ...usageOf(said), output_tokens: 1 } };
    return [
      chunk("message_start", { message: start }),
      chunk("ping", {}),
      ...content(said).flatMap((block, index) => {
        const call = said.calls.find(({ id }) => block.id === `toolu_${id}`);
        return blockEvents(block, index, call?.written);
      }),
      chunk("message_delta", {
        delta: { stop_reason: STOP[said.stop], stop_sequence: null },
        usage: { output_tokens: said.usage.output },
      }),
      chunk("message_stop", {}),
    ];
  },
  whole,
  error: (status, message, code) => ({
    type: "error",
    error: { type: code ?? ERRORS[status] ?? "api_error", message },
    request_id: `req_${digest(message)}`,
  }),
  streamError: (message) => [chunk("error", { error: { type: "overloaded_error", message } })],
};
