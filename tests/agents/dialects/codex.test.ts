import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliAgent } from "../../../src/agents/cli/agent.ts";
import { codex } from "../../../src/agents/cli/dialects/codex.ts";
import type { Reader, ReadOutput } from "../../../src/agents/cli/dialects/dialect.ts";
import { embeddedLauncher } from "../../../src/agents/embedded-launcher.ts";
import { standardPrompts } from "../../../src/agents/prompts/prompts.ts";
import type { PermissionRequest, TurnEvent, TurnRequest } from "../../../src/kernel/agent.ts";
import { NO_SECRETS } from "../../../src/lib/withholder.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Permissions, Role } from "../../../src/protocol/roles.ts";
import { scratchDirectory } from "../scratch.ts";

const FAKE = join(import.meta.dirname, "../../fixtures/agents/codex.mjs");
const THREAD = "01a20e92-6294-7e40-8309-7967de3075c2";
const AT = "2026-11-24T17:00:00Z";

interface Choices {
  readonly permissions?: Permissions;
  readonly expects?: readonly string[];
  readonly conversation?: TurnRequest["conversation"];
  readonly role?: Partial<Role>;
}

function streamFile(name: string): string {
  return join(import.meta.dirname, `../../fixtures/streams/codex/${name}.ndjson`);
}

function requestIn(workspace: string, { permissions, expects = ["report"], conversation, role }: Choices): TurnRequest {
  return {
    session_id: "s-1",
    at: AT,
    role: { role_id: "worker", type: "worker", cli_command: ["codex"], dialect: "codex", permissions, ...role },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "worker",
      expects: [...expects],
      message: { payload_type: "instruction", payload: { summary: "Write limit.txt." } },
      context: {},
      workspace,
      artifacts_dir: join(workspace, "artifacts"),
    },
    timeout_ms: 20_000,
    idle_timeout_ms: 0,
    slot: 1,
    output_directory: join(workspace, "output"),
    ...(conversation === undefined ? {} : { conversation }),
  } as TurnRequest;
}

function execReader(): Reader {
  return codex({
    request: requestIn("/repo", { permissions: { ask: "deny" } }),
    prompts: standardPrompts(),
    environment: {},
    scratch: scratchDirectory,
    now: () => Date.parse(AT),
    emit: () => {},
    show: () => {},
  }).reader;
}

/** Feeds a recorded stream of `codex exec` to the reader, without a process. */
function hear(name: string, code: number): ReadOutput {
  const reader = execReader();
  const lines = readFileSync(streamFile(name), "utf8").trimEnd().split("\n");
  for (const line of lines) reader.read(Buffer.from(line), false);
  return reader.end({ cause: "exited", exit: { code, signal: null }, spoke: true }, "");
}

/** What is heard of a process that only writes to stderr. */
function ended(stderr: string, code = 1): ReadOutput {
  return execReader().end({ cause: "exited", exit: { code, signal: null }, spoke: true }, stderr);
}

/** Runs a turn of the fake codex, which replays these streams one after the other. */
async function turn(
  streams: readonly string[],
  choices: Choices & { readonly grants?: boolean; readonly worktree?: boolean } = {},
) {
  const directory = scratchDirectory();
  if (choices.worktree === true) {
    mkdirSync(join(directory, "main/.git/worktrees/one"), { recursive: true });
    writeFileSync(join(directory, ".git"), "gitdir: main/.git/worktrees/one\n");
    writeFileSync(join(directory, "main/.git/worktrees/one/commondir"), "../..\n");
    for (const folder of ["main/.git", "main/.git/worktrees/one"]) writeFileSync(join(directory, folder, "HEAD"), "");
  } else {
    mkdirSync(join(directory, ".git"));
    writeFileSync(join(directory, ".git/HEAD"), "");
  }
  const record = join(directory, "record.ndjson");
  const events: TurnEvent[] = [];
  const asked: PermissionRequest[] = [];
  const environment = { PATH: process.env["PATH"], HOME: directory };
  const env = { CODEX_RECORD: record, CODEX_STREAMS: streams.map(streamFile).join(",") };
  const settings = {
    kill_grace_ms: 2_000,
    answer_grace_ms: 5_000,
    max_line_bytes: 8_388_608,
    max_output_bytes: 67_108_864,
    environment,
  };
  const role = { cli_command: [process.execPath, FAKE, "--config", "x=1"], env, ...choices.role };
  const result = await cliAgent({ launcher: embeddedLauncher(), settings }).turn(
    requestIn(directory, { ...choices, role }),
    {
      signal: new AbortController().signal,
      started: async () => {},
      emit: (event) => events.push(event),
      secrets: NO_SECRETS,
      permit: async (request) => {
        asked.push(request);
        return { granted: choices.grants === true };
      },
    },
  );
  const starts = readFileSync(record, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Start);
  return {
    directory,
    result,
    starts,
    events,
    asked,
    shown: events.flatMap((one) => (one.kind === "console" ? [one.text] : [])),
  };
}

