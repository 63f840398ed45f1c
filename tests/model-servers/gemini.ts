import type { IncomingHttpHeaders } from "node:http";
import { type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { digest, textOf } from "./bodies.ts";
import type { Message, Protocol, Said } from "./conversation.ts";

const STATUS: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  429: "RESOURCE_EXHAUSTED",
};

function whole(said: Said): JsonObject {
  const { input, cached, output } = said.usage;
  const finish = { end: "STOP", calls: "STOP", refusal: "SAFETY", length: "MAX_TOKENS" }[said.stop];
  const parts = [
    ...(said.text === "" || said.stop === "refusal" ? [] : [{ text: said.text }]),
    ...said.calls.map(({ name, input }) => ({ functionCall: { name, args: input } })),
  ];
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: finish, index: 0 }],
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
    },
    modelVersion: said.model,
    responseId: said.id,
  };
}

function messagesOf(value: Json): Message[] {
  const { role, parts } = objectOf(value);
  const list = listOf(parts).map(objectOf);
  const text = list.map(({ text }) => textOf(text)).join("");
  if (role === "model") {
    const calls = list
      .filter(({ functionCall }) => functionCall !== undefined)
      .map(({ functionCall }) => objectOf(functionCall))
      .map(({ id, name, args }) => ({ id: textOf(id ?? name), name: textOf(name), input: objectOf(args) }));
    return [{ from: "model", text, calls }];
  }
  const results = list
    .filter(({ functionResponse }) => functionResponse !== undefined)
    .map(({ functionResponse }) => objectOf(functionResponse))
    .map(({ id, name, response }): Message => {
      const { content, output = content, error } = objectOf(response);
      return { from: "tool", call_id: textOf(id ?? name), text: textOf(error ?? output), failed: error !== undefined };
    });
  return results.length > 0 ? results : [{ from: "user", text }];
}

/** Google's generateContent: `gemini`. Its client does not name the conversation. */
export const gemini: Protocol = {
  name: "gemini",
  path: /^\/v1beta\/models\/[^/]+:(?:streamGenerateContent|generateContent)$/,
  read(body: JsonObject, _headers: IncomingHttpHeaders, path: string) {
    const messages = listOf(body.contents).flatMap(messagesOf);
    const { responseJsonSchema, responseSchema } = objectOf(body.generationConfig);
    const schema = responseJsonSchema ?? responseSchema;
    const tools = listOf(body.tools)
      .flatMap((tool) => listOf(objectOf(tool).functionDeclarations))
      .map(objectOf)
      .map(({ name, parametersJsonSchema, parameters }) => ({
        name: textOf(name),
        schema: objectOf(parametersJsonSchema ?? parameters),
      }));
    return {
      id: digest(messages[0]?.text ?? ""),
      model: /models\/([^:]+):/.exec(path)?.[1] ?? "",
      system: textOf({ content: objectOf(body.systemInstruction).parts }),
      messages,
      tools,
      ...(schema === undefined ? {} : { schema: objectOf(schema) }),
    };
  },
  streams: (_body, path) => path.endsWith(":streamGenerateContent"),
  events: (said) => [{ data: whole(said) }],
  whole,
  error: (status, message) => ({ error: { code: status, message, status: STATUS[status] ?? "INTERNAL" } }),
  streamError: (message) => [{ data: { error: { code: 500, message, status: "INTERNAL" } } }],
};
