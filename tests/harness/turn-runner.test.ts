import { describe, expect, it } from "vitest";
import { ProviderError, type ChatRequest } from "../../src/harness/provider.ts";
import { textOfValue } from "../../src/harness/messages.ts";
import { functionTools, type Tools } from "../../src/harness/tools.ts";
import type { TraceEvent } from "../../src/harness/trace.ts";
import { type TurnChunk, type TurnOptions, TurnRunner, type TurnRunnerOptions } from "../../src/harness/turn-runner.ts";
import { TokenBudget } from "../../src/harness/usage.ts";
import { call, participant, type Scripted, sentBy } from "./participants.ts";

const SCHEMA = { type: "json", schema: { type: "object" }, name: "answer" } as const;

const tools = functionTools({
  look: { description: "Looks.", run: ({ at = "here" }) => `seen ${textOfValue(at)}` },
  burn: {
    description: "Fails.",
    run: () => {
      throw new Error("too hot");
    },
  },
});

function run(who: Scripted, options: TurnOptions = {}, runner: TurnRunnerOptions = {}) {
  return new TurnRunner(who, runner).runTurn([], "Go", options);
}

describe("a turn", () => {
  it("sends system prompts, history and message with the participant's model and settings", async () => {
    const ann = participant("ann", ["Fine."], {
      model: "big",
      systemPrompts: [{ role: "system", content: "Be kind." }],
      modelConfig: { temperature: 0.2, maxOutputTokens: 50 },
    });
    const history = [{ role: "user", content: "Hi" } as const, { role: "assistant", content: "Hello" } as const];
    const result = await new TurnRunner(ann).runTurn(history, "How are you?");
    expect(result).toMatchObject({
      message: { role: "assistant", content: "Fine." },
      finishReason: "stop",
      steps: 1,
      endedBy: "answer",
    });
    expect(ann.adapter.requests).toEqual([
      {
        model: "big",
        config: { temperature: 0.2, maxOutputTokens: 50 },
        messages: [{ role: "system", content: "Be kind." }, ...history, { role: "user", content: "How are you?" }],
      },
    ]);
  });

  it("sends images and files of a message", async () => {
    const ann = participant("ann", ["A cat."]);
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image", mediaType: "image/png", url: "https://example.org/cat.png" },
      { type: "file", mediaType: "audio/wav", data: "AA==", name: "meow.wav" },
    ] as const;
    await new TurnRunner(ann).runTurn([], content);
    expect(ann.adapter.requests[0]?.messages).toEqual([{ role: "user", content }]);
  });

  it("lets errors of a provider through as they are", async () => {
    const error = new ProviderError("rateLimited", "Slow down.", { status: 429, retryAfterMs: 3000 });
    await expect(run(participant("ann", [error]))).rejects.toBe(error);
  });

  it.each([
    ["stop", "empty"],
    ["length", "length"],
    ["refusal", "refusal"],
  ] as const)("fails for an answer without text that ends with %s", async (finishReason, kind) => {
    await expect(run(participant("ann", [{ content: " \n", finishReason }]))).rejects.toMatchObject({ kind });
  });

  it("fails for JSON that was cut at the limit, even if it can be read", async () => {
    const ann = participant("ann", [{ content: "[]", finishReason: "length" }]);
    await expect(run(ann, { responseFormat: { type: "json" } })).rejects.toMatchObject({ kind: "length" });
  });

  it("adds the usage of its requests, and leaves out what one of them does not tell", async () => {
    const toolCalls = [call("1", "look")];
    const ann = participant("ann", [
      { toolCalls, usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 } },
      { content: "Done", usage: { inputTokens: 20, outputTokens: 3 } },
    ]);
    expect((await run(ann, { tools })).usage).toEqual({ inputTokens: 30, outputTokens: 5 });
  });
});

