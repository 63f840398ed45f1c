import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { crew, instructed, report, type Script } from "./crew.ts";
import { BentClock } from "./bent-clock.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, withWorker } from "./roles.ts";
import { begin, DONE, logOf, recordOf, reportOf, resume, run, told } from "./sessions.ts";
import { living } from "../processes.ts";

const given = (budget: JsonObject) => instructed("a", [], { budget });

describe("a ticket with a budget", () => {
  it("of time ends its program, and goes on with a larger budget", async () => {
    const rig = newRig();
    const started = join(rig.workspace, "started");
    const asked: unknown[] = [];
    const error: Script = ({ payload }) => {
      asked.push(payload.message.payload);
      return { payload_type: "plan", payload: { tasks: [given({ wall_s: 600 })] } };
    };
    const agentFor = crew([given({ wall_s: 60 })], { error }, { hand: cli() });
    const roles = withWorker(`if [ -e started ]; then ${REPORT}; else : > started; sleep 60; fi`);
    const clock = new BentClock();
    const session = await begin(rig, { agentFor, roles, clock });
    const ended = run(session);
    await expect.poll(() => existsSync(started)).toBe(true);
    clock.pass(120_000);
    expect(await ended).toEqual(DONE);
    expect(living(session.session_id)).toEqual([]);
    expect(asked).toMatchObject([{ code: "budget_exhausted" }]);
    expect(
      logOf(rig, session.session_id)
        .flatMap(({ record }) => record.effects ?? [])
        .map(({ event, reason }) => [event, reason].filter(Boolean).join(" ")),
    ).toEqual([
      "created",
      "instruction_received",
      "work_stopped budget_exhausted",
      "replanned",
      "instruction_received",
      "report_completed",
      "approved",
    ]);
  });

  it("of turns counts across a stop, and ends with its manager's error", async () => {
    const rig = newRig();
    const agentFor = crew([given({ turns: 2 })], { instruction: () => report({ status: "error" }) });
    const session = await begin(rig, { agentFor });
    const { session_id } = session;
    const first = told(session, recordOf("report", "a"));
    const ended = session.run({ waitForPeople: false });
    await first;
    session.stop("signal", "Enough for now.");
    await ended;
    expect(await run(await resume(rig, session_id, { agentFor }))).toMatchObject({ outcome: "failed" });
    const requests = logOf(rig, session_id, "turn_request").map(({ payload }) => [
      (payload["message"] as { payload_type: string }).payload_type,
      (payload["limits"] as { remaining_turns?: number }).remaining_turns,
    ]);
    expect(requests.slice(1)).toEqual([
      ["instruction", 1],
      ["instruction", 0],
      ["error", 0],
    ]);
    expect(reportOf(rig, session_id)["tickets"]).toMatchObject([
      { status: "error", reason: "budget_exhausted", attempts: 2 },
    ]);
  });
});
