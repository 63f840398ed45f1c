import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../src/harness/messages.ts";
import {
  type ChatChunk,
  type ChatRequest,
  type ChatResponse,
  type ProviderAdapter,
  ProviderError,
  streamOf,
} from "../../src/harness/provider.ts";

/** What the provider behind an adapter does with every request. */
export type Scenario =
  /** Says the text, then calls the tools with these arguments as written. Uses 12 tokens of input and 5 of output. */
  | {
      readonly does: "answer";
      readonly text: string;
      readonly calls: readonly { readonly name: string; readonly arguments: string }[];
      readonly end: "stop" | "length" | "refusal";
    }
  /** Answers an HTTP status; 429 with `retry-after: 7`. */
  | { readonly does: "fail"; readonly status: 401 | 404 | 429 | 500 }
  /** Takes the request and answers nothing. Calls `taken` when the request is there. */
  | { readonly does: "hang"; taken(): void };

/** Every kind of message that a runner may send. */
const HISTORY: readonly ChatMessage[] = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "你好 🙂" },
      { type: "image", mediaType: "image/png", data: "AA==" },
    ],
  },
  {
    role: "assistant",
    content: "Looking.",
    toolCalls: [
      { id: "call_1", name: "look", arguments: { at: "x" } },
      { id: "call_2", name: "look", arguments: {} },
    ],
  },
  {
    role: "tool",
    content: [
      { toolCallId: "call_1", name: "look", value: { seen: ["a", 1, null] } },
      { toolCallId: "call_2", name: "look", value: "nothing there", isError: true },
    ],
  },
  { role: "assistant", content: "I saw it." },
  { role: "user", content: "And now?" },
];

const REQUEST: ChatRequest = {
  model: "model-1",
  config: { temperature: 0, maxOutputTokens: 100 },
  messages: HISTORY,
  tools: [
    { name: "look", description: "Looks.", parameters: { type: "object", properties: { at: { type: "string" } } } },
  ],
};

const SAYS = "One 二 🙂\n  three.";

/** Both ways to ask. They must not differ. */
const WAYS: readonly (readonly [string, (adapter: ProviderAdapter, request: ChatRequest) => Promise<ChatResponse>])[] =
  [
    ["sendChat", (adapter, request) => adapter.sendChat(request)],
    ["streamChat", async (adapter, request) => finishOf(await chunksFrom(adapter, request))],
  ];

/**
 * What every adapter keeps. `adapterFor` gives one whose provider does what the scenario says. Where arguments are objects in the protocol itself, a
 * model cannot leave them half written.
 */
