import { describe, expect, it, vi } from "vitest";
import { type ChatChunk, type ChatResponse, streamOf } from "../../../src/harness/provider.ts";
import type { ProviderName } from "../../../src/harness/providers.ts";
import type { Said } from "../../model-servers/conversation.ts";
import { textOfValue } from "../../../src/harness/messages.ts";
import { functionTools } from "../../../src/harness/tools.ts";
import { ConversationTranscript } from "../../../src/harness/transcript.ts";
import { TurnRunner } from "../../../src/harness/turn-runner.ts";
import { ALL, eventsFor, KEY, type Reply, type Wire, wire } from "./wire.ts";

const HI = { model: "model-1", messages: [{ role: "user", content: "Hi" }] } as const;

async function answerTo(provider: ProviderName, reply: Reply): Promise<ChatResponse> {
  return (await (await wire(provider, reply)).adapter()).sendChat(HI);
}

function events(...all: readonly object[]): Reply {
  return { type: "text/event-stream", body: all.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("") };
}

const call = (id: string, name: string, input = {}) => ({ id, name, input });

const tools = functionTools({
  look: { description: "Looks.", parameters: { type: "object" }, run: ({ at }) => `seen ${textOfValue(at ?? "")}` },
  burn: {
    description: "Burns.",
    run: () => {
      throw new Error("It is wet.");
    },
  },
});

async function runner(server: Wire) {
  const adapter = await server.adapter();
  return new TurnRunner({ name: "ann", adapter, model: "model-1", modelConfig: { maxOutputTokens: 70 } });
}

