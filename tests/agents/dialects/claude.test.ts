import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliAgent } from "../../../src/agents/cli/agent.ts";
import { claude, conversationId } from "../../../src/agents/cli/dialects/claude.ts";
import type { Reader, ReadOutput } from "../../../src/agents/cli/dialects/dialect.ts";
import { embeddedLauncher } from "../../../src/agents/embedded-launcher.ts";
import { answerSchema } from "../../../src/agents/prompts/answers.ts";
import { standardPrompts } from "../../../src/agents/prompts/prompts.ts";
import type { PermissionRequest, TurnEvent, TurnRequest } from "../../../src/kernel/agent.ts";
import { NO_SECRETS } from "../../../src/lib/withholder.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Budget } from "../../../src/protocol/payload.ts";
import type { Permissions, Role } from "../../../src/protocol/roles.ts";
import { scratchDirectory } from "../scratch.ts";

const FAKE = join(import.meta.dirname, "../../fixtures/agents/claude.mjs");
const AT = "2026-11-24T17:00:00Z";
const ID = conversationId({ session_id: "s-1", stamp: { turn_id: "t7", attempt: 1, run: 1 } });

interface Choices {
  readonly permit?: () => Promise<boolean>;
  readonly answer_grace_ms?: number;
  readonly permissions?: Permissions;
  readonly expects?: readonly string[];
  readonly conversation?: TurnRequest["conversation"];
  readonly role?: Partial<Role>;
  readonly remaining_usd?: number;
  readonly timeout_ms?: number;
}

function streamFile(name: string): string {
  return join(import.meta.dirname, `../../fixtures/streams/claude/${name}.ndjson`);
}

function requestIn(workspace: string, choices: Choices): TurnRequest {
  const { permissions, expects = ["report"], conversation, role, remaining_usd, timeout_ms = 20_000 } = choices;
  return {
    session_id: "s-1",
    at: AT,
    role: { role_id: "worker", type: "worker", cli_command: ["claude"], dialect: "claude", permissions, ...role },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "worker",
      expects: [...expects],
      message: { payload_type: "instruction", payload: { summary: "Write the limit." } },
      context: {},
      workspace,
      artifacts_dir: join(workspace, "artifacts"),
      home: "/home/user/bosun",
      ...(remaining_usd === undefined ? {} : { limits: { remaining_usd } }),
    },
    timeout_ms,
    idle_timeout_ms: 0,
    slot: 1,
    output_directory: join(workspace, "output"),
    ...(conversation === undefined ? {} : { conversation }),
  } as TurnRequest;
}

function speak(choices: Choices = { permissions: { ask: "deny" } }) {
  const shown: string[] = [];
  const events: TurnEvent[] = [];
  const spoken = claude({
    request: requestIn("/repo", choices),
    prompts: standardPrompts(),
    environment: {},
    scratch: () => "/scratch",
    now: () => Date.parse(AT),
    emit: (event) => events.push(event),
    show: (text) => shown.push(text),
  });
  return { ...spoken, shown, events };
}

function linesOf(name: string): string[] {
  return readFileSync(streamFile(name), "utf8").trimEnd().split("\n");
}

function readAll(reader: Reader, lines: readonly string[]): void {
  for (const line of lines) reader.read(Buffer.from(line), false);
}

/** Feeds lines of a recorded stream to the reader, without a process. */
function hear(lines: readonly string[], code = 1, stderr = ""): ReadOutput {
  const { reader } = speak();
  readAll(reader, lines);
  return reader.end({ cause: "exited", exit: { code, signal: null }, spoke: true }, stderr);
}

interface Start {
  readonly argv: string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string[];
}

/** Runs a turn of the fake claude, which replays these streams one after the other. */
async function turn(streams: readonly string[], choices: Choices = {}) {
  const directory = scratchDirectory();
  const record = join(directory, "record.ndjson");
  const events: TurnEvent[] = [];
  const asked: PermissionRequest[] = [];
  const env = { CLAUDE_RECORD: record, CLAUDE_STREAMS: streams.map(streamFile).join(","), ...choices.role?.env };
  const settings = {
    kill_grace_ms: 2_000,
    answer_grace_ms: choices.answer_grace_ms ?? 5_000,
    max_line_bytes: 8_388_608,
    max_output_bytes: 67_108_864,
    environment: { PATH: process.env["PATH"], HOME: directory },
  };
  const role = { cli_command: [process.execPath, FAKE, "--effort=high"], ...choices.role, env };
  const result = await cliAgent({ launcher: embeddedLauncher(), settings }).turn(
    requestIn(directory, { ...choices, role }),
    {
      signal: new AbortController().signal,
      started: async () => {},
      emit: (event) => events.push(event),
      secrets: NO_SECRETS,
      permit: async (request) => {
        asked.push(request);
        const granted = (await choices.permit?.()) === true;
        return granted ? { granted } : { granted, notes: "use npm ci" };
      },
    },
  );
  const starts = readFileSync(record, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Start);
  const shown = events.flatMap((one) => (one.kind === "console" ? [one.text] : []));
  return { directory, result, starts, events, asked, shown };
}