describe("tools of a turn", () => {
  it("are carried out, and their results are in the next request and in the turn", async () => {
    const ann = participant("ann", [{ content: "Looking.", toolCalls: [call("a", "look", { at: "x" })] }, "Seen."]);
    const result = await run(ann, { tools });
    expect(sentBy(ann, 1)).toEqual(["user: Go", "assistant: Looking.[call_1 look]", "[call_1 = seen x]"]);
    expect(ann.adapter.requests[0]).toMatchObject({ tools: tools.definitions, toolChoice: "auto" });
    expect(result.turn).toMatchObject({ participant: "ann", message: { content: "Seen." }, finishReason: "stop" });
    expect(result.turn.steps).toEqual([
      { role: "assistant", content: "Looking.", toolCalls: [call("a", "look", { at: "x" })] },
      { role: "tool", content: [{ toolCallId: "a", name: "look", value: "seen x" }] },
    ]);
  });

  it("tell the model their errors, unknown names and arguments that are no JSON", async () => {
    const toolCalls = [call("1", "burn"), call("2", "lok"), { ...call("3", "look"), malformed: '{"at":' }];
    const ann = participant("ann", [{ toolCalls }, "Sorry."]);
    await run(ann, { tools });
    expect(sentBy(ann, 1).at(-1)).toBe(
      '[call_1 ! too hot][call_2 ! There is no tool "lok": the tools are look, burn. Did you mean look?]' +
        '[call_3 ! The arguments must be a JSON object, and are: {"at":]',
    );
  });

  it("end the turn with their error if the host wants that, and abort the others", async () => {
    const aborted = Promise.withResolvers<unknown>();
    const both = functionTools({
      burn: { description: "", run: () => Promise.reject(new Error("too hot")) },
      wait: {
        description: "",
        run: (_, { signal }) =>
          new Promise(() => signal.addEventListener("abort", () => aborted.resolve(signal.reason))),
      },
    });
    const ann = participant("ann", [{ toolCalls: [call("1", "wait"), call("2", "burn")] }]);
    await expect(run(ann, { tools: both }, { onToolError: "throw" })).rejects.toThrow("too hot");
    await expect(aborted.promise).resolves.toMatchObject({ message: "too hot" });
  });

  it("run at once up to the limit, and their results keep the order of the calls", async () => {
    let running = 0;
    let most = 0;
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const slow: Tools = {
      definitions: [{ name: "slow", description: "", parameters: {} }],
      async execute(_, { n }) {
        running += 1;
        most = Math.max(most, running);
        // The first ends after the second, and only two are begun until then.
        gates[Number(n)]?.resolve();
        await gates[n === 0 ? 1 : Number(n)]?.promise;
        running -= 1;
        return n ?? null;
      },
    };
    const toolCalls = [0, 1, 2].map((n) => call(String(n), "slow", { n }));
    const ann = participant("ann", [{ toolCalls }, "Done"]);
    await run(ann, { tools: slow }, { toolConcurrency: 2 });
    expect(most).toBe(2);
    expect(sentBy(ann, 1).at(-1)).toBe("[call_1 = 0][call_2 = 1][call_3 = 2]");
  });

  it("run one after the other if none may run at once", async () => {
    const ann = participant("ann", [
      { toolCalls: [call("1", "look", { at: 1 }), call("2", "look", { at: 2 })] },
      "Done",
    ]);
    await run(ann, { tools }, { toolConcurrency: 0 });
    expect(sentBy(ann, 1).at(-1)).toBe("[call_1 = seen 1][call_2 = seen 2]");
  });

  it("get a call each, even if the model gives two the same id", async () => {
    const ann = participant("ann", [
      { toolCalls: [call("x", "look", { at: 1 }), call("x", "look", { at: 2 })] },
      "Done",
    ]);
    await run(ann, { tools });
    expect(sentBy(ann, 1).at(-1)).toBe("[call_1 = seen 1][call_2 = seen 2]");
  });

  it("are not carried out if the answer was refused", async () => {
    const finishReason = "refusal";
    const ann = participant("ann", [{ content: "I will not", toolCalls: [call("1", "burn")], finishReason }]);
    const result = await run(ann, { tools }, { onToolError: "throw" });
    expect(result).toMatchObject({ message: { role: "assistant", content: "I will not" }, finishReason });
    expect(result.message.toolCalls).toBeUndefined();
  });

  it("are not carried out if the answer was cut at its limit, which ends the turn and is named", async () => {
    const cut = { content: "I was cut", toolCalls: [call("1", "burn")], finishReason: "length" } as const;
    const ann = { ...participant("ann", [cut]), modelConfig: { maxOutputTokens: 70 } };
    const error: unknown = await run(ann, { tools }, { onToolError: "throw" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "length", message: expect.stringContaining("70 output tokens") });
  });

  it("go by the calls, not by the reason for which the answer ended", async () => {
    const ann = participant("ann", [{ toolCalls: [call("1", "look")], finishReason: "stop" }, "Seen."]);
    expect(await run(ann, { tools })).toMatchObject({ steps: 2, message: { content: "Seen." } });
  });
});

