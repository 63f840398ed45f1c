import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { requestLine } from "../../src/agents/cli/dialects/envelope.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Answer, TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { childSessions } from "../../src/runtime/children/child-sessions.ts";
import { systemClock } from "../../src/runtime/time/clock.ts";
import { createSession } from "../../src/runtime/create.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { quoted } from "./spec.ts";
import { value } from "../results.ts";

const SESSION = "s-spec";
const ADA = { user: "ada", host: "here", via: "test" };
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bosun-spec-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function say(payload_type: Answer["payload_type"], payload: JsonObject): Answer {
  return { payload_type, payload };
}

function seat(role_id: string, type: Role["type"]): Role {
  return { role_id, type, backend: "scripted" };
}

it("the quoted program rebuilds a manager's request after a discussion", async () => {
  const asked: TurnRequest[] = [];
  const answers: Readonly<Record<string, Answer>> = {
    "manager requirement": say("plan", { tasks: [{ task_id: "a", description: "Do a", proposal_needed: true }] }),
    "manager ticket": say("instruction_proposal", { summary: "So", draft_steps: ["one", { text: "two" }] }),
    "participant requirement": say("opinion", { round: 1, position: "Not so" }),
    "participant report": say("verdict", { conclusion: "Otherwise", dissent: ["so"] }),
    "manager report": say("instruction", { summary: "Otherwise" }),
    "worker instruction": say("report", { status: "completed" }),
    "manager review_request": say("review", { decision: "approved" }),
  };
  const scripted = scriptedAgent((request: TurnRequest) => {
    asked.push(structuredClone(request));
    const answer = answers[`${request.role.type} ${request.payload.message.payload_type}`];
    if (!answer) throw new Error(`${request.role.role_id} has no answer`);
    return answer;
  });
  const store = value(openStore(home));
  const seats = ["one", "two", "wise"].map((role_id): Role => ({ role_id, type: "participant", backend: "scripted" }));
  const discussion = { mode: "debate", input: { debaters: ["one", "two"], judge: "wise", rounds: 1 } };
  const settings = { ...CONFIGURATION_DEFAULTS, plan_approval: "never" as const, workspace: home, discussion };
  const childrenOf = childSessions(async () => debateMode);
  const place = { home, store, clock: systemClock, launcher: embeddedLauncher(), files: true, childrenOf };
  const session = value(
    await createSession({ ...place, version: "0.0.0", agentFor: () => scripted }, scheduleMode, {
      session_id: SESSION,
      config: settings,
      roles: [seat("boss", "manager"), seat("hand", "worker"), ...seats],
      workspace: home,
      started_by: ADA,
      facts: [{ payload_type: "requirement", payload: { text: "Mend it" } }],
    }),
  );
  expect(value(await session.run({ waitForPeople: false }))).toEqual({ kind: "closed", outcome: "done" });
  store.close();
  writeFileSync(join(home, "sent.py"), quoted("sent.py"));
  const [told] = asked.filter(
    ({ role, payload }) => role.type === "manager" && payload.message.payload_type === "report",
  );
  if (!told) throw new Error("the manager was not told");
  const log = join(home, "logs", SESSION);
  const name = readdirSync(log).find((one) => {
    return one.includes("turn_request") && readFileSync(join(log, one), "utf8").includes('"$lines"');
  });
  expect(
    execFileSync("python3", [join(home, "sent.py"), log, String(Number(name?.slice(0, 6)))], { encoding: "utf8" }),
  ).toBe(requestLine(told));
  expect(told.payload.message.payload).toMatchObject({
    summary: expect.stringContaining("Otherwise"),
    issues: ["so"],
  });
  const [first] = asked.filter(({ role }) => role.role_id === "one");
  expect(first?.payload.message.payload).toEqual({
    text: "How should this task be done?\nDo a\nProposed:\nSo\nSteps:\n- one\n- two",
  });
});