describe("claude in print mode", () => {
  test("gets the prompt on stdin, the schema, the permissions and an id, and answers", async () => {
    const { directory, result, starts, events, shown } = await turn(["work"], {
      permissions: { ask: "deny", commands: ["npm test", "git *"], network: false },
      role: { model: "opus" },
    });
    const [{ argv, environment, stdin } = { argv: [], environment: {}, stdin: [] }] = starts;
    const disallowed = [
      "EnterWorktree",
      "EnterPlanMode",
      "ExitPlanMode",
      "ScheduleWakeup",
      "CronCreate",
      "RemoteTrigger",
    ];
    expect(argv).toEqual([
      ...["--effort=high", "--print", "--output-format=stream-json", "--verbose"],
      `--json-schema=${JSON.stringify(answerSchema(["report"]))}`,
      "--permission-mode=acceptEdits",
      ...["Bash(npm test)", "Bash(git *)", "Read(//home/user/bosun/sessions/s-1/**)"].map(
        (tool) => `--allowedTools=${tool}`,
      ),
      ...[...disallowed, "Edit(**/.bosun/**)", "WebFetch", "WebSearch"].map((tool) => `--disallowedTools=${tool}`),
      ...[`--add-dir=${join(directory, "artifacts")}`, "--model=opus", "--strict-mcp-config", "--max-turns=200"],
      `--session-id=${ID}`,
    ]);
    expect(stdin.join("\n")).toContain("Write the limit.");
    expect(environment).toMatchObject({ CLAUDE_CODE_MAX_RETRIES: "2", DISABLE_TELEMETRY: "1" });
    expect(environment["TMPDIR"]).not.toBe(process.env["TMPDIR"]);
    expect(result).toMatchObject({
      answer: { payload_type: "report", payload: { status: "completed", summary: "Wrote the limit." } },
      usage: { input_tokens: 3_160, cached_tokens: 2_050, output_tokens: 60, cost_usd: expect.closeTo(0.00695) },
      conversation: { tokens: 1_111 },
    });
    expect(result.failure).toBeUndefined();
    expect(events[0]).toEqual({ kind: "conversation", id: result.conversation?.id });
    expect(shown).toEqual(["I add the limit.", "write src/limit.ts", "$ echo ok"]);
  });

  test.each<[string, Choices, string[], string[]]>([
    [
      "a manager only reads",
      { role: { type: "manager" } },
      ["--permission-mode=default", "--disallowedTools=Edit", "--disallowedTools=Write"],
      ["--permission-mode=acceptEdits", "--add-dir=/repo/artifacts", "--permission-prompt-tool=stdio"],
    ],
    [
      "a worker that may ask converses on stdin",
      { permissions: { network: true } },
      ["--input-format=stream-json", "--permission-prompt-tool=stdio", "--allowedTools=WebFetch"],
      [],
    ],
    [
      "the user's own flags count",
      {
        role: {
          cli_command: ["claude", "--dangerously-skip-permissions", "--max-turns=9", "--model", "x"],
          model: "y",
        },
      },
      ["--max-turns=9"],
      ["--permission-mode=acceptEdits", "--max-turns=200", "--model=y"],
    ],
    [
      "the smaller of the session's and the role's budget holds",
      { remaining_usd: 3, role: { budget: { usd: 0.5 } satisfies Budget } },
      ["--max-budget-usd=0.5"],
      [],
    ],
    [
      "a conversation is resumed",
      { conversation: { id: "c-1", how: "resume" } },
      ["--resume=c-1"],
      [`--session-id=${ID}`, "--fork-session"],
    ],
    [
      "a copy of a conversation gets an id that the conversation which replaces it does not have",
      { conversation: { id: "c-1", how: "fork" } },
      ["--resume=c-1", "--fork-session", expect.stringContaining("--session-id=") as string],
      [`--session-id=${ID}`],
    ],
  ])("%s", (_title, choices, present, absent) => {
    const { command } = speak(choices);
    expect(command).toEqual(expect.arrayContaining(present));
    for (const flag of absent) expect(command).not.toContain(flag);
  });

  test("the id of a run's conversation is a UUID, and another one for each run", () => {
    expect(ID).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(conversationId({ session_id: "s-1", stamp: { turn_id: "t7", attempt: 1, run: 2 } })).not.toBe(ID);
  });

  test("an answer without the schema is asked for once more in the same conversation", async () => {
    const { result, starts, events } = await turn(["no-answer", "repaired"], { permissions: { ask: "deny" } });
    expect(starts[1]?.argv).toContain(`--resume=${result.conversation?.id}`);
    expect(starts[1]?.stdin.join("\n")).toContain("no JSON object");
    expect(result).toMatchObject({
      answer: { payload_type: "report" },
      usage: { input_tokens: 300, output_tokens: 60 },
    });
    expect(result.failure).toBeUndefined();
    expect(events).toContainEqual(expect.objectContaining({ kind: "refused" }));
  });

  test("a turn whose conversation is gone says so and begins a new one", async () => {
    const { result, starts, shown } = await turn(["lost", "work"], {
      permissions: { ask: "deny" },
      conversation: { id: "c-1", how: "resume" },
    });
    expect(starts.map(({ argv }) => argv.at(-1))).toEqual(["--resume=c-1", `--session-id=${ID}`]);
    expect(shown[0]).toMatch(/No conversation found.*new conversation begins/);
    expect(result).toMatchObject({ answer: { payload_type: "report" }, usage: { output_tokens: 60 } });
  });
});

