import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { crew, instructed, report } from "./crew.ts";
import { instant } from "../../src/protocol/timestamp.ts";
import { BentClock } from "./bent-clock.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, shell, withRole, withWorker } from "./roles.ts";
import { begin, DONE, isAsked, logOf, recordOf, reportOf, resume, run, told } from "./sessions.ts";
import { until } from "../commands/rig.ts";
import { living } from "../processes.ts";
import { value } from "../results.ts";

const TOLD = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 };

/** Long enough for several commits. */
async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

/** A crew whose every answer tells what it took, but for what `more` says otherwise of the workers. */
function telling(more: JsonObject) {
  return crew([instructed("a"), instructed("b")], {
    requirement: () => ({ payload_type: "plan", payload: { tasks: [instructed("a"), instructed("b")], usage: TOLD } }),
    instruction: () => report({ usage: more }),
    review_request: () => ({ payload_type: "review", payload: { decision: "approved", usage: TOLD } }),
  });
}

describe("the remaining budget in a turn request", () => {
  it("has the tokens and money that are left", async () => {
    const rig = newRig();
    const config = { budget: { tokens: 1000, usd: 5 }, max_workers: 1 };
    const session = await begin(rig, { agentFor: telling(TOLD), config });
    expect(await run(session)).toMatchObject({ outcome: "done" });
    const limits = logOf(rig, session.session_id, "turn_request").map(({ payload }) => payload["limits"]);
    expect(limits.slice(0, 2)).toMatchObject([
      { remaining_tokens: 1000, remaining_usd: 5 },
      { remaining_tokens: 985, remaining_usd: 4.75 },
    ]);
  });

  it("is absent without limits", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: telling(TOLD), config: { budget: {} } });
    expect(await run(session)).toMatchObject({ outcome: "done" });
    const [first] = logOf(rig, session.session_id, "turn_request");
    expect(Object.keys(first?.payload["limits"] ?? {})).toEqual(["idle_timeout_s", "timeout_s"]);
  });
});

describe("a session at its limit", () => {
  it("starts no turn, lets running ones end, and stops", async () => {
    const rig = newRig();
    let slow = 0;
    const both = Promise.withResolvers<void>();
    const tasks = ["a", "b", "c"].map((id) => instructed(id));
    const agentFor = crew(tasks, {
      instruction: async ({ stamp }) => {
        slow += 1;
        if (slow === 2) both.resolve();
        await both.promise;
        // The second comes to its end while the first one's review is already forbidden.
        if (stamp.subject === "b") await nextTurns();
        return report();
      },
    });
    const session = await begin(rig, { agentFor, config: { budget: { turns: 3 }, max_workers: 2 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "limit" });
    const { session_id } = session;
    expect(logOf(rig, session_id, "report").map(({ record }) => record.ticket_id)).toEqual(["a", "b"]);
    expect(logOf(rig, session_id, "turn_request")).toHaveLength(3);
    const resumed = await resume(rig, session_id, { agentFor }, { limits: { turns: 50 } });
    expect(await run(resumed)).toMatchObject(DONE);
  });
});

describe("a session whose time is up", () => {
  const config = { budget: { wall_s: 60 } } as const;
  const inAnHour = () => instant(Date.now() + 3_600_000);
  const limited = (): Answer => ({
    payload_type: "error",
    payload: { code: "rate_limited", message: "Later.", details: { retry_at: inAnHour() } },
  });

  it("stops while it waits for a person", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const agentFor = crew([instructed("a")]);
    const session = await begin(rig, { agentFor, clock, config: { ...config, plan_approval: "ask" } });
    const asked = isAsked(session);
    const ended = session.run({ waitForPeople: true });
    await asked;
    await nextTurns();
    clock.pass(60_000);
    expect(value(await ended)).toMatchObject({ kind: "stopped", reason: "limit" });
    const { session_id } = session;
    const payload = logOf(rig, session_id, "session_stopped").at(-1)?.payload;
    expect(payload).toMatchObject({ limit: "wall_s", max: 60 });
    // Besides what passed at once, what it took until then.
    expect(payload?.["used"]).toBeGreaterThanOrEqual(60);
    expect(payload?.["used"]).toBeLessThan(120);
    const resumed = await resume(rig, session_id, { agentFor }, { limits: { wall_s: 600 } });
    const [ask_id] = resumed.ledger.asks.keys();
    resumed.submitFromPerson({ source: "user", payload_type: "approval", payload: { ask_id, decision: "approved" } });
    expect(await run(resumed)).toMatchObject(DONE);
  });

  it("gives turns in flight a grace, then ends them, at no cost of an attempt", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const stalled = `if [ -e go ]; then ${REPORT}; else touch here; exec sleep 600; fi`;
    const agentFor = crew([instructed("a"), instructed("b")], {}, { hand: cli() });
    const short = { ...config, kill_grace_s: 5, max_workers: 1 };
    const session = await begin(rig, { roles: withWorker(stalled), agentFor, clock, config: short });
    const { session_id } = session;
    const ended = run(session);
    await until("the worker is at work", () => existsSync(join(rig.workspace, "here")));
    clock.pass(60_000);
    await nextTurns();
    expect(living(session_id)).toHaveLength(1);
    clock.pass(5_000);
    expect(await ended).toEqual({ kind: "stopped", reason: "limit", message: "the limit of 60 s is reached" });
    expect(living(session_id)).toEqual([]);
    writeFileSync(join(rig.workspace, "go"), "");
    const resumed = await resume(rig, session_id, { agentFor }, { limits: { wall_s: 600 } });
    expect(await run(resumed)).toEqual(DONE);
    const tickets = [{ attempts: 1 }, { attempts: 1 }];
    expect(reportOf(rig, session_id)).toMatchObject({ recoveries: 0, tickets });
  });

  it("stops while it waits for a held role", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const session = await begin(rig, { agentFor: crew([instructed("a")], { instruction: limited }), clock, config });
    const held = told(session, recordOf("error", "a"));
    const ended = run(session);
    await held;
    await nextTurns();
    clock.pass(60_000);
    expect(await ended).toMatchObject({ kind: "stopped", reason: "limit" });
  });
});

