import { describe, expect, it } from "vitest";
import { cachedAdapter } from "../../src/harness/adapters/cached.ts";
import { type Exchange, playingAdapter, recordingAdapter } from "../../src/harness/adapters/recording.ts";
import { scriptedAdapter } from "../../src/harness/adapters/scripted.ts";
import { toolCall } from "../../src/harness/messages.ts";
import {
  type ChatRequest,
  type ProviderAdapter,
  ProviderError,
  responseOf,
  streamOf,
} from "../../src/harness/provider.ts";
import { adapterContract, type Scenario } from "./adapter-contract.ts";

const KINDS = { 401: "authentication", 404: "model", 429: "rateLimited", 500: "server" } as const;

function scriptedFor(scenario: Scenario): ProviderAdapter {
  return scriptedAdapter(() => {
    switch (scenario.does) {
      case "answer": {
        const { text: content, calls, end } = scenario;
        const toolCalls = calls.map((call, index) => toolCall(`id-${index}`, call.name, call.arguments));
        const usage = { inputTokens: 12, outputTokens: 5 };
        return calls.length > 0 ? { content, toolCalls, usage } : { content, usage, finishReason: end };
      }
      case "fail": {
        const { status } = scenario;
        return new ProviderError(KINDS[status], "No.", { status, ...(status === 429 ? { retryAfterMs: 7_000 } : {}) });
      }
      case "hang":
        return () => {
          scenario.taken();
          return new Promise<string>(() => {});
        };
    }
  });
}

/** Plays what it records the moment it is recorded. */
function replayedFor(scenario: Scenario): ProviderAdapter {
  const inner = scriptedFor(scenario);
  const replayed = async (request: ChatRequest) => {
    const exchanges: Exchange[] = [];
    await recordingAdapter(inner, (exchange) => exchanges.push(exchange))
      .sendChat(request)
      .catch(() => {});
    return playingAdapter(inner.id, JSON.parse(JSON.stringify(exchanges)) as Exchange[]);
  };
  return {
    id: inner.id,
    sendChat: async (request) => (await replayed(request)).sendChat(request),
    async *streamChat(request) {
      yield* streamOf(await replayed(request), request);
    },
  };
}

adapterContract("scripted", scriptedFor);
adapterContract("recording", (scenario) => recordingAdapter(scriptedFor(scenario), () => {}));
adapterContract("playing", replayedFor);
adapterContract("cached", (scenario) => cachedAdapter(scriptedFor(scenario)));

const ask = (text: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: "m",
  messages: [{ role: "user", content: text }],
  ...more,
});
const said = async (adapter: ProviderAdapter, text: string) => (await adapter.sendChat(ask(text))).message.content;

describe("scripted", () => {
  it("gives its answers in order, by function too, and says when there is none left", async () => {
    const adapter = scriptedAdapter(["one", ({ messages }) => `two of ${messages.length}`]);
    expect([await said(adapter, "a"), await said(adapter, "b")]).toEqual(["one", "two of 1"]);
    await expect(said(adapter, "c")).rejects.toThrow("Request 3 has no answer in the script.");
    expect(adapter.requests.map(({ messages }) => messages[0]?.content)).toEqual(["a", "b", "c"]);
  });
});

it("a stream of an adapter that cannot stream ends with an abort between its pieces", async () => {
  const stop = new AbortController();
  const stream = streamOf(scriptedAdapter(["one two"]), ask("a", { signal: stop.signal }));
  expect(await stream.next()).toMatchObject({ value: { type: "text", text: "one" } });
  stop.abort(new Error("enough"));
  await expect(stream.next()).rejects.toThrow("enough");
});

describe("recording", () => {
  it("is played in the recorded order of equal requests, and refuses all others", async () => {
    const exchanges: Exchange[] = [];
    const recording = recordingAdapter(scriptedAdapter(["one", "two", "other"]), (exchange) =>
      exchanges.push(exchange),
    );
    for (const text of ["a", "a", "b"]) await said(recording, text);
    const playing = playingAdapter("scripted", JSON.parse(JSON.stringify(exchanges)) as Exchange[]);
    expect([await said(playing, "b"), await said(playing, "a"), await said(playing, "a")]).toEqual([
      "other",
      "one",
      "two",
    ]);
    await expect(said(playing, "a")).rejects.toThrow("not this often");
    await expect(said(playing, "new")).rejects.toThrow('{"role":"user","content":"new"}');
    await expect(said(playingAdapter("openai", exchanges), "b")).rejects.toThrow("was not recorded");
  });

  it("of a stream is the same exchange", async () => {
    const exchanges: Exchange[] = [];
    const recording = recordingAdapter(scriptedAdapter(["a b", "a b"]), (exchange) => exchanges.push(exchange));
    await responseOf(streamOf(recording, ask("x")));
    await recording.sendChat(ask("x"));
    expect(exchanges[0]).toEqual(exchanges[1]);
    expect(exchanges).toHaveLength(2);
  });

  it("leaves out what was aborted", async () => {
    const exchanges: Exchange[] = [];
    const recording = recordingAdapter(scriptedAdapter(["a"]), (exchange) => exchanges.push(exchange));
    await expect(recording.sendChat(ask("x", { signal: AbortSignal.abort(new Error("enough")) }))).rejects.toThrow(
      "enough",
    );
    expect(exchanges).toEqual([]);
  });
});

describe("cached", () => {
  it("asks once for equal requests, whatever the order of their members, and uses no tokens for the rest", async () => {
    const inner = scriptedAdapter([{ content: "one", usage: { inputTokens: 9, outputTokens: 1 } }, "two"]);
    const adapter = cachedAdapter(inner);
    const config = { temperature: 0, seed: 1 };
    expect((await adapter.sendChat(ask("a", { config }))).usage).toEqual({ inputTokens: 9, outputTokens: 1 });
    const again = await adapter.sendChat(
      ask("a", { config: { seed: 1, temperature: 0 }, signal: new AbortController().signal }),
    );
    expect(again).toMatchObject({ message: { content: "one" }, usage: { inputTokens: 0, outputTokens: 0 } });
    expect((await responseOf(streamOf(adapter, ask("a", { config })))).message.content).toBe("one");
    expect(await said(adapter, "a")).toBe("two");
    expect(inner.requests).toHaveLength(2);
  });

  it("gives no answer from the cache to an aborted request", async () => {
    const adapter = cachedAdapter(scriptedAdapter(["one"]));
    await said(adapter, "a");
    const aborted = adapter.sendChat(ask("a", { signal: AbortSignal.abort(new Error("enough")) }));
    await expect(aborted).rejects.toThrow("enough");
  });

  it("keeps neither failures nor answers that were cut or refused", async () => {
    const cut = { content: "So", finishReason: "length" } as const;
    const adapter = cachedAdapter(
      scriptedAdapter([new ProviderError("server", "No."), cut, { ...cut, finishReason: "refusal" }, "Done"]),
    );
    await expect(said(adapter, "a")).rejects.toThrow("No.");
    expect([
      await said(adapter, "a"),
      await said(adapter, "a"),
      await said(adapter, "a"),
      await said(adapter, "a"),
    ]).toEqual(["So", "So", "Done", "Done"]);
  });

  it("takes texts that are no valid Unicode", async () => {
    const adapter = cachedAdapter(scriptedAdapter(["one"]));
    expect([await said(adapter, "\ud83d"), await said(adapter, "\ud83d")]).toEqual(["one", "one"]);
  });
});