export function adapterContract(
  name: string,
  adapterFor: (scenario: Scenario) => ProviderAdapter | Promise<ProviderAdapter>,
  { writesArguments = true }: { readonly writesArguments?: boolean } = {},
): void {
  const answering = (text: string, ...calls: { readonly name: string; readonly arguments: string }[]) =>
    adapterFor({ does: "answer", text, calls, end: "stop" });

  describe(`the adapter ${name}`, () => {
    it.each(WAYS)("answers a whole history with text, reason and usage (%s)", async (_, ask) => {
      const response = await ask(await answering(SAYS), REQUEST);
      expect(response.message).toEqual({ role: "assistant", content: SAYS });
      expect(response).toMatchObject({ finishReason: "stop", usage: { inputTokens: 12, outputTokens: 5 } });
      expect(JSON.parse(JSON.stringify(response))).toEqual(response);
    });

    it.each(WAYS)(
      "gives parallel calls in order, each with an id and its arguments as an object (%s)",
      async (_, ask) => {
        const written = ['{"at":"x"}', "", '{"at":'].map((given) => ({ name: "look", arguments: given }));
        const { message, finishReason } = await ask(await answering("Let me look.", ...written), REQUEST);
        expect(message.content).toBe("Let me look.");
        expect(message.toolCalls).toMatchObject([
          { arguments: { at: "x" } },
          { arguments: {} },
          { arguments: {}, ...(writesArguments && { malformed: '{"at":' }) },
        ]);
        expect(message.toolCalls?.map((call) => call.name)).toEqual(["look", "look", "look"]);
        expect(new Set(message.toolCalls?.map(({ id }) => id)).size).toBe(3);
        expect(finishReason).toBe("toolCalls");
      },
    );

    it.each(WAYS)("says when an answer was cut at the limit or refused (%s)", async (_, ask) => {
      for (const end of ["length", "refusal"] as const)
        expect(await ask(await adapterFor({ does: "answer", text: "So", calls: [], end }), REQUEST)).toMatchObject({
          message: { content: "So" },
          finishReason: end,
        });
    });

    it.each(WAYS)("takes choices of tools and response formats (%s)", async (_, ask) => {
      const adapter = await answering("{}");
      const schema = { type: "object", properties: {}, required: [], additionalProperties: false };
      const responseFormat = { type: "json", schema, name: "answer" } as const;
      const { tools: _tools, ...plain } = REQUEST;
      for (const more of [
        { toolChoice: "required" },
        { toolChoice: { tool: "look" } },
        { toolChoice: "none", responseFormat },
      ] as const)
        expect(await ask(adapter, { ...REQUEST, ...more })).toMatchObject({ message: { content: "{}" } });
      expect(await ask(adapter, { ...plain, responseFormat })).toMatchObject({ message: { content: "{}" } });
    });

    it("streams the same text in pieces, and ends with one finish", async () => {
      const chunks = await chunksFrom(await answering(SAYS, { name: "look", arguments: "{}" }), REQUEST);
      expect(chunks.map((chunk) => (chunk.type === "text" ? chunk.text : "")).join("")).toBe(SAYS);
      expect(chunks.filter(({ type }) => type === "toolCall")).toHaveLength(1);
      expect(chunks.findIndex(({ type }) => type === "finish")).toBe(chunks.length - 1);
    });

    it.each(WAYS)("leaves the request as it is (%s)", async (_, ask) => {
      const request = structuredClone(REQUEST);
      await ask(await answering("Fine."), request);
      expect(request).toEqual(REQUEST);
    });

    it.each(
      WAYS.flatMap(([way, ask]) =>
        (
          [
            [401, "authentication"],
            [404, "model"],
            [429, "rateLimited"],
            [500, "server"],
          ] as const
        ).map(([status, kind]) => [status, kind, way, ask] as const),
      ),
    )("fails for status %i as %s (%s)", async (status, kind, _, ask) => {
      const failing = await adapterFor({ does: "fail", status });
      const error: unknown = await ask(failing, REQUEST).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ kind, details: { status, ...(status === 429 ? { retryAfterMs: 7_000 } : {}) } });
      expect(String(error)).not.toContain("And now?");
    });

    it.each(WAYS)(
      "ends with the signal's reason when it is aborted, before and while it waits (%s)",
      async (_, ask) => {
        const before = AbortSignal.abort(new Error("enough"));
        await expect(ask(await answering("Fine."), { ...REQUEST, signal: before })).rejects.toThrow("enough");
        const stop = new AbortController();
        const reason = new Error("no more");
        const adapter = await adapterFor({ does: "hang", taken: () => stop.abort(reason) });
        await expect(ask(adapter, { ...REQUEST, signal: stop.signal })).rejects.toBe(reason);
      },
    );
  });
}

async function chunksFrom(adapter: ProviderAdapter, request: ChatRequest): Promise<ChatChunk[]> {
  const chunks: ChatChunk[] = [];
  for await (const chunk of streamOf(adapter, request)) chunks.push(chunk);
  return chunks;
}

function finishOf(chunks: readonly ChatChunk[]): ChatResponse {
  const last = chunks.at(-1);
  if (last?.type !== "finish") throw new Error("The last chunk is no finish.");
  return last.response;
}
