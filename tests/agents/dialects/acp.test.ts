import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliAgent } from "../../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../../src/agents/embedded-launcher.ts";
import type { PermissionRequest, TurnEvent, TurnRequest } from "../../../src/kernel/agent.ts";
import { NO_SECRETS } from "../../../src/lib/withholder.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { livingInGroup } from "../../processes.ts";
import { scratchDirectory } from "../scratch.ts";

const AGENT = join(import.meta.dirname, "../../fixtures/agents/acp.mjs");
const AT = "2026-11-24T17:00:00Z";
const REPORT = { payload_type: "report", report: { status: "completed", summary: "Done." } };

const INTRODUCTION = [
  { client: { id: 0, method: "initialize" } },
  { agent: { jsonrpc: "2.0", id: 0, result: { protocolVersion: 1, agentCapabilities: {} } } },
  { client: { id: 1, method: "session/new" } },
  { agent: { jsonrpc: "2.0", id: 1, result: { sessionId: "s1" } } },
  { client: { id: 2, method: "session/prompt" } },
];

interface Choices {
  readonly role?: Partial<Role>;
  readonly conversation?: TurnRequest["conversation"];
  readonly grants?: boolean;
  readonly stays?: boolean;
  readonly answer_grace_ms?: number;
}

function recorded(name: string): string {
  return join(import.meta.dirname, `../../fixtures/streams/acp/${name}.ndjson`);
}

/** A stream of our own after the introduction. */
function written(...steps: readonly object[]): string {
  const file = join(scratchDirectory(), "stream.ndjson");
  writeFileSync(file, [...INTRODUCTION, ...steps].map((step) => `${JSON.stringify(step)}\n`).join(""));
  return file;
}

function says(text: string): object {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return { agent: { jsonrpc: "2.0", method: "session/update", params: { sessionId: "s1", update } } };
}

function ends(id: number, result: JsonObject = { stopReason: "end_turn" }): object {
  return { agent: { jsonrpc: "2.0", id, result } };
}

/** Begins a turn of the agent that replays a stream. */
function begin(stream: string, choices: Choices = {}) {
  const directory = scratchDirectory();
  const record = join(directory, "record.ndjson");
  const events: TurnEvent[] = [];
  const asked: PermissionRequest[] = [];
  const pids: number[] = [];
  const abort = new AbortController();
  const agent = cliAgent({
    launcher: embeddedLauncher(),
    settings: {
      kill_grace_ms: 1_000,
      answer_grace_ms: choices.answer_grace_ms ?? 10_000,
      max_line_bytes: 8_388_608,
      max_output_bytes: 67_108_864,
      environment: { PATH: process.env["PATH"], HOME: directory },
    },
  });
  const env = { ACP_RECORD: record, ...(choices.stays === true ? { ACP_STAYS: "1" } : {}) };
  const cli_command = [process.execPath, AGENT, stream];
  const request = {
    session_id: "s-1",
    at: AT,
    role: { role_id: "worker", type: "worker", backend: "acp", cli_command, env, ...choices.role },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "worker",
      expects: ["report"],
      message: { payload_type: "instruction", payload: { summary: "Write a.txt." } },
      context: {},
      workspace: directory,
      artifacts_dir: join(directory, "artifacts"),
    },
    timeout_ms: 30_000,
    idle_timeout_ms: 0,
    slot: 1,
    output_directory: join(directory, "output"),
    ...(choices.conversation === undefined ? {} : { conversation: choices.conversation }),
  } as TurnRequest;
  const started = Promise.withResolvers<void>();
  const result = agent.turn(request, {
    signal: abort.signal,
    started: async (identity) => void (identity && pids.push(identity.pid)),
    emit: (event) => {
      events.push(event);
      if (event.kind === "conversation") started.resolve();
    },
    secrets: NO_SECRETS,
    permit: async (wanted) => {
      asked.push(wanted);
      return { granted: choices.grants ?? false };
    },
  });
  const said = () =>
    readFileSync(record, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as JsonObject & { method?: string; params: JsonObject; result: JsonObject });
  const shown = () => events.flatMap((event) => (event.kind === "console" ? [event.text] : []));
  return { result, events, asked, pids, abort, said, shown, began: started.promise };
}