describe("a session", () => {
  it.each([
    ["tokens", { cost_usd: 1 }, "usage.input_tokens"],
    ["usd", { input_tokens: 1, output_tokens: 1 }, "usage.cost_usd"],
  ] as const)("with a limit in %s stops at a turn that does not report it", async (limit, usage, field) => {
    const rig = newRig();
    const config = { budget: { [limit]: 100 }, max_workers: 1 };
    const agentFor = telling(usage);
    const session = await begin(rig, { agentFor, config });
    const { session_id } = session;
    expect(await run(session)).toMatchObject({
      kind: "stopped",
      reason: "limit",
      message: expect.stringMatching(new RegExp(`"hand".*${field}.*--budget-${limit}`)),
    });
    expect(await run(await resume(rig, session_id, { agentFor }))).toMatchObject({ kind: "stopped", reason: "limit" });
    // Raising another limit does not accept the unknown one.
    const other = { limits: { turns: 50 } };
    expect(await run(await resume(rig, session_id, { agentFor }, other))).toMatchObject({ kind: "stopped" });
    const requests = logOf(rig, session_id, "turn_request").length;
    const again = await run(await resume(rig, session_id, { agentFor }, { limits: { [limit]: 100 } }));
    expect(again).toMatchObject({ kind: "stopped" });
    expect(logOf(rig, session_id, "turn_request").length).toBeGreaterThan(requests);
  });

  it("without limits accepts unknown usage", async () => {
    const rig = newRig();
    expect(await run(await begin(rig, { agentFor: telling({}) }))).toMatchObject({ outcome: "done" });
  });

  it.each([{ usd: 5 }, { tokens: 500 }])(
    "with a limit of %j goes on after a rate limit without usage",
    async (budget) => {
      const rig = newRig();
      const agentFor = crew([], {
        requirement: () => ({ payload_type: "plan", payload: { tasks: [instructed("a")], usage: TOLD } }),
        instruction: ({ stamp }) => {
          if (stamp.run > 1) return report({ usage: TOLD });
          const details = { retry_at: instant(Date.now() + 100) };
          return { payload_type: "error", payload: { code: "rate_limited", message: "Later.", details } };
        },
        review_request: () => ({ payload_type: "review", payload: { decision: "approved", usage: TOLD } }),
      });
      const session = await begin(rig, { agentFor, config: { budget } });
      expect(await run(session)).toMatchObject({ outcome: "done" });
      expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({ turns: 4, input_tokens: 30, cost_usd: null });
    },
  );
});

