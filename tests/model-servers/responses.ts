import type { IncomingHttpHeaders } from "node:http";
import { type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { digest, parsedObject, textOf, words } from "./bodies.ts";
import type { Chunk, Message, Protocol, Said, Tool } from "./conversation.ts";

function usageOf({ usage: { input, cached, output }, reasoning }: Said): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: Math.min(output, Math.ceil(reasoning.length / 4)) },
    total_tokens: input + output,
  };
}

function items({ id, text, reasoning, calls, stop }: Said): JsonObject[] {
  const part = stop === "refusal" ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
  const message = { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content: [part] };
  return [
    ...(reasoning === ""
      ? []
      : [{ type: "reasoning", id: `rs_${id}`, summary: [{ type: "summary_text", text: reasoning }] }]),
    ...(text === "" ? [] : [message]),
    ...calls.map(({ id, name, namespace, input, written = JSON.stringify(input) }) => ({
      type: "function_call",
      id: `fc_${id}`,
      call_id: `call_${id}`,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      arguments: written,
      status: "completed",
    })),
  ];
}

function response(said: Said, status: string): JsonObject {
  return { id: `resp_${said.id}`, object: "response", created_at: 1_795_294_863, model: said.model, status };
}

function whole(said: Said): JsonObject {
  const cut = said.stop === "length";
  return {
    ...response(said, cut ? "incomplete" : "completed"),
    output: items(said),
    ...(cut ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
    usage: usageOf(said),
  };
}

function numbered(events: readonly JsonObject[]): Chunk[] {
  return events.map((event, sequence_number) => ({
    event: textOf(event.type),
    data: { ...event, sequence_number },
  }));
}

function itemEvents(item: JsonObject, output_index: number): JsonObject[] {
  const [part] = listOf(item.content).map(objectOf);
  const isRefusal = part?.type === "refusal";
  const begun = item.type === "message" ? { content: [] } : item.type === "function_call" ? { arguments: "" } : {};
  const deltas = item.type === "message" ? words(textOf(isRefusal ? part.refusal : item)) : [];
  return [
    { type: "response.output_item.added", output_index, item: { ...item, ...begun, status: "in_progress" } },
    ...deltas.map((delta) => ({
      type: isRefusal ? "response.refusal.delta" : "response.output_text.delta",
      item_id: item.id,
      output_index,
      content_index: 0,
      delta,
    })),
    { type: "response.output_item.done", output_index, item },
  ];
}

function messageOf(value: Json): Message[] {
  const item = objectOf(value);
  if (item.type === "function_call") {
    const call = { id: textOf(item.call_id), name: textOf(item.name), input: parsedObject(item.arguments) };
    return [{ from: "model", text: "", calls: [call] }];
  }
  if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
    const text = textOf(item.output);
    const failed = /exited with code [1-9]/.test(text);
    return [{ from: "tool", call_id: textOf(item.call_id), text, failed }];
  }
  if (item.type !== "message") return [];
  if (item.role === "assistant") return [{ from: "model", text: textOf(item), calls: [] }];
  return item.role === "user" ? [{ from: "user", text: textOf(item) }] : [];
}

/** Functions by name; those of a namespace stand inside it. */
function toolsOf(value: Json): Tool[] {
  const { name, parameters, type, tools } = objectOf(value);
  if (type === "namespace") return listOf(tools).flatMap(toolsOf);
  return name === undefined ? [] : [{ name: textOf(name), schema: objectOf(parameters) }];
}

/** OpenAI's Responses: `codex`. */
export const responses: Protocol = {
  name: "responses",
  path: /^(?:\/v1)?\/responses$/,
  read(body: JsonObject, headers: IncomingHttpHeaders) {
    const input = listOf(body.input);
    const messages = input.flatMap(messageOf);
    const developer = input.map(objectOf).filter(({ role }) => role === "developer" || role === "system");
    const { schema } = objectOf(objectOf(body.text).format);
    return {
      id: String(headers["thread-id"] ?? headers["session-id"] ?? digest(messages[0]?.text ?? "")),
      model: textOf(body.model),
      system: [textOf(body.instructions), ...developer.map(textOf)].join("\n"),
      messages,
      tools: listOf(body.tools).flatMap(toolsOf),
      ...(schema === undefined ? {} : { schema: objectOf(schema) }),
    };
  },
  streams: (body) => body.stream === true,
  events(said) {
    const end = said.stop === "length" ? "response.incomplete" : "response.completed";
    return numbered([
      { type: "response.created", response: { ...response(said, "in_progress"), output: [] } },
      ...items(said).flatMap(itemEvents),
      { type: end, response: whole(said) },
    ]);
  },
  whole,
  error: (status, message, code) => ({
    error: { message, type: status === 429 ? "rate_limit_error" : "invalid_request_error", code: code ?? null },
  }),
  streamError: (message) =>
    numbered([{ type: "response.failed", response: { status: "failed", error: { code: "server_error", message } } }]),
};
