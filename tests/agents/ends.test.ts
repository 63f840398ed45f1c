import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import { NO_SECRETS } from "../../src/lib/withholder.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { livingInGroup } from "../processes.ts";
import { scratchDirectory } from "./scratch.ts";

const ANSWER = JSON.stringify({ payload_type: "report", report: { status: "completed", summary: "Done." } });
const LIMIT = "You've hit your usage limit.";

/** What each program prints when it has answered, and when it tells a failure that ends its turn. */
const PROGRAMS: Record<string, { readonly answers: readonly JsonObject[]; readonly fails: readonly JsonObject[] }> = {
  claude: {
    answers: [{ type: "result", subtype: "success", is_error: false, result: ANSWER, modelUsage: {} }],
    fails: [
      { type: "result", subtype: "success", is_error: true, api_error_status: 429, result: LIMIT, modelUsage: {} },
    ],
  },
  codex: {
    answers: [
      { type: "thread.started", thread_id: "one" },
      { type: "item.completed", item: { type: "agent_message", text: ANSWER } },
      { type: "turn.completed", usage: {} },
    ],
    fails: [{ type: "turn.failed", error: { message: LIMIT } }],
  },
  opencode: {
    answers: [
      { type: "text", sessionID: "ses_1", part: { text: ANSWER } },
      { type: "step_finish", sessionID: "ses_1", part: { reason: "stop" } },
    ],
    fails: [
      { type: "error", sessionID: "ses_1", error: { name: "APIError", data: { statusCode: 429, message: LIMIT } } },
    ],
  },
};

/** Runs a turn of a program that prints these lines and then does what a line of shell says. */
async function turn(dialect: string, lines: readonly JsonObject[], then: string, idle_timeout_ms = 10_000) {
  const directory = scratchDirectory();
  const program = join(directory, dialect);
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  writeFileSync(program, `#!/bin/sh\ncat <<'END'\n${text}\nEND\n${then}\n`);
  chmodSync(program, 0o755);
  const pids: number[] = [];
  const request = {
    session_id: "s-1",
    at: "2026-11-24T17:00:00Z",
    role: { role_id: "hand", type: "worker", cli_command: [program], dialect, permissions: { ask: "deny" } } as Role,
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "hand",
      expects: ["report"],
      message: { payload_type: "instruction", payload: { summary: "Do it." } },
      context: {},
      workspace: directory,
      artifacts_dir: join(directory, "artifacts"),
    },
    timeout_ms: 20_000,
    idle_timeout_ms,
    slot: 1,
    output_directory: join(directory, "output"),
  } as unknown as TurnRequest;
  const settings = {
    kill_grace_ms: 500,
    answer_grace_ms: 200,
    max_line_bytes: 8_388_608,
    max_output_bytes: 67_108_864,
    environment: { PATH: process.env["PATH"], HOME: directory },
  };
  const result: TurnResult = await cliAgent({ launcher: embeddedLauncher(), settings }).turn(request, {
    signal: new AbortController().signal,
    started: async (identity) => void (identity && pids.push(identity.pid)),
    emit: () => {},
    secrets: NO_SECRETS,
    permit: async () => ({ granted: false }),
  });
  return { result, living: pids.flatMap(livingInGroup) };
}

describe.each(Object.entries(PROGRAMS))("%s", (dialect, { answers, fails }) => {
  test.each([
    ["stays alive", "sleep 600"],
    ["exits with 1", "exit 1"],
    ["is killed", "kill -9 $$"],
    ["fails at something else", `echo '${JSON.stringify(fails[0]).replaceAll("'", "’")}'; exit 1`],
  ])("keeps an answer when it then %s", async (_what, then) => {
    const { result, living } = await turn(dialect, answers, then);
    expect(result.failure).toBeUndefined();
    expect(result.answer).toMatchObject({ payload_type: "report", payload: { status: "completed" } });
    expect(living).toEqual([]);
  });

  test("ends its turn at once when it tells a failure and stays alive", async () => {
    const { result, living } = await turn(dialect, fails, "sleep 600");
    expect(result.failure).toMatchObject({
      code: "rate_limited",
      message: expect.stringContaining("usage limit") as string,
    });
    expect(living).toEqual([]);
  });

  test("that only tells on stderr why it cannot reach its server is unavailable", async () => {
    const { result } = await turn(dialect, [], "echo 'Error: connect ECONNREFUSED 127.0.0.1:9' >&2; exit 1");
    expect(result.failure?.code).toBe("unavailable");
  });
});

test("an agent that speaks envelopes fails its turn with an exit code of its own, as SPEC.md says", async () => {
  const answer = {
    session_id: "s-1",
    source: "hand",
    target: "scheduler",
    payload_type: "report",
    version: "1.0",
    payload: { status: "completed", summary: "Done." },
  };
  const { result } = await turn("envelope", [answer], "exit 1");
  expect(result.answer).toBeDefined();
  expect(result.failure?.code).toBe("agent_failed");
});

test.each(["sleep 600", "exit 1"])(
  "codex that tells an error and then does `%s` fails with its words",
  async (then) => {
    const { result } = await turn("codex", [{ type: "error", message: "git diff failed with status 128" }], then, 300);
    expect(result.failure?.code).toBe(then === "exit 1" ? "agent_failed" : "idle_timeout");
    expect(result.failure?.message).toContain("status 128");
  },
);