interface Start {
  readonly argv: string[];
  readonly stdin: string[];
  readonly temporary: string;
  readonly schema?: JsonObject;
}

function said(start: Start | undefined): JsonObject[] {
  return (start?.stdin ?? []).map((line) => JSON.parse(line) as JsonObject);
}

describe("codex exec", () => {
  test("gets the prompt on stdin, the schema in a file, and the sandbox of the role", async () => {
    const { directory, result, starts, events, shown } = await turn(["work"], {
      permissions: { ask: "deny", network: false },
      role: { model: "gpt-5" },
    });
    const [start] = starts;
    const { argv = [], temporary = "" } = start ?? {};
    const roots = JSON.stringify([join(directory, "artifacts")]);
    expect(argv).toEqual([
      ...["--config", "x=1", "exec", "--json", "--skip-git-repo-check", "-s", "workspace-write"],
      ...["-c", `sandbox_workspace_write.writable_roots=${roots}`],
      ...["-c", "sandbox_workspace_write.network_access=false"],
      ...["--output-schema", join(temporary, "answer.schema.json"), "-m", "gpt-5", "-"],
    ]);
    expect(start?.schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(start?.stdin.join("\n")).toContain("Write limit.txt.");
    expect(result).toEqual({
      answer: { payload_type: "report", payload: expect.objectContaining({ status: "completed" }) as JsonObject },
      exit: { code: 0, signal: null },
      refused: [],
      usage: { input_tokens: 400, output_tokens: 80, cached_tokens: 160 },
      conversation: {
        id: THREAD,
        tokens: 180,
        total: { input_tokens: 400, output_tokens: 80, cached_tokens: 160 },
      },
    });
    expect(events[0]).toEqual({ kind: "conversation", id: THREAD });
    expect(shown).toEqual([
      "I write the file first.",
      "Working on it.",
      "add /repo/limit.txt",
      "$ git add limit.txt && git -c user.name=n -c user.email=n@example.com commit -qm limit",
      "$ echo hi; exit 3",
    ]);
  });

  test.each([
    [["git *"], true],
    [["npm test", "git"], true],
    [["git commit*"], true],
    [["*", "github *", "npx git"], false],
    [["git status", "git diff *"], false],
  ])("lets a worker with the commands %j commit in a worktree: %s", async (commands, commits) => {
    const { directory, starts } = await turn(["approval-accepted"], { permissions: { commands }, worktree: true });
    const git = commits ? ["main/.git/worktrees/one", "main/.git"] : [];
    const roots = ["artifacts", ...git].map((path) => join(directory, path));
    expect(starts[0]?.argv).toContain(`sandbox_workspace_write.writable_roots=${JSON.stringify(roots)}`);
  });

  test("goes on with a conversation, whose running total is subtracted", async () => {
    const total = { input_tokens: 400, output_tokens: 80, cached_tokens: 160 };
    const { result, starts } = await turn(["resumed"], {
      permissions: { write: "none" },
      conversation: { id: THREAD, how: "resume", total },
    });
    expect(starts[0]?.argv).toContain("read-only");
    expect(starts[0]?.argv.slice(-3)).toEqual(["resume", THREAD, "-"]);
    expect(result.usage).toEqual({ input_tokens: 100, output_tokens: 20, cached_tokens: 40 });
    expect(result.conversation?.total).toMatchObject({ input_tokens: 500 });
    const cutOff = await turn(["resumed"], {
      permissions: { write: "none" },
      conversation: { id: THREAD, how: "resume" },
    });
    expect(cutOff.result.usage).toMatchObject({ input_tokens: 500 });
  });

  test("asks once more in the same conversation when the answer breaks the schema", async () => {
    const { result, starts } = await turn(["broken-answer", "resumed"], { permissions: { ask: "deny" } });
    const id = "01a20e9";
    expect(starts).toHaveLength(2);
    expect(starts[1]?.argv.slice(-3)).toEqual(["resume", expect.stringContaining(id), "-"]);
    expect(starts[1]?.stdin.join("\n")).toContain("/status");
    expect(result.answer?.payload_type).toBe("report");
    expect(result.refused).toEqual([]);
  });
});

describe("what codex says went wrong", () => {
  test.each([
    ["unauthorized", "authentication", "401"],
    ["no-key", "authentication", "MODEL_KEY"],
    ["usage-limit", "rate_limited", "usage limit"],
    ["rate-limit", "rate_limited", "30000"],
    ["quota", "rate_limited", "billing"],
    ["overflow", "agent_failed", "context window"],
    ["bad-request", "agent_failed", "Invalid schema for response_format"],
    ["cut-off", "agent_failed", "max_output_tokens"],
    ["server-error", "unavailable", "high demand"],
  ])("%s is %s", (name, code, fact) => {
    const heard = hear(name, 1);
    expect(heard.answer).toBeUndefined();
    expect(heard.failure).toMatchObject({ code, message: expect.stringContaining(fact) as string });
    // A turn that failed tells no use: the next one counts from here.
    expect(heard.usage).toBeUndefined();
    expect(heard.conversation?.total).toEqual({ input_tokens: 0, output_tokens: 0, cached_tokens: 0 });
  });

  test("a turn without a message is refused, though codex exits with 0", () => {
    const heard = hear("refusal", 0);
    expect(heard.failure?.code).toBe("agent_failed");
    expect(heard.repair).toBeUndefined();
    expect(heard.usage).toEqual({ input_tokens: 100, output_tokens: 20, cached_tokens: 40 });
  });

  test("an unknown conversation and a full context begin a new one", () => {
    const lost = "Error: thread/resume: thread/resume failed: no rollout found for thread id 01a1ffd0 (code -32600)\n";
    expect(ended(lost).gone).toContain("01a1ffd0");
    expect(hear("overflow", 1).gone).toContain("context window");
  });

  test("an unknown flag and an untrusted directory are told by stderr", () => {
    const flag = "error: unexpected argument '--output-schema' found\n\nUsage: codex exec [OPTIONS] [PROMPT]\n";
    expect(ended(flag, 2).failure).toMatchObject({
      code: "environment",
      message: expect.stringContaining("'--output-schema'") as string,
      hint: expect.stringContaining("cli_command") as string,
    });
    const trust = "Not inside a trusted directory and --skip-git-repo-check was not specified.\n";
    expect(ended(trust).failure?.code).toBe("trust");
    expect(ended("").failure).toBeUndefined();
  });
});

describe("codex app-server", () => {
  test.each([
    [true, "accept"],
    [false, "decline"],
  ])("asks a person for a command outside of its sandbox: %s is %s", async (grants, decision) => {
    const { directory, result, starts, asked, events } = await turn([`approval-${decision}${grants ? "ed" : "d"}`], {
      grants,
    });
    const [start] = starts;
    expect(start?.argv).toEqual(
      expect.arrayContaining(["app-server", "features.default_mode_request_user_input=true"]),
    );
    expect(asked).toEqual([
      {
        action: "run: touch /elsewhere/outside",
        why: "The file belongs there.",
      },
    ]);
    const messages = said(start);
    expect(messages.map(({ method }) => method)).toEqual([
      "initialize",
      "initialized",
      "thread/start",
      "turn/start",
      undefined,
    ]);
    expect(messages[2]?.["params"]).toMatchObject({
      cwd: directory,
      sandbox: "workspace-write",
      approvalPolicy: "on-request",
    });
    expect(messages[3]?.["params"]).toMatchObject({ outputSchema: { type: "object" } });
    expect(messages[4]).toEqual({ id: 0, result: { decision } });
    expect(result).toMatchObject({
      answer: { payload_type: "report", payload: { status: "completed" } },
      exit: { code: 0 },
      usage: { input_tokens: 200, output_tokens: 40, cached_tokens: 80 },
      conversation: { tokens: 120, total: { input_tokens: 200 } },
    });
    expect(events[0]).toEqual({ kind: "conversation", id: result.conversation?.id });
  });

  test("runs a command that the role names without asking", async () => {
    const commands = ["touch *"];
    const { asked, starts } = await turn(["approval-accepted"], { permissions: { ask: "deny", commands } });
    expect(asked).toEqual([]);
    expect(said(starts[0]).at(-1)).toEqual({ id: 0, result: { decision: "accept" } });
  });

  test("asks for a change by its path, with the patch", async () => {
    const { asked, starts } = await turn(["change-declined"]);
    expect(asked).toMatchObject([
      { action: "write: /elsewhere/outside.txt", details: expect.stringContaining("1\n") as string },
    ]);
    expect(said(starts[0]).at(-1)).toEqual({ id: 0, result: { decision: "decline" } });
  });

  test.each([
    ["a worker", ["report"], "report", { status: "blocked" }],
    ["a manager", ["clarification", "plan"], "clarification", { status: "open" }],
  ] as const)("the question of %s ends the turn", async (_, expects, payload_type, payload) => {
    const type = payload_type === "report" ? "worker" : "manager";
    const { result, starts } = await turn(["question"], { expects, role: { type }, permissions: { ask: "user" } });
    expect(result.answer).toMatchObject({
      payload_type,
      payload: {
        ...payload,
        questions: [
          {
            question_id: "db",
            text: "Which database?",
            options: ["sqlite (Recommended)", "postgres"],
            default: "sqlite (Recommended)",
            free_text: true,
          },
        ],
      },
    });
    expect(result.failure).toBeUndefined();
    expect(result.usage).toMatchObject({ input_tokens: 100 });
    expect(said(starts[0]).at(-1)).toMatchObject({ method: "turn/interrupt" });
  });

  test("goes on with a conversation, whose running total is subtracted", async () => {
    const conversation = {
      id: "t",
      how: "resume",
      total: { input_tokens: 200, output_tokens: 40, cached_tokens: 80 },
    } as const;
    const { result, starts } = await turn(["server-resumed"], { conversation });
    expect(said(starts[0])[2]).toMatchObject({ method: "thread/resume", params: { threadId: "t" } });
    expect(result.usage).toEqual({ input_tokens: 100, output_tokens: 20, cached_tokens: 40 });
  });

  test("begins a new conversation, and says so, when the old one is lost", async () => {
    const conversation = { id: "t", how: "resume" } as const;
    const { result, starts, shown } = await turn(["server-lost", "approval-accepted"], { conversation });
    expect(starts.map((start) => said(start)[2]?.["method"])).toEqual(["thread/resume", "thread/start"]);
    expect(shown[0]).toContain("no rollout found");
    expect(result.answer?.payload_type).toBe("report");
    expect(result.failure).toBeUndefined();
  });

  test("tells the windows of a subscription", async () => {
    const { result } = await turn(["subscription"]);
    expect(result.quota).toEqual([
      { name: "5h", used_percent: 38, resets_at: "2026-11-24T19:05:01Z" },
      { name: "week", used_percent: 12, resets_at: "2026-11-29T08:11:41Z" },
    ]);
  });

  test("a failed turn has the cause in its own words", async () => {
    const { result } = await turn(["server-unauthorized"]);
    expect(result.failure?.code).toBe("authentication");
    expect(result.answer).toBeUndefined();
  });
});
