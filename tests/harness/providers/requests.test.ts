import { describe, expect, it } from "vitest";
import type { ChatRequest } from "../../../src/harness/provider.ts";
import type { ModelAddress, ProviderName } from "../../../src/harness/providers.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { ALL, KEY, wire } from "./wire.ts";

const SCHEMA = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
const OPEN_SCHEMA = { type: "object", properties: { a: { type: "string" } } };
const LOOK = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: { at: { type: "string" } } },
};

/** What is sent for a request. */
async function sent(provider: ProviderName, more: Partial<ChatRequest>, address: Partial<ModelAddress> = {}) {
  const server = await wire(provider, { said: { text: "{}" } });
  const messages = [{ role: "user", content: "Hi" }] as const;
  const adapter = await server.adapter(address);
  const response = await adapter.sendChat({ model: "model-1", messages, ...more });
  const [asked] = server.asked;
  if (!asked) throw new Error("nothing was asked");
  return { ...asked, response };
}

const by = <T>(of: Readonly<Record<ProviderName, T>>) => Object.entries(of) as [ProviderName, T][];

it.each(
  by({
    anthropic: ["/v1/messages", "x-api-key", KEY],
    openai: ["/v1/responses", "authorization", `Bearer ${KEY}`],
    xai: ["/v1/responses", "authorization", `Bearer ${KEY}`],
    gemini: ["/v1beta/models/model-1:streamGenerateContent?alt=sse", "x-goog-api-key", KEY],
    "openai-compatible": ["/v1/chat/completions", "authorization", `Bearer ${KEY}`],
  }),
)("%s is asked at its endpoint, with the key in its header", async (provider, [path, header, value]) => {
  const { path: asked, headers } = await sent(provider, {});
  expect([asked, headers[header as string]]).toEqual([path, value]);
});

it("an openai-compatible server gets no key if there is none", async () => {
  const { headers } = await sent("openai-compatible", {}, { apiKey: "" });
  expect(headers.authorization).toBeUndefined();
});

it.each(
  by({
    anthropic: { max_tokens: 70, temperature: 0.5, stop_sequences: ["END"] },
    openai: { max_output_tokens: 70, temperature: 0.5, store: false },
    xai: { max_output_tokens: 70, temperature: 0.5, store: false },
    gemini: { generationConfig: { maxOutputTokens: 70, temperature: 0.5, stopSequences: ["END"] } },
    "openai-compatible": { max_tokens: 70, temperature: 0.5, stop: ["END"], stream_options: { include_usage: true } },
  }),
)("%s gets the configuration in its own words, and keeps nothing", async (provider, expected: JsonObject) => {
  const config = { maxOutputTokens: 70, temperature: 0.5, stopSequences: ["END"] };
  expect((await sent(provider, { config })).body).toMatchObject(expected);
});

it("Anthropic always gets a limit of output tokens", async () => {
  expect((await sent("anthropic", {})).body.max_tokens).toBe(32_000);
});

it("options of a provider are passed on, also over ours", async () => {
  const config = { providerOptions: { store: true } };
  expect((await sent("openai", { config })).body.store).toBe(true);
  expect((await sent("openai-compatible", { config: { providerOptions: { top_k: 3 } } })).body.top_k).toBe(3);
});

describe.each(
  by({
    anthropic: { auto: { type: "auto" }, required: { type: "any" }, tool: { type: "tool", name: "look" } },
    openai: { auto: "auto", required: "required", tool: { type: "function", name: "look" } },
    xai: { auto: "auto", required: "required", tool: { type: "function", name: "look" } },
    gemini: {
      auto: { functionCallingConfig: { mode: "AUTO" } },
      required: { functionCallingConfig: { mode: "ANY" } },
      tool: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look"] } },
    },
    "openai-compatible": { auto: "auto", required: "required", tool: { type: "function", function: { name: "look" } } },
  }),
)("%s", (provider, choices) => {
  it("gets tools with their schemas and the choice", async () => {
    for (const toolChoice of ["auto", "required", { tool: "look" }] as const) {
      const { body } = await sent(provider, { tools: [LOOK], toolChoice });
      expect(JSON.stringify(body.tools)).toContain('"at":{"type":"string"}');
      const choice = choices[typeof toolChoice === "string" ? toolChoice : "tool"];
      expect(body.tool_choice ?? body.toolConfig).toEqual(choice);
    }
  });

  it("gets no schema while tools may be called", async () => {
    const responseFormat = { type: "json", schema: SCHEMA } as const;
    const { body } = await sent(provider, { tools: [LOOK], responseFormat });
    expect(JSON.stringify(body)).not.toContain("additionalProperties");
    expect(JSON.stringify(body.tools)).toContain("look");
  });

  it("gets the schema in the end, without tools that it could take for the answer", async () => {
    const responseFormat = { type: "json", schema: SCHEMA } as const;
    const { body } = await sent(provider, { tools: [LOOK], toolChoice: "none", responseFormat });
    expect(JSON.stringify(body)).toContain("additionalProperties");
    // Anthropic refuses earlier calls whose tools it is not told.
    expect(body.tools === undefined).toBe(provider !== "anthropic");
  });
});