describe("claude that may ask", () => {
  test("waits for a permission longer than the turn may take, and goes on with it", async () => {
    const { result, asked, starts } = await turn(["granted"], {
      timeout_ms: 3_000,
      // Longer than the turn's limit: the limit is suspended meanwhile.
      permit: () => new Promise((resolve) => setTimeout(() => resolve(true), 3_200)),
    });
    expect(asked).toEqual([{ action: "run: npm --version", why: "See the version" }]);
    const [prompt = {}, reply = {}] = (starts[0]?.stdin ?? []).map((line) => JSON.parse(line) as JsonObject);
    expect(prompt).toMatchObject({
      type: "user",
      message: { content: [{ text: expect.stringContaining("Write the limit.") }] },
    });
    expect(reply).toMatchObject({
      type: "control_response",
      response: { subtype: "success", response: { behavior: "allow", updatedInput: { command: "npm --version" } } },
    });
    expect(result).toMatchObject({ answer: { payload_type: "report" }, exit: { code: 0 } });
    expect(result.failure).toBeUndefined();
  });

  test("is ended after its answer, also while a permission is open", async () => {
    const script = 'echo {} > "$CLAUDE_RECORD"; cat "$CLAUDE_STREAMS"; exec sleep 600';
    const { result, asked } = await turn(["granted"], {
      role: { cli_command: ["sh", "-c", script] },
      answer_grace_ms: 200,
      permit: () => new Promise(() => {}),
    });
    expect(asked).toHaveLength(1);
    expect(result).toMatchObject({ answer: { payload_type: "report" }, exit: { signal: "SIGTERM" } });
  });

  test("asks for nothing where its stdin is closed, and tells at its end what it was denied", async () => {
    const role = { cli_command: ["sh", "-c", 'echo {} > "$CLAUDE_RECORD"; cat "$CLAUDE_STREAMS"'] };
    const asked = async (stream: string) => (await turn([stream], { role, permissions: { ask: "deny" } })).asked;
    expect([await asked("granted"), await asked("denied")]).toMatchObject([[], [{ action: "run: npm --version" }]]);
  });

  test("tells the model what the person said who denied a permission", async () => {
    const { result, starts } = await turn(["denied"]);
    const reply = JSON.parse(starts[0]?.stdin[1] ?? "{}") as JsonObject;
    expect(reply).toMatchObject({
      response: { response: { behavior: "deny", message: expect.stringContaining("use npm ci") } },
    });
    expect(result.answer).toBeDefined();
  });

  test.each([
    [["report"], { payload_type: "report", payload: { status: "blocked" } }],
    [["clarification", "plan"], { payload_type: "clarification", payload: { status: "open" } }],
  ])("ends the turn with its question where it expects %j", async (expects, answer) => {
    const { result, starts } = await turn(["question"], { expects, permissions: { ask: "user" } });
    expect(result).toMatchObject({ answer, exit: { code: 1 }, usage: { output_tokens: 20 } });
    expect(result.failure).toBeUndefined();
    expect(result.answer?.payload["questions"]).toMatchObject([
      { text: "Which database?", options: ["sqlite (Recommended)", "postgres"] },
    ]);
    expect(JSON.parse(starts[0]?.stdin[1] ?? "{}")).toMatchObject({ response: { response: { interrupt: true } } });
  });

  test("decides by itself where the turn takes no question", () => {
    const { reader } = speak({ expects: ["review"], permissions: { ask: "user" } });
    const said: string[] = [];
    const port = { close: () => {}, hear: () => {}, permit: async () => ({ granted: false }) };
    reader.connect?.({ ...port, say: (text) => said.push(text) });
    readAll(reader, linesOf("question").slice(0, -1));
    expect(said).toEqual([expect.stringContaining('"behavior":"deny"')]);
    expect(said[0]).not.toContain("interrupt");
  });
});

