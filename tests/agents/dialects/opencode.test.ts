import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DialectTurn, ProcessPlan, ReadOutput } from "../../../src/agents/cli/dialects/dialect.ts";
import { opencode } from "../../../src/agents/cli/dialects/opencode.ts";
import { standardPrompts } from "../../../src/agents/prompts/prompts.ts";
import type { TurnRequest } from "../../../src/kernel/agent.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";

const AT = "2026-11-24T17:00:00Z";

interface Choices {
  readonly role?: Partial<Role>;
  readonly expects?: readonly string[];
  readonly conversation?: TurnRequest["conversation"];
  readonly repair?: DialectTurn["repair"];
  readonly show?: (text: string) => void;
}

function speak({ role, expects = ["report"], conversation, repair, show = () => {} }: Choices = {}): ProcessPlan {
  const request = {
    session_id: "s-1",
    at: AT,
    role: { role_id: "worker", type: "worker", cli_command: ["opencode"], ...role },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "worker",
      expects: [...expects],
      message: { payload_type: "instruction", payload: { summary: "Write limit.txt." } },
      context: {},
      workspace: "/repo",
      artifacts_dir: "/home/artifacts",
    },
    ...(conversation === undefined ? {} : { conversation }),
  } as unknown as TurnRequest;
  return opencode({
    request,
    prompts: standardPrompts(),
    environment: {},
    scratch: () => "/tmp/scratch",
    now: () => Date.parse(AT),
    emit: () => {},
    show,
    ...(repair === undefined ? {} : { repair }),
  });
}

/** Feeds a recorded stream to the reader, without a process. */
function hear(lines: readonly string[], code: number, choices: Choices = {}, stderr = ""): ReadOutput {
  const { reader } = speak(choices);
  for (const line of lines) reader.read(Buffer.from(line), false);
  return reader.end({ cause: "exited", exit: { code, signal: null }, spoke: true }, stderr);
}

function recorded(name: string): string[] {
  const file = join(import.meta.dirname, `../../fixtures/streams/opencode/${name}.ndjson`);
  return readFileSync(file, "utf8").trimEnd().split("\n");
}

function failing(name: string, data: JsonObject): string[] {
  return [JSON.stringify({ type: "error", sessionID: "ses_1", error: { name, data } })];
}

function rules(role: Partial<Role>): JsonObject {
  return JSON.parse(speak({ role }).environment?.["OPENCODE_PERMISSION"] ?? "") as JsonObject;
}

describe("opencode", () => {
  test("answers with its last text, and tells what it did and used", () => {
    const shown: string[] = [];
    const heard = hear(recorded("worker"), 0, { show: (text) => shown.push(text) });
    expect(heard).toMatchObject({
      answer: { payload_type: "report", payload: { status: "completed" } },
      usage: { input_tokens: 300, output_tokens: 60, cached_tokens: 0 },
      conversation: { id: "ses_df319b241ffepF5e8uMsvGLrAX" },
    });
    expect(heard.usage?.cost_usd).toBeCloseTo(0.00042);
    expect(shown).toEqual(["Working on t2.", "write out/t2.txt", "$ echo ran > ran.txt"]);
    expect(hear(recorded("manager"), 0, { expects: ["plan"] }).answer).toMatchObject({ payload_type: "plan" });
  });

  test("is given the prompt on stdin, so that no word of it is an option", () => {
    const { command, input } = speak({ role: { model: "stub/large", cli_command: ["opencode", "--agent", "build"] } });
    expect(command).toEqual(expect.arrayContaining(["run", "--format", "json", "--model", "stub/large", "--agent"]));
    expect(input).toContain("Write limit.txt.");
    expect(command.join(" ")).not.toContain("limit.txt");
  });

  test("goes on with a conversation, copies one, and repairs its answer in the same", () => {
    const conversation = { id: "ses_1", how: "fork" } as const;
    expect(speak({ conversation }).command.join(" ")).toContain("--session ses_1 --fork");
    const repair = { conversation: { id: "ses_2" }, prompt: "Once more." };
    const { command, input } = speak({ conversation, repair });
    expect(command.join(" ")).toMatch(/--session ses_2(?! --fork)/);
    expect(input).toBe("Once more.");
    const text = JSON.stringify({ type: "text", sessionID: "ses_1", part: { text: "All done." } });
    expect(hear([text], 0)).toMatchObject({ refused: [{ code: "malformed_output" }], repair: expect.any(String) });
    expect(hear([], 1, { conversation }, "Error: Session not found").gone).toContain("ses_1");
  });

  test("has the role's permissions, and never asks where nobody is", () => {
    const worker = rules({ permissions: { commands: ["npm test", "git *"], network: false } });
    expect(worker).toMatchObject({
      edit: { "*": "allow", ".git": "deny", "*/.git/*": "deny", ".bosun/*": "deny", "*/.bosun/*": "deny" },
      bash: { "*": "deny", "npm test": "allow", "git *": "allow" },
      webfetch: "deny",
      external_directory: { "*": "deny", "/home/artifacts/**": "allow" },
    });
    expect(rules({ type: "manager" })).toMatchObject({ edit: "deny", bash: { "*": "deny" } });
    expect(JSON.stringify(worker)).not.toContain('"ask"');
    // The last rule that fits counts.
    expect(Object.keys(objectOf(worker["edit"]))[0]).toBe("*");
  });

  test("fails with the remedy when its own configuration made it ask", () => {
    const { failure, answer } = hear(recorded("rejected"), 0);
    expect(answer).toBeUndefined();
    expect(failure).toMatchObject({ code: "agent_failed", message: expect.stringContaining("touch zz") });
    expect(failure?.hint).toContain("allow or deny");
  });

  test.each([
    ["APIError", { message: "no", statusCode: 401 }, "authentication"],
    ["ProviderAuthError", { message: "no key" }, "authentication"],
    ["APIError", { message: "down", statusCode: 500 }, "unavailable"],
    ["ContentFilterError", { message: "no" }, "agent_failed"],
    ["Newer", {}, "agent_failed"],
  ])("tells %s %o as %s", (name, data, code) => {
    expect(hear(failing(name, data), 1).failure?.code).toBe(code);
  });

  test("waits as long as the model's server says", () => {
    const { failure } = hear(recorded("rate-limit"), 1);
    expect(failure?.code).toBe("rate_limited");
    expect(failure?.details).toEqual({ status: 429, retry_at: expect.stringMatching(/^2026-11-24T17:00:0[1-9]/) });
  });

  test("tells an answer that was cut, and a cost of nothing as unknown", () => {
    const part = { reason: "length", tokens: { input: 10, output: 5, cache: { read: 2 } }, cost: 0 };
    const { failure, usage } = hear([JSON.stringify({ type: "step_finish", sessionID: "ses_1", part })], 0);
    expect(failure).toMatchObject({ code: "agent_failed", message: expect.stringContaining("limit of tokens") });
    expect(usage).toEqual({ input_tokens: 12, output_tokens: 5, cached_tokens: 2 });
  });
});