const TOLD = `Hi\n\nAnswer with one JSON value of this JSON Schema, and with nothing else:\n${JSON.stringify(SCHEMA)}`;

it.each(
  by({
    anthropic: { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
    openai: { text: { format: { type: "json_schema", strict: true, name: "answer", schema: SCHEMA } } },
    xai: { text: { format: { type: "json_schema", strict: true, name: "answer", schema: SCHEMA } } },
    gemini: { generationConfig: { responseMimeType: "application/json", responseJsonSchema: { type: "object" } } },
    "openai-compatible": {
      response_format: { type: "json_object" },
      messages: [{ role: "user", content: TOLD }],
    },
  }),
)("%s is told the schema of an answer in its own way", async (provider, expected: JsonObject) => {
  const { body, response } = await sent(provider, { responseFormat: { type: "json", schema: SCHEMA } });
  expect(body).toMatchObject(expected);
  // Only openai-compatible needs the prompt for it.
  expect(JSON.stringify(body).includes("Answer with one JSON value")).toBe(provider === "openai-compatible");
  expect(JSON.stringify(response.warnings ?? [])).not.toContain("schema");
});

it("an openai-compatible server that holds schemas gets it there too", async () => {
  const responseFormat = { type: "json", schema: SCHEMA, name: "vote" } as const;
  const { body } = await sent("openai-compatible", { responseFormat }, { structuredOutput: "schema" });
  expect(body).toMatchObject({
    response_format: { type: "json_schema", json_schema: { name: "vote", strict: true, schema: SCHEMA } },
    messages: [{ content: TOLD }],
  });
});

it.each(ALL)("%s is told the schema only in the prompt if it holds none", async (provider) => {
  const responseFormat = { type: "json", schema: SCHEMA } as const;
  const { body } = await sent(provider, { responseFormat }, { structuredOutput: "none" });
  const { response_format, output_config, text, generationConfig } = body as Readonly<Record<string, JsonObject>>;
  expect([response_format, output_config, text?.format, generationConfig?.responseMimeType]).toEqual(
    Array(4).fill(undefined),
  );
  expect(JSON.stringify(body)).toContain("Answer with one JSON value");
});

it.each(["openai", "openai-compatible"] as const)(
  "%s is not asked to hold a schema strictly that it would refuse",
  async (provider) => {
    const responseFormat = { type: "json", schema: OPEN_SCHEMA } as const;
    const { body } = await sent(provider, { responseFormat }, { structuredOutput: "schema" });
    expect(JSON.stringify(body)).toContain('"strict":false');
  },
);

describe("a history", () => {
  const HISTORY = [
    { role: "user", content: "Look" },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "call_1", name: "look", arguments: {} }],
      reasoning: [{ by: "elsewhere/model-1", text: "foreign thought" }],
    },
    { role: "tool", content: [{ toolCallId: "call_1", name: "look", value: "no light", isError: true }] },
  ] as const;

  it.each(
    by({
      anthropic: '"is_error":true',
      openai: "no light",
      xai: "Error: no light",
      gemini: '"error":"no light"',
      "openai-compatible": "Error: no light",
    }),
  )("tells %s which call failed, and no thought of another model", async (provider, told) => {
    const text = JSON.stringify((await sent(provider, { messages: HISTORY })).body);
    expect(text).toContain(told);
    expect(text).not.toContain("foreign thought");
  });

  const AUDIO = [{ role: "user", content: [{ type: "file", mediaType: "audio/flac", data: "AA==" }] }] as const;

  it.each(["anthropic", "openai", "xai", "openai-compatible"] as const)(
    "with a file that %s does not take is refused before anything is sent",
    async (provider) => {
      const words = expect.stringMatching(/audio|media|file/) as string;
      await expect(sent(provider, { messages: AUDIO })).rejects.toMatchObject({ kind: "request", message: words });
    },
  );

  it("with a file that Gemini takes is sent", async () => {
    expect(JSON.stringify((await sent("gemini", { messages: AUDIO })).body)).toContain("audio/flac");
  });
});