describe("the end of a turn", () => {
  const choices = ({ adapter }: Scripted) => adapter.requests.map(({ toolChoice }) => toolChoice);
  const looking = (place: number) => ({
    content: `Step ${place}`,
    toolCalls: [call(String(place), "look", { at: place })],
  });

  it("is an answer without tools at the limit of steps", async () => {
    const ann = participant("ann", ({ toolChoice, messages }) =>
      toolChoice === "none" ? "Enough." : looking(messages.length),
    );
    expect(await run(ann, { tools }, { maxSteps: 3 })).toMatchObject({
      steps: 3,
      endedBy: "maxSteps",
      message: { content: "Enough." },
    });
    expect(choices(ann)).toEqual(["auto", "auto", "none"]);
  });

  it("is the text of a model that calls tools against the choice none", async () => {
    const ann = participant("ann", ({ messages }) => looking(messages.length));
    const result = await run(ann, { tools }, { maxSteps: 2 });
    expect(result).toMatchObject({ steps: 2, message: { role: "assistant", content: "Step 3" } });
    expect(result.turn.message).toEqual({ role: "assistant", content: "Step 3" });
  });

  it("is forced when the same calls come three times in a row, the last of which is not carried out", async () => {
    let runs = 0;
    const counted = functionTools({ look: { description: "", run: () => (runs += 1) } });
    const ann = participant("ann", ({ toolChoice }) =>
      toolChoice === "none" ? "Enough." : { toolCalls: [call("1", "look")] },
    );
    const forced = await run(ann, { tools: counted }, { onToolError: "throw" });
    expect(forced).toMatchObject({ steps: 4, endedBy: "repetition" });
    expect(runs).toBe(2);
    expect(sentBy(ann, 3).at(-1)).toContain("3 times in a row");
  });

  it("does not count calls as repeated that differ", async () => {
    const ann = participant("ann", [looking(1), looking(2), looking(1), looking(2), looking(1), "Done"]);
    expect(await run(ann, { tools })).toMatchObject({ steps: 6, endedBy: "answer" });
  });

  it.each(["required", { tool: "look" }] as const)(
    "comes although the choice was %j: it holds for the first request",
    async (toolChoice) => {
      const ann = participant("ann", [looking(1), "Done"]);
      await run(ann, { tools, toolChoice });
      expect(choices(ann)).toEqual([toolChoice, "auto"]);
    },
  );

  it("comes with the first answer if the choice is none", async () => {
    const ann = participant("ann", [looking(1)]);
    expect(await run(ann, { tools, toolChoice: "none" })).toMatchObject({ steps: 1, message: { content: "Step 1" } });
    expect(choices(ann)).toEqual(["none"]);
  });
});

describe("the response format", () => {
  const formats = ({ adapter }: Scripted) => adapter.requests.map(({ responseFormat }) => responseFormat);

  it("is sent at once without tools", async () => {
    const ann = participant("ann", ["{}"]);
    await run(ann, { responseFormat: SCHEMA });
    expect(formats(ann)).toEqual([SCHEMA]);
  });

  it("is sent only when no tool may be called any more", async () => {
    const ann = participant("ann", [{ toolCalls: [call("1", "look")] }, "I have seen it.", '{"seen":true}']);
    const result = await run(ann, { tools, responseFormat: SCHEMA });
    expect(result).toMatchObject({ message: { content: '{"seen":true}' }, steps: 3, endedBy: "answer" });
    expect(formats(ann)).toEqual([undefined, undefined, SCHEMA]);
    expect(ann.adapter.requests[2]).toMatchObject({ toolChoice: "none" });
    expect(sentBy(ann, 2)).toEqual(sentBy(ann, 1));
  });

  it("is in the last request at the limit of steps", async () => {
    const ann = participant("ann", ({ responseFormat }) =>
      responseFormat ? "{}" : { toolCalls: [call("1", "look")] },
    );
    expect(await run(ann, { tools, responseFormat: SCHEMA }, { maxSteps: 2 })).toMatchObject({
      message: { content: "{}" },
    });
    expect(formats(ann)).toEqual([undefined, SCHEMA]);
  });
});