describe("what claude says went wrong", () => {
  test.each([
    ["unauthorized", "authentication", { status: 401 }],
    ["no-key", "authentication", undefined],
    ["overloaded", "unavailable", { status: 529 }],
    ["rate-limit", "rate_limited", { status: 429, retry_at: expect.stringMatching(/^2026-11-24T17:00:01/) }],
    ["usage-limit", "rate_limited", { status: 429, retry_at: "2026-11-30T00:53:20Z" }],
    ["credit", "rate_limited", { status: 400 }],
    ["server-error", "unavailable", { status: 500 }],
    ["no-model", "agent_failed", { reason: "model" }],
    ["overflow", "agent_failed", { reason: "context_overflow" }],
    ["refusal", "agent_failed", { reason: "refusal" }],
    ["max-turns", "agent_failed", { reason: "max_turns" }],
    ["budget", "budget_exhausted", undefined],
    ["wrong-answer", "validation_failed", undefined],
  ])("%s is %s", (name, code, details) => {
    const { failure, answer, repair, usage } = hear(linesOf(name));
    expect(failure).toMatchObject({ code, ...(details && { details }) });
    expect([answer, repair]).toEqual([undefined, undefined]);
    expect(usage).toBeDefined();
  });

  test.each([
    ["error: unknown option '--json-schema'", "environment"],
    ["Error: --json-schema is not a valid JSON Schema: x", "environment"],
    ["--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons", "environment"],
  ])("%s", (stderr, code) => {
    expect(hear([], 1, stderr).failure).toMatchObject({ code, message: expect.stringContaining(stderr) });
  });

  test("an end without a result is no answer, whatever the exit code", () => {
    expect(hear([], 0).failure).toMatchObject({ code: "no_answer" });
  });

  test("a full conversation is given up for a new one", () => {
    expect(hear(linesOf("overflow")).gone).toContain("too long");
  });

  test("credit that is used up has no end", () => {
    expect(hear(linesOf("credit")).failure?.details).not.toHaveProperty("retry_at");
  });

  test("the windows of a subscription are told", () => {
    expect(hear(linesOf("usage-limit")).quota).toEqual([
      { name: "5h", used_percent: 100, resets_at: "2026-11-30T00:53:20Z" },
      { name: "week", used_percent: 37, resets_at: "2026-12-04T16:00:00Z" },
    ]);
  });
});

describe("what a turn of claude used", () => {
  test("without a result its input is known, and its output and price are not", () => {
    const { usage, conversation } = hear(linesOf("work").slice(0, -1), 143);
    expect(usage).toEqual({ input_tokens: 3_160, cached_tokens: 2_050 });
    expect(conversation?.tokens).toBe(1_111);
  });

  test("is what the result counts since the last one, also where the budget ended it", () => {
    expect(hear(linesOf("budget")).usage).toMatchObject({ input_tokens: 200_000, output_tokens: 20, cost_usd: 0.8004 });
  });

  test("has no price for a model that is not in its list", () => {
    const lines = linesOf("work").map((line) => line.replaceAll('"costBasis":"list"', '"costBasis":"unknown"'));
    expect(hear(lines, 0).usage).toEqual({ input_tokens: 3_160, cached_tokens: 2_050, output_tokens: 60 });
  });

  test("in an older version is all of its process", () => {
    const [last = ""] = linesOf("work").slice(-1);
    const { model_usage_since_last_result: _new, ...older } = JSON.parse(last) as JsonObject;
    expect(hear([JSON.stringify(older)], 0).usage).toMatchObject({ input_tokens: 3_160, output_tokens: 60 });
  });
});

test("events and lines that it does not know are ignored, and lines without JSON are shown", () => {
  const { reader, shown } = speak();
  expect(reader.read(Buffer.from('{"type":"brand_new","x":1}'), false)).toBe("message");
  expect(reader.read(Buffer.from('{"type":"assistant"'), false)).toBe("message");
  expect(reader.read(Buffer.from("warning: a plugin"), false)).toBe("console");
  expect(shown).toEqual([]);
});