describe("an agent by ACP", () => {
  test("gemini asks for every change, writes in the workspace, and runs what its role names", async () => {
    const { result, asked, said, shown } = begin(recorded("gemini-work"), {
      role: { permissions: { commands: ["touch *"] } },
    });
    expect(await result).toEqual({
      answer: { payload_type: "report", payload: { status: "completed", summary: "Wrote a.txt." } },
      exit: { code: 0, signal: null },
      refused: [],
      usage: { input_tokens: 300, output_tokens: 60 },
      conversation: { id: expect.any(String) },
    });
    expect(asked).toEqual([]);
    expect(shown()).toEqual(["Working.", "Writing to a.txt", "$ touch b.txt"]);
    const methods = said().flatMap(({ method }) => method ?? []);
    expect(methods).toEqual(["initialize", "session/new", "session/prompt"]);
    expect(said().filter(({ method }) => method === undefined)).toHaveLength(2);
  });

  test("claude is kept from its own mode, told the schema, and asks a person for other commands", async () => {
    const { result, asked, said } = begin(recorded("claude-work"), { grants: true });
    expect(await result).toMatchObject({
      answer: { payload: { status: "completed", summary: "Wrote a.txt." } },
      // What went through the cache is input, too.
      usage: { input_tokens: 390, cached_tokens: 90, output_tokens: 60, cost_usd: 0.002418 },
      conversation: { tokens: 150, total: { cost_usd: 0.002418 } },
    });
    expect(asked).toEqual([expect.objectContaining({ action: "run: python3 -c 1", why: "Try it" })]);
    const [, opened, mode, , permitted] = said();
    expect(opened?.params).toHaveProperty("_meta.claudeCode.options.outputFormat.schema.type", "object");
    expect(mode).toMatchObject({ method: "session/set_mode", params: { modeId: "acceptEdits" } });
    expect(permitted?.result).toEqual({ outcome: { outcome: "selected", optionId: "allow-once" } });
  });

  test("hears a person's no, or that nobody may be asked", async () => {
    const asking = begin(recorded("claude-work"));
    await asking.result;
    expect(asking.asked).toHaveLength(1);
    const refusing = { result: { outcome: { outcome: "selected", optionId: "reject" } } };
    expect(asking.said()[4]).toMatchObject(refusing);
    const alone = begin(recorded("claude-work"), { role: { permissions: { ask: "deny" } } });
    await alone.result;
    // The runtime denies it, on record.
    expect(alone.asked).toHaveLength(1);
    expect(alone.said()[4]).toMatchObject(refusing);
  });

  test.each([
    ["search", { pattern: "KEY" }, [], "allow"],
    ["search", { pattern: "KEY", path: "src" }, [], "allow"],
    ["search", { pattern: "KEY", path: "/elsewhere/.ssh" }, [], "reject"],
    ["search", { pattern: "KEY", path: "~/.ssh" }, [], "reject"],
    ["search", { pattern: "/elsewhere/.ssh/*" }, [], "reject"],
    ["search", { query: { paths: ["src", "../../elsewhere"] } }, [], "reject"],
    ["read", { file_path: "a.txt" }, [], "allow"],
    ["read", { abs_path: "/elsewhere/key" }, [{ path: "a.txt" }], "reject"],
    ["read", { uri: "file:///elsewhere/key" }, [], "reject"],
    ["read", { id: 7 }, [], "reject"],
  ])("a %s with %j and the locations %j is answered with %s", async (kind, rawInput, locations, answer) => {
    const options = ["allow", "reject"].map((optionId) => ({ optionId, name: optionId, kind: `${optionId}_once` }));
    const toolCall = { toolCallId: "one", title: "Look", kind, rawInput, locations };
    const params = { sessionId: "s1", toolCall, options };
    const asks = { agent: { jsonrpc: "2.0", id: 0, method: "session/request_permission", params } };
    const stream = written(asks, { client: { id: 0 } }, says(JSON.stringify(REPORT)), ends(2));
    const { result, said } = begin(stream, { role: { permissions: { ask: "deny" } } });
    await result;
    expect(said().at(-1)?.result).toEqual({ outcome: { outcome: "selected", optionId: answer } });
  });

  test.each([
    ["gemini-rate-limit", "rate_limited"],
    ["claude-rate-limit", "rate_limited"],
    ["gemini-unauthorized", "authentication"],
    ["gemini-no-key", "authentication"],
    ["claude-refusal", "agent_failed"],
  ])("%s is told as %s", async (name, code) => {
    const { failure, answer } = await begin(recorded(name), { role: { permissions: { write: "none" } } }).result;
    expect(answer).toBeUndefined();
    expect(failure?.code).toBe(code);
  });

  test("tells what a turn used that failed, and until when a limit is waited for", async () => {
    const role = { permissions: { write: "none" } } as const;
    const refused = await begin(recorded("claude-refusal"), { role }).result;
    expect(refused.usage).toMatchObject({ input_tokens: 260, cached_tokens: 60 });
    const { failure } = await begin(recorded("claude-rate-limit"), { role }).result;
    expect(failure?.details).toEqual({ retry_at: expect.stringMatching(/^2026-11-24T17:01:/) });
  });

  test("counts the requests that its usage leaves out", async () => {
    const counts = (input: number, output: number) => ({ input_tokens: input, output_tokens: output });
    const quota = { model_usage: [{ token_count: counts(100, 20) }, { token_count: counts(200, 40) }] };
    const usage = { inputTokens: 200, outputTokens: 40 };
    const answer = { stopReason: "end_turn", usage, _meta: { quota } };
    const { result } = begin(written(says(JSON.stringify(REPORT)), ends(2, answer)));
    expect((await result).usage).toEqual(counts(300, 60));
  });

  test("fails with its own text when it stops for an error, and is not held for what the text says", async () => {
    const { result } = begin(written(says("API error 403: insufficient balance"), ends(2, { stopReason: "error" })));
    expect((await result).failure).toMatchObject({
      code: "agent_failed",
      message: expect.stringContaining("insufficient balance"),
    });
  });

  test("is held for a limit that only the data of its error tells", async () => {
    const data = {
      message: "You've hit your usage limit.",
      codexErrorInfo: "usageLimitExceeded",
      retryAfterMs: 60_000,
    };
    const error = { agent: { jsonrpc: "2.0", id: 2, error: { code: -32_603, message: "Internal error", data } } };
    expect((await begin(written(error)).result).failure).toMatchObject({
      code: "rate_limited",
      message: expect.stringContaining("usage limit"),
      details: { retry_at: expect.stringMatching(/^2026-11-24T17:01:/) },
    });
  });

  test("is asked once more in the same session for an answer that fits", async () => {
    const stream = written(
      says("All done."),
      ends(2),
      { client: { id: 3, method: "session/prompt" } },
      says(JSON.stringify(REPORT)),
      ends(3),
    );
    const { result, said } = begin(stream);
    expect(await result).toMatchObject({
      answer: { payload: { summary: "Done." } },
      refused: [{ code: "malformed_output" }],
    });
    expect(said().at(-1)).toMatchObject({ method: "session/prompt", params: { sessionId: "s1" } });
    const again = await begin(
      written(says("No."), ends(2), { client: { id: 3, method: "session/prompt" } }, says("No."), ends(3)),
    ).result;
    expect(again.failure?.code).toBe("malformed_output");
  });

  test("goes on with a loaded conversation, whose past is no answer and is not shown", async () => {
    const { result, said, shown } = begin(recorded("gemini-loaded"), { conversation: { id: "old", how: "resume" } });
    const { answer, conversation } = await result;
    expect(answer).toMatchObject({ payload: { summary: "Again." } });
    expect(conversation).toEqual({ id: "old" });
    expect(shown()).toEqual([]);
    expect(said()[1]).toMatchObject({ method: "session/load", params: { sessionId: "old" } });
  });

  test("begins anew when the conversation is gone", async () => {
    const { result, said } = begin(recorded("claude-gone"), { conversation: { id: "old", how: "resume" } });
    await result;
    expect(said().flatMap(({ method }) => method ?? [])).toEqual([
      "initialize",
      "session/resume",
      "initialize",
      "session/new",
    ]);
  });

  test("is ended with its group when it stays after its answer, or the turn is cancelled", async () => {
    const stays = begin(written(says(JSON.stringify(REPORT)), ends(2)), { stays: true, answer_grace_ms: 300 });
    expect((await stays.result).answer).toMatchObject({ payload_type: "report" });
    const cancelled = begin(written());
    await cancelled.began;
    cancelled.abort.abort();
    expect(await cancelled.result).toMatchObject({ failure: { code: "cancelled" }, conversation: { id: "s1" } });
    expect([...stays.pids, ...cancelled.pids].flatMap(livingInGroup)).toEqual([]);
  });

  test("takes no harm from words that are no ACP", async () => {
    const strange = [
      { text: "Loading…" },
      { text: '{"jsonrpc":"2.0","id":"\\u001b[31m99","result":{}}' },
      { text: '{"jsonrpc":"2.0","method":"session/update","params":7}' },
      { text: '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"of_tomorrow"}}}' },
      { text: '{"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}' },
      { client: { id: 5 } },
    ];
    const { result, said, shown } = begin(written(...strange, says(JSON.stringify(REPORT)), ends(2)));
    expect((await result).answer).toMatchObject({ payload_type: "report" });
    expect(shown()).toEqual(["Loading…"]);
    expect(said().at(-1)).toMatchObject({ id: 5, error: { code: -32601 } });
    const role = { cli_command: ["true"] };
    expect((await begin(written(), { role }).result).failure?.code).toBe("agent_failed");
  });

  test("gets the role's model, or the turn fails if it has no choice of models", async () => {
    const { result } = begin(written(), { role: { model: "large" } });
    expect((await result).failure).toMatchObject({ code: "agent_failed", message: expect.stringContaining("large") });
  });
});