describe.each(ALL)("a turn with %s", (provider) => {
  it("carries out parallel calls, and tells failed and unknown ones back", async () => {
    const calls = [call("a", "look", { at: "x" }), call("b", "burn"), call("c", "lok")];
    const server = await wire(provider, { said: { text: "Let me see.", calls } }, { said: { text: "Wet." } });
    const { message, turn, usage, steps } = await (await runner(server)).runTurn([], "Burn it", { tools });
    expect([message.content, steps, usage.outputTokens]).toEqual(["Wet.", 2, 10]);
    expect(turn.steps?.[1]?.content).toMatchObject([
      { name: "look", value: "seen x" },
      { name: "burn", value: "It is wet.", isError: true },
      { name: "lok", value: expect.stringContaining("Did you mean look?"), isError: true },
    ]);
    const second = JSON.stringify(server.asked[1]?.body);
    for (const told of ["Let me see.", "seen x", "It is wet.", "Did you mean look?"]) expect(second).toContain(told);
  });

  it("gives every piece of a stream as it comes, and the same answer", async () => {
    const text = "Lorem ipsum dolor. ".repeat(20);
    const server = await wire(provider, { said: { text } });
    const chunks: ChatChunk[] = [];
    for await (const chunk of streamOf(await server.adapter(), HI)) chunks.push(chunk);
    const pieces = chunks.flatMap((chunk) => (chunk.type === "text" ? [chunk.text] : []));
    expect(pieces.join("")).toBe(text);
    // The server of Gemini sends texts whole.
    expect(pieces.length).toBeGreaterThan(provider === "gemini" ? 0 : 3);
    expect(chunks.at(-1)).toMatchObject({ type: "finish", response: { message: { content: text } } });
  });

  it("closes the connection when it is aborted", async () => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    const hang = (socket: Promise<void>) => {
      stop.abort(new Error("enough"));
      void socket.then(closed.resolve);
    };
    const turn = (await runner(await wire(provider, { hang }))).runTurn([], "Hi", { signal: stop.signal });
    await expect(turn).rejects.toThrow("enough");
    await closed.promise;
  });

  it("carries out no call and takes no JSON of an answer that was cut at its limit", async () => {
    const half = { ...call("a", "look"), written: '{"at":' };
    const called = await wire(provider, { said: { text: "Look.", calls: [half], stop: "length" } });
    const cut = { kind: "length", message: expect.stringContaining("70 output tokens") as string };
    await expect((await runner(called)).runTurn([], "Hi", { tools })).rejects.toMatchObject(cut);
    const json = await wire(provider, { said: { text: '{"a":1}', stop: "length" } });
    const responseFormat = { type: "json" } as const;
    await expect((await runner(json)).runTurn([], "Hi", { responseFormat })).rejects.toMatchObject(cut);
  });

  it("fails for an empty answer, and for a refusal without words", async () => {
    for (const [stop, kind] of [
      ["end", "empty"],
      ["refusal", "refusal"],
    ] as const) {
      const server = await wire(provider, { said: { text: "", stop } });
      // OpenAI's Responses say a refusal only by its words.
      const expected = stop === "refusal" && (provider === "openai" || provider === "xai") ? "empty" : kind;
      await expect((await runner(server)).runTurn([], "Hi")).rejects.toMatchObject({ kind: expected });
    }
  });

  it("goes by the calls, also if the reason to end is another", async () => {
    const { message, finishReason } = await answerTo(provider, { said: { calls: [call("a", "look")], stop: "end" } });
    expect([message.toolCalls?.length, finishReason]).toEqual([1, "toolCalls"]);
  });

  it("does not know the usage if the server tells none, or only zeros", async () => {
    const usage = { input: 0, cached: 0, output: 0 };
    const { message, usage: told } = await answerTo(provider, { said: { text: "Hello", usage } });
    expect([message.content, told]).toEqual(["Hello", undefined]);
  });

  it("knows what came from a cache, which is part of the input", async () => {
    const usage = { input: 100, cached: 80, output: 5 };
    const { usage: told } = await answerTo(provider, { said: { text: "Hello", usage } });
    expect(told).toMatchObject({ inputTokens: 100, cacheReadTokens: 80, outputTokens: 5 });
  });

  it("keeps the thoughts that a model writes before its text apart", async () => {
    const text = "\n<think>Is it red? </b> is it?</think>\n\nIt is red.";
    const server = await wire(provider, { said: { text } });
    let streamed = "";
    for await (const chunk of streamOf(await server.adapter(), HI)) if (chunk.type === "text") streamed += chunk.text;
    expect(streamed).toBe("It is red.");
    expect((await answerTo(provider, { said: { text } })).message.content).toBe("It is red.");
    expect((await answerTo(provider, { said: { text: "<think>Is it" } })).message.content).toBe("");
  });

  it("reads no key from the environment", async () => {
    for (const name of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "XAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])
      vi.stubEnv(name, "from-the-environment");
    const server = await wire(provider, { said: { text: "Hello" } });
    await (await server.adapter({ apiKey: "" })).sendChat(HI);
    vi.unstubAllEnvs();
    expect(JSON.stringify(server.asked)).not.toMatch(new RegExp(`from-the-environment|${KEY}`));
  });
});

// OpenAI's own API sends none.
it.each(["anthropic", "xai", "gemini", "openai-compatible"] as const)(
  "an empty event of %s says nothing",
  async (provider) => {
    const [first = "", ...others] = eventsFor(provider, { text: "Hello" });
    const body = [first, "data: {}\n\n", ...others].join("");
    const { message } = await answerTo(provider, { type: "text/event-stream", body });
    expect(message.content).toBe("Hello");
  },
);

