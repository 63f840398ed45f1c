import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { answering, turnOf } from "../../model-servers/brains.ts";
import type { Step } from "../../model-servers/conversation.ts";
import { scripted } from "../../model-servers/scripted.ts";
import { KEY, ModelRig, report } from "./rig.ts";

const NO_TOOLS = { tools: [] } as const;
const said = (answer: object): Step => ({ answer: answer as never });

describe("a turn of a model", () => {
  test("tells that it runs before it asks, shows the text as it streams, and answers", async () => {
    const rig = await ModelRig.open(scripted({ text: "I look.", answer: report("All is well.") as never }));
    const order: string[] = [];
    rig.server.heard = () => void order.push("asked");
    const { result, events, lines } = await rig.turn({ heard: ({ kind }) => void order.push(kind) });
    expect(result.answer).toEqual({
      payload_type: "report",
      payload: { status: "completed", summary: "All is well." },
    });
    expect(result.failure).toBeUndefined();
    expect(events[0]).toEqual({ kind: "started", process: undefined });
    expect(order.indexOf("conversation")).toBeLessThan(order.indexOf("asked"));
    expect(lines).toEqual(["I look.", "All is well."]);
    expect(result.usage).toMatchObject({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) });
    expect(result.conversation).toEqual({ id: "model.t7.1", tokens: expect.any(Number) });
  });

  test.each(["anthropic", "openai", "xai", "gemini", "openai-compatible"] as const)(
    "calls tools and answers as %s does",
    async (provider) => {
      const rig = await ModelRig.open((conversation) =>
        conversation.messages.some(({ from }) => from === "tool")
          ? answering(conversation, "report", { status: "completed", summary: "All is done." })
          : { text: "I look.", act: [{ tool: "list_files", input: {} }] },
      );
      const { result, lines } = await rig.turn({
        role: {
          provider,
          api_key_env: "LLM_API_KEY",
          ...(provider === "gemini" ? { base_url: `${rig.server.url}/v1beta` } : {}),
        },
      });
      expect(result.answer?.payload).toEqual({ status: "completed", summary: "All is done." });
      expect(lines).toEqual(["I look.", "list_files", "All is done."]);
      expect(rig.results()).toEqual(["No file is there."]);
      expect(rig.server.exchanges).toHaveLength(2);
    },
  );

  test("gives the system prompt as system text, and no workspace to a seat without tools", async () => {
    const rig = await ModelRig.open(scripted(said(report())));
    await rig.turn({ role: { type: "participant", system_prompt: "You are an architect." } });
    await rig.turn({ role: { system_prompt: "You are a worker." } });
    const [participant, worker] = rig.server.exchanges.map(({ conversation }) => conversation);
    expect(participant?.system).toBe("You are an architect.");
    expect(participant?.tools).toEqual([]);
    expect(participant?.messages[0]?.text).not.toMatch(/orkspace|architect/);
    expect(worker?.messages[0]?.text).toContain(`Workspace, your current directory: \`${rig.directory}\``);
    expect(worker?.tools.map(({ name }) => name)).toEqual([
      "read_file",
      "list_files",
      "search",
      "write_file",
      "edit_file",
      "run_command",
    ]);
  });

  test.each([
    ["manager", {}, ["read_file", "list_files", "search"]],
    ["worker", { permissions: { write: "none", ask: "deny" } }, ["read_file", "list_files", "search"]],
    ["worker", { permissions: { ask: "deny" } }, ["read_file", "list_files", "search", "write_file", "edit_file"]],
    ["participant", { tools: ["read_file", "write_file"] }, ["read_file"]],
  ] as const)("offers a %s with %j the tools that its permissions allow", async (type, more, names) => {
    const rig = await ModelRig.open(scripted(said(report())));
    await rig.turn({ role: { type, ...more } });
    expect(rig.server.exchanges[0]?.conversation?.tools.map(({ name }) => name)).toEqual(names);
  });

  test("asks again, with the schema's error, for an answer that does not fit", async () => {
    const rig = await ModelRig.open(
      scripted(
        { text: "Done!" },
        said({ payload_type: "report", report: { status: "finished" } }),
        said(report("third")),
      ),
    );
    const { result } = await rig.turn({ role: NO_TOOLS });
    expect(result.answer?.payload).toMatchObject({ summary: "third" });
    expect(result.refused).toHaveLength(2);
    const texts = rig.server.exchanges.map(({ conversation }) => conversation?.messages.at(-1)?.text ?? "");
    expect(texts[1]).toContain("There is no JSON object in the answer");
    expect(texts[2]).toContain("/status");
  });

  test("fails when three answers do not fit", async () => {
    const rig = await ModelRig.open(scripted({ text: "Done!" }));
    const { result } = await rig.turn();
    expect(result.answer).toBeUndefined();
    expect(result.failure).toMatchObject({ code: "malformed_output" });
    expect(rig.server.exchanges).toHaveLength(3);
  });

  test("reads an answer in a fence, with words around it", async () => {
    const rig = await ModelRig.open(
      scripted({ text: `Here:\n\`\`\`json\n${JSON.stringify(report())}\n\`\`\`\nThat is all.` }),
    );
    const { result } = await rig.turn();
    expect(result.answer?.payload_type).toBe("report");
  });

  test("is held to the form of its answer once no tool may be called", async () => {
    const rig = await ModelRig.open((conversation) =>
      conversation.schema === undefined
        ? { text: "Done!" }
        : answering(conversation, "report", { status: "completed" }),
    );
    const { result } = await rig.turn({ role: { structured_output: "schema" } });
    expect(result.answer?.payload).toEqual({ status: "completed" });
    expect(rig.server.exchanges.map(({ conversation }) => conversation?.schema !== undefined)).toEqual([false, true]);
  });
});