describe("an abort", () => {
  it("ends a request with the signal's reason", async () => {
    const stop = new AbortController();
    const ann = participant("ann", () => () => {
      stop.abort(new Error("enough"));
      return new Promise<string>(() => {});
    });
    await expect(run(ann, { signal: stop.signal })).rejects.toThrow("enough");
  });

  it("ends a tool that does not heed it, and no request follows", async () => {
    const stop = new AbortController();
    const deaf: Tools = {
      definitions: [{ name: "deaf", description: "", parameters: {} }],
      execute: () => {
        stop.abort(new Error("enough"));
        return new Promise<never>(() => {});
      },
    };
    const ann = participant("ann", [{ toolCalls: [call("1", "deaf")] }, "Never"]);
    const told: string[] = [];
    const trace = ({ type }: TraceEvent) => void told.push(type);
    await expect(run(ann, { tools: deaf, signal: stop.signal }, { trace })).rejects.toThrow("enough");
    expect(told).toEqual(["request", "response", "toolCall"]);
  });

  it("before the turn sends nothing", async () => {
    const ann = participant("ann", ["Never"]);
    await expect(run(ann, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    expect(ann.adapter.requests).toEqual([]);
  });
});

describe("a budget of tokens", () => {
  const usage = { inputTokens: 50, outputTokens: 10 };

  it("lets no request follow when it is spent, across turns", async () => {
    const budget = new TokenBudget(100);
    const ann = participant("ann", [{ toolCalls: [call("1", "look")], usage }, { content: "Done", usage }, "Never"]);
    await run(ann, { tools, budget });
    expect(budget).toMatchObject({ used: 120, isSpent: true, untold: 0 });
    await expect(run(ann, { budget })).rejects.toThrow("The budget of 100 tokens is spent: 120 are used.");
    expect(ann.adapter.requests).toHaveLength(2);
  });

  it("says how many answers did not tell their usage", async () => {
    const budget = new TokenBudget(100);
    await run(participant("ann", ["Done"]), { budget });
    expect(budget).toMatchObject({ used: 0, untold: 1 });
  });
});

describe("a streamed turn", () => {
  it("gives text, calls and results as they come, and ends with what runTurn gives", async () => {
    const script = [{ content: "Let me look.", toolCalls: [call("1", "look")] }, "I have seen."];
    const chunks: TurnChunk[] = [];
    for await (const chunk of new TurnRunner(participant("ann", script)).streamTurn([], "Go", { tools }))
      chunks.push(chunk);
    expect(chunks.map(({ type }) => type)).toEqual([
      "text",
      "text",
      "text",
      "toolCall",
      "finish",
      "toolResult",
      "text",
      "text",
      "text",
      "finish",
      "turn",
    ]);
    expect(chunks.at(-1)).toEqual({ type: "turn", result: await run(participant("ann", script), { tools }) });
  });

  it("fails if the stream ends without an end", async () => {
    const adapter = { ...participant("x", []).adapter, async *streamChat() {} };
    const turn = new TurnRunner({ name: "ann", model: "m", adapter }).streamTurn([], "Go");
    await expect(turn.next()).rejects.toMatchObject({ kind: "network" });
  });
});

it("a trace is told every request, response, failure, call, result and turn", async () => {
  const events: TraceEvent[] = [];
  const trace = (event: TraceEvent) => void events.push(event);
  const ann = participant("ann", [{ toolCalls: [call("1", "look")] }, "Done", new ProviderError("server", "Broken.")]);
  await run(ann, { tools }, { trace });
  await expect(run(ann, { tools }, { trace })).rejects.toThrow("Broken.");
  expect(events.map((event) => [event.type, "step" in event ? event.step : undefined])).toEqual([
    ["request", 1],
    ["response", 1],
    ["toolCall", 1],
    ["toolResult", 1],
    ["request", 2],
    ["response", 2],
    ["turn", undefined],
    ["request", 1],
    ["failure", 1],
  ]);
  expect(events.every(({ participant }) => participant === "ann")).toBe(true);
  expect(events[0]).toMatchObject({ request: { model: "m" } satisfies Partial<ChatRequest> });
});
