import { describe, expect, it } from "vitest";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, shell, withRole } from "./roles.ts";
import { begin, logOf, reportOf, resume, run } from "./sessions.ts";

const given = (id: string, more = {}) => instructed(id, [], { review: "manager", ...more });

describe("a number too large for dates and sums", () => {
  it("is refused in a plan, before and after a resume", async () => {
    const rig = newRig();
    const tasks = '[{"task_id":"a","description":"x","budget":{"wall_s":1e13},"instruction":{"summary":"x"}}]';
    const roles = withRole("boss", { cli_command: shell(`say plan '{"tasks":${tasks}}'`) });
    const choices = { roles, agentFor: crew([], {}, { boss: cli() }), config: { max_retries: 0 } };
    const session = await begin(rig, choices);
    const stopped = { kind: "stopped", reason: "manager_failed" };
    expect(await run(session)).toMatchObject(stopped);
    expect(logOf(rig, session.session_id, "turn_failed")).toMatchObject([
      { payload: { code: "validation_failed", details: { pointer: "/payload/tasks/0/budget/wall_s" } } },
    ]);
    expect(await run(await resume(rig, session.session_id, choices))).toMatchObject(stopped);
  });

  it("is refused as a cost", async () => {
    const rig = newRig();
    const roles = withRole("hand", {
      cli_command: shell(`say report '{"status":"completed","usage":{"cost_usd":1e308}}'`),
    });
    const agentFor = crew([given("a")], {}, { hand: cli() });
    const session = await begin(rig, { roles, agentFor, config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ outcome: "failed" });
    expect(logOf(rig, session.session_id, "turn_failed")).toMatchObject([
      { payload: { code: "validation_failed", details: { pointer: "/payload/usage/cost_usd" } } },
    ]);
  });

  it("from an in-process agent is capped at the largest number", async () => {
    const rig = newRig();
    const most = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 1, cost_usd: 1_000_000_000 };
    const agentFor = crew([], {
      requirement: () => ({ payload_type: "plan", payload: { tasks: [given("a"), given("b")], usage: most } }),
      instruction: () => report({ usage: most }),
      review_request: () => ({ payload_type: "review", payload: { decision: "approved", usage: most } }),
    });
    const session = await begin(rig, { agentFor });
    expect(await run(session)).toMatchObject({ outcome: "done" });
    expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({
      turns: 5,
      input_tokens: Number.MAX_SAFE_INTEGER,
      output_tokens: 5,
      cost_usd: 5_000_000_000,
    });
  });
});