/** Reports its cost when it is ended, and otherwise at once. Ticket `a` never ends by itself. */
const DEAR = `
paid() { say report "{\\"status\\":\\"completed\\",\\"usage\\":{\\"input_tokens\\":1,\\"output_tokens\\":1,\\"cost_usd\\":$1}}"; }
if [ "$BOSUN_TICKET_ID" = a ] && [ ! -e begun ]; then
  : >begun
  trap 'if [ "$LATE" ]; then paid 100; fi; exit 0' TERM
  echo begun
  while :; do sleep 0.05; done
fi
paid 0.5`;

describe("the cost of a run that is cut short", () => {
  const paid = { input_tokens: 1, output_tokens: 1, cost_usd: 0.5 };
  const choices = (late: string) => ({
    roles: withRole("hand", { cli_command: shell(DEAR), env: { LATE: late } }),
    agentFor: crew(
      [],
      {
        requirement: () => ({
          payload_type: "plan",
          payload: { tasks: [instructed("a"), instructed("b")], usage: paid },
        }),
        review_request: () => ({ payload_type: "review", payload: { decision: "approved", usage: paid } }),
      },
      { hand: cli() },
    ),
    config: { budget: { usd: 5 }, max_workers: 1 },
  });
  const cancel = {
    source: "user",
    payload_type: "user_command",
    payload: { command: "cancel", ticket_id: "a" },
  } as const;

  it("is unknown and does not stop the session", async () => {
    const rig = newRig();
    const session = await begin(rig, choices(""));
    const begun = told(session, (event) => event.kind === "console");
    const ended = run(session);
    await begun;
    session.submitFromPerson(cancel);
    expect(await ended).toMatchObject({ kind: "closed" });
    expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({ input_tokens: 3, cost_usd: null });
  });

  it("counts if it is reported late, and may stop the session", async () => {
    const rig = newRig();
    const session = await begin(rig, choices("yes"));
    const begun = told(session, (event) => event.kind === "console");
    const ended = run(session);
    await begun;
    session.submitFromPerson(cancel);
    expect(await ended).toMatchObject({ kind: "stopped", reason: "limit", message: expect.stringContaining("5 USD") });
    expect(logOf(rig, session.session_id, "report")).toMatchObject([
      { record: { disposition: "late", usage: { cost_usd: 100 } } },
    ]);
    const limits = { limits: { usd: 200 } };
    expect(await run(await resume(rig, session.session_id, choices("yes"), limits))).toMatchObject({ kind: "closed" });
    // That the log gives this report again is looked at when the test is over.
    expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({ input_tokens: 4, cost_usd: null });
  });

  it("is unknown after a stop", async () => {
    const rig = newRig();
    const session = await begin(rig, choices(""));
    const begun = told(session, (event) => event.kind === "console");
    const ended = run(session);
    await begun;
    session.stop("signal", "enough");
    await ended;
    expect(await run(await resume(rig, session.session_id, choices("")))).toMatchObject({ kind: "closed" });
    expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({ turns: 6, input_tokens: 5, cost_usd: null });
  });
});

describe("the usage in a refused answer", () => {
  it("counts", async () => {
    const rig = newRig();
    const payload =
      '{"tasks_ref":{"label":"x","uri":"nothere.json"},"usage":{"input_tokens":1,"output_tokens":1,"cost_usd":7}}';
    const roles = withRole("boss", { cli_command: shell(`say plan '${payload}'`) });
    const session = await begin(rig, { roles, agentFor: crew([], {}, { boss: cli() }), config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    expect(session.ledger.figures).toMatchObject({ input_tokens: 1, cost_usd: 7, unpriced_turns: 0 });
  });
});