describe("a transcript", () => {
  const CALLS: Partial<Said> = {
    text: "Looking.",
    calls: [call("same", "look", { at: 1 }), call("same", "look", { at: 2 })],
  };

  it.each(ALL.map((from, index) => [from, ALL[(index + 1) % ALL.length] as ProviderName] as const))(
    "of %s goes on with %s, with its calls, and with results and calls that lack the other half",
    async (from, to) => {
      const first = await runner(await wire(from, { said: CALLS }, { said: { text: "Seen." } }));
      const transcript = new ConversationTranscript();
      transcript.append((await first.runTurn([], "Look", { tools })).turn);
      const orphan = { role: "tool", content: [{ toolCallId: "lost", name: "look", value: "an orphan" }] } as const;
      const broken = { role: "assistant", content: "", toolCalls: [{ ...call("x", "look"), arguments: {} }] } as const;
      const history = [...transcript.messagesFor("ann"), orphan, broken];
      const server = await wire(to, { said: { text: "Yes." } });
      const { message } = await (await runner(server)).runTurn(history, "And?");
      expect(message.content).toBe("Yes.");
      const body = JSON.stringify(server.asked[0]?.body);
      for (const told of ["seen 1", "seen 2", "Seen.", "Result of the tool look: an orphan", "not carried out"])
        expect(body).toContain(told);
      expect(body).not.toContain("same");
    },
  );
});

const THOUGHTS: readonly (readonly [ProviderName, Reply, string])[] = [
  [
    "anthropic",
    events(
      {
        type: "message_start",
        message: { id: "m", model: "model-1", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Red?" } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "signed" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Red." } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ),
    '{"type":"thinking","thinking":"Red?","signature":"signed"}',
  ],
  [
    "gemini",
    events({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "Red?", thought: true },
              { functionCall: { name: "look", args: {} }, thoughtSignature: "signed" },
            ],
          },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
    }),
    '"functionCall":{"id":"call_1","name":"look","args":{}},"thoughtSignature":"signed"',
  ],
  [
    "openai-compatible",
    events(
      { id: "1", created: 1, model: "model-1", choices: [{ index: 0, delta: { reasoning_content: "Red?" } }] },
      {
        id: "1",
        created: 1,
        model: "model-1",
        choices: [{ index: 0, delta: { content: "Red." }, finish_reason: "stop" }],
      },
    ),
    '"reasoning_content":"Red?"',
  ],
];

it.each(THOUGHTS)(
  "a thought of %s is told, and goes back only to the model that thought it",
  async (provider, reply, back) => {
    const server = await wire(provider, reply, { said: { text: "Yes." } });
    const adapter = await server.adapter();
    const { message } = await adapter.sendChat(HI);
    expect(message.reasoning?.[0]).toMatchObject({ by: `${provider}/model-1`, text: "Red?" });
    const toolCalls = message.toolCalls?.map((one, index) => ({ ...one, id: `call_${index + 1}` }));
    const results = toolCalls?.map(({ id, name }) => ({ toolCallId: id, name, value: "x" })) ?? [];
    const answer = results.length > 0 ? ({ role: "tool", content: results } as const) : HI.messages[0];
    const messages = [...HI.messages, { ...message, ...(toolCalls && { toolCalls }) }, answer];
    for (const model of ["model-1", "model-2"]) await adapter.sendChat({ model, messages });
    const [, own = {}, other = {}] = server.asked.map(({ body }) => body);
    expect(JSON.stringify(own)).toContain(back);
    expect(JSON.stringify(other)).not.toMatch(/Red\?|signed/);
  },
);

it("a prompt that Gemini blocks is a refusal", async () => {
  const { finishReason, metadata } = await answerTo("gemini", events({ promptFeedback: { blockReason: "SAFETY" } }));
  expect([finishReason, metadata?.finish]).toEqual(["refusal", "SAFETY"]);
});

it("what a provider does otherwise than asked is told as a warning", async () => {
  const server = await wire("anthropic", { said: { text: "Yes." } });
  const { warnings } = await (await server.adapter()).sendChat({ ...HI, config: { seed: 7 } });
  expect(warnings).toEqual([expect.stringContaining("seed")]);
});

it("an answer of xAI that is incomplete without a reason was cut at its limit", async () => {
  const whole = eventsFor("xai", { text: "So" }).join("");
  const body = whole
    .replaceAll("response.completed", "response.incomplete")
    .replace('"completed","output"', '"incomplete","output"');
  const { finishReason } = await answerTo("xai", { type: "text/event-stream", body });
  expect(finishReason).toBe("length");
});