describe("a turn of a model that cannot be done", () => {
  const cases: [what: string, step: Step, failure: object][] = [
    [
      "a limit",
      { status: 429, retry_after_s: 3 },
      {
        code: "rate_limited",
        details: { status: 429, retry_at: expect.stringMatching(/^2026-01-02T03:04:(?:08|09)/) },
      },
    ],
    [
      "a limit without an end",
      { status: 429 },
      { code: "rate_limited", details: { retry_at: expect.stringMatching(/^2026-01-02T03:05/) } },
    ],
    [
      "an empty account",
      { status: 429, code: "insufficient_quota", message: "You exceeded your current quota." },
      { code: "rate_limited", hint: expect.stringContaining("credit") },
    ],
    [
      "a wrong key",
      { status: 401, message: "Incorrect API key provided." },
      { code: "authentication", hint: expect.stringContaining("LLM_API_KEY") },
    ],
    [
      "an unknown model",
      { status: 404, message: "The model `small` does not exist", code: "model_not_found" },
      { code: "agent_failed", details: { reason: "model" } },
    ],
    ["a broken server", { status: 500 }, { code: "unavailable" }],
    ["a stream that breaks off", { drop: "I begin" }, { code: "unavailable" }],
    ["an error in the stream", { stream_error: "overloaded" }, { code: "unavailable" }],
    ["a refusal", { refuse: "I will not." }, { code: "agent_failed", details: { reason: "refusal" } }],
    [
      "an answer that is cut",
      { cut_off: '{"payload_type":"report","report":{"status":"completed"},"error":null}' },
      { code: "agent_failed", details: { reason: "max_tokens" } },
    ],
    ["an empty answer", { text: "" }, { code: "no_answer" }],
  ];
  test.each(cases)("%s", async (_what, step, failure) => {
    const rig = await ModelRig.open(scripted(step));
    const { result } = await rig.turn({ role: NO_TOOLS });
    expect(result.failure).toMatchObject(failure);
    expect(result.failure?.message).toContain("worker (openai-compatible/small at http://127.0.0.1:");
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(rig.server.exchanges).toHaveLength(1);
  });

  test("without a server", async () => {
    const rig = await ModelRig.open(scripted(said(report())));
    await rig.server.close();
    expect((await rig.turn()).result.failure).toMatchObject({ code: "unavailable" });
  });

  test("without a key, naming the variable", async () => {
    const rig = await ModelRig.open(scripted(said(report())));
    const { result } = await rig.turn({ role: { api_key_env: "MY_KEY" } });
    expect(result.failure).toMatchObject({ code: "configuration", message: expect.stringContaining("MY_KEY") });
    expect(rig.server.exchanges).toEqual([]);
  });

  test("ends at once when it is cancelled, and its cost is not known", async () => {
    const rig = await ModelRig.open(scripted({ text: "", act: [{ tool: "list_files", input: {} }] }, { hang: true }));
    const abort = new AbortController();
    rig.server.heard = ({ step }) => step && "hang" in step && abort.abort();
    const began = performance.now();
    const { result } = await rig.turn({ signal: abort.signal });
    expect(result.failure).toMatchObject({ code: "cancelled" });
    expect(result.usage).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test.each([
    ["timeout", { timeout_ms: 300 }],
    ["idle_timeout", { idle_timeout_ms: 300 }],
  ])("ends by its %s", async (code, request) => {
    const rig = await ModelRig.open(scripted({ hang: true }));
    expect((await rig.turn({ request })).result.failure).toMatchObject({ code });
  });

  test("stops when its tokens are spent, which the answer that crosses the limit still counts", async () => {
    const rig = await ModelRig.open(scripted({ act: [{ tool: "list_files", input: {} }] }));
    const { result } = await rig.turn({ payload: { limits: { remaining_tokens: 10 } } });
    expect(result.failure).toMatchObject({ code: "budget_exhausted" });
    expect(rig.server.exchanges).toHaveLength(1);
  });
});

describe("a conversation with a model", () => {
  test("goes on with what was said, and a copy leaves the original as it is", async () => {
    const rig = await ModelRig.open((conversation) =>
      answering(conversation, "report", { status: "completed", summary: `after ${conversation.messages.length}` }),
    );
    const summaryOf = async (request: object) => (await rig.turn({ request })).result.answer?.payload["summary"];
    const stamp = (turn_id: string) => ({ stamp: { turn_id, attempt: 1, run: 1 } });
    const going = (how: string, turn_id: string) => ({ ...stamp(turn_id), conversation: { id: "model.t7.1", how } });
    expect(await summaryOf({})).toBe("after 1");
    expect(await summaryOf(going("resume", "t8"))).toBe("after 3");
    expect(await summaryOf(going("fork", "t9"))).toBe("after 5");
    expect(await summaryOf(going("resume", "t10"))).toBe("after 5");
  });

  test("that is not there any more begins anew and says so", async () => {
    const rig = await ModelRig.open(scripted(said(report())));
    for (const id of ["model.t1.1", "../../etc/passwd"]) {
      const { result, lines } = await rig.turn({ request: { conversation: { id, how: "resume" } } });
      expect(result.conversation?.id).toBe("model.t7.1");
      expect(lines[0]).toContain("not there any more");
    }
  });

  test("that cannot be written stops the session rather than the turn", async () => {
    const rig = await ModelRig.open(scripted(said(report())));
    writeFileSync(rig.output, "a file where the folder of the output belongs");
    expect((await rig.turn()).result.failure).toMatchObject({ code: "storage" });
  });

  test("that a crash cut off in a call goes on, and the model is told", async () => {
    const rig = await ModelRig.open(
      scripted({ act: [{ tool: "run_command", input: { command: "true" } }] }, said(report())),
    );
    const abort = new AbortController();
    // As after a crash: the call is on file, its result is not.
    await rig.turn({ signal: abort.signal, permit: () => (abort.abort(), { granted: false }) });
    await rig.turn({ request: { conversation: { id: "model.t7.1", how: "resume" } } });
    expect(rig.results()).toEqual([expect.stringContaining("died while this call ran")]);
    expect(turnOf(rig.server.exchanges.at(-1)!.conversation!)?.turn_id).toBe("t7");
  });
});
