import { describe, expect, it } from "vitest";
import { failure } from "../../src/protocol/failure.ts";
import { instant, milliseconds } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import { crew, instructed, report } from "./crew.ts";
import { BentClock } from "./bent-clock.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, shell, withRole } from "./roles.ts";
import { begin, countsIn, DONE, logOf, recordOf, reportOf, resume, run, say, told } from "./sessions.ts";

const given = (id: string, role_id: string) => instructed(id, [], { assigned_to: { role_id } });

/** Two workers on one account, and one that has its own. */
const SHARED = [
  ...withRole("hand", { account: "acme" }),
  { role_id: "eye", type: "worker", cli_command: ["unused"], account: "acme" },
  { role_id: "ear", type: "worker", cli_command: ["unused"], account: "other" },
] as const;

function limited(retry_at: number) {
  return { failure: failure("rate_limited", "Slow down.", { details: { retry_at: instant(retry_at) } }), refused: [] };
}

/** Says three times that it may go on at a time that is past, and then works. */
const BEHIND = `
count=$(($(cat "$1/count" 2>/dev/null || echo 0) + 1)); echo $count >"$1/count"
if [ $count -gt 3 ]; then ${REPORT}; else
  say error '{"code":"rate_limited","message":"Slow down.","details":{"retry_at":"2020-01-01T00:00:00Z"}}'
fi`;

describe("a held role", () => {
  it("retries with growing pauses if the time it names is past", async () => {
    const rig = newRig();
    const agentFor = crew([given("a", "hand")], {}, { hand: cli() });
    const roles = withRole("hand", { cli_command: shell(BEHIND, rig.workspace) });
    const session = await begin(rig, { agentFor, roles, config: { retry_backoff_ms: 100 } });
    expect(await run(session)).toEqual(DONE);
    const at = (payload_type: string) =>
      logOf(rig, session.session_id, payload_type)
        .filter(({ record }) => record.ticket_id === "a")
        .map(({ record }) => Date.parse(record.received_at));
    const [, ...again] = at("turn_request");
    const pauses = at("error").map((end, index) => (again[index] ?? 0) - end);
    expect(pauses).toHaveLength(3);
    for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(100 * 2 ** index);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }]);
  });

  it("holds all roles of its account, and no others", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const now = () => milliseconds(clock.now());
    const runs: [role: string, at: number][] = [];
    let end = 0;
    const agentFor = crew([given("a", "hand"), given("b", "eye"), given("c", "ear")], {
      instruction: ({ role }) => {
        runs.push([role.role_id, now()]);
        if (runs.length === 1) return limited((end = now() + 60_000));
        // The role of another account has begun meanwhile.
        if (runs.length === 2) setImmediate(() => clock.pass(120_000));
        return report();
      },
    });
    // One after the other, so that the first is held before the second is begun.
    const session = await begin(rig, { agentFor, clock, roles: SHARED, config: { max_workers: 1 } });
    expect(await run(session)).toEqual(DONE);
    expect(runs.map(([role_id]) => role_id).slice(0, 2)).toEqual(["hand", "ear"]);
    const [, ear, ...others] = runs;
    expect(ear?.[1]).toBeLessThan(end);
    expect(others.map(([role_id]) => role_id).sort()).toEqual(["eye", "hand"]);
    for (const [, at] of others) expect(at).toBeGreaterThanOrEqual(end);
  });

  it("stops the session if the hold exceeds max_hold_s", async () => {
    const rig = newRig();
    let ahead = 0;
    const clock: Clock = { ...systemClock, now: () => instant(Date.now() + ahead) };
    const end = Date.now() + 7_200_000;
    const asked: string[] = [];
    const agentFor = crew([given("a", "hand"), given("c", "ear")], {
      instruction: ({ role }) => {
        asked.push(role.role_id);
        return role.role_id === "hand" && ahead === 0 ? limited(end) : report();
      },
    });
    const session = await begin(rig, { agentFor, clock, roles: SHARED });
    const stopped = {
      kind: "stopped",
      reason: "limit",
      message: expect.stringContaining(`the role "hand" (account "acme") is held until ${instant(end)} (rate_limited)`),
    };
    expect(await session.run({ waitForPeople: true })).toMatchObject({ ok: true, value: stopped });
    // What others could do was done before.
    expect(countsIn(session)).toEqual({ done: 1, in_progress: 1 });
    expect(logOf(rig, session.session_id, "session_stopped")).toMatchObject([
      { payload: { reason: "limit", limit: "max_hold_s", max: 3600 } },
    ]);
    expect(await run(await resume(rig, session.session_id, { agentFor, clock }))).toMatchObject(stopped);
    expect(asked.filter((role_id) => role_id === "hand")).toHaveLength(1);
    ahead = 7_300_000;
    expect(await run(await resume(rig, session.session_id, { agentFor, clock }))).toMatchObject({ outcome: "done" });
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it("stops the session after max_hold_s even if a person is there", async () => {
    const rig = newRig();
    let able = false;
    const agentFor = crew([given("a", "hand")], {
      instruction: () => (able ? report() : { failure: failure("trust", "Not a trusted folder."), refused: [] }),
    });
    const session = await begin(rig, { agentFor, config: { max_hold_s: 1 } });
    const failed = told(session, recordOf("turn_failed", "a"));
    const ended = session.run({ waitForPeople: true });
    await failed;
    expect(session.ledger.timers.get("hold:hand")).toMatchObject({ passive: true });
    expect(await ended).toMatchObject({
      value: {
        reason: "waiting",
        message: 'the role "hand" is held (trust): let its program trust the workspace, then resume the session',
      },
    });
    expect(logOf(rig, session.session_id).at(-1)).toMatchObject({ payload_type: "session_stopped" });
    able = true;
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toMatchObject({ outcome: "done" });
  });

  it.each([
    ["authentication", {}, "waiting"],
    ["rate_limited", { retry_at: instant(Date.now() + 3_600_000) }, "limit"],
  ] as const)("lets other roles finish before a hold over %s stops the session", async (code, details, reason) => {
    const rig = newRig();
    const tasks = [given("a", "hand"), given("b", "ear"), instructed("c", ["b"], { assigned_to: { role_id: "ear" } })];
    let over = false;
    const agentFor = crew(tasks, {
      instruction: async ({ role, stamp }) => {
        if (role.role_id === "hand") return { failure: failure(code, "Not now.", { details }), refused: [] };
        if (stamp.subject === "b") await isOver;
        return report();
      },
    });
    const session = await begin(rig, { agentFor, roles: SHARED, config: { max_hold_s: 0.2 } });
    const isOver = told(session, recordOf("timer_fired")).then(() => {
      over = true;
    });
    expect(await session.run({ waitForPeople: true })).toMatchObject({ value: { kind: "stopped", reason } });
    expect([over, countsIn(session)]).toEqual([true, { done: 2, in_progress: 1 }]);
    const requests = logOf(rig, session.session_id, "turn_request").filter(({ target }) => target === "ear");
    expect(requests.map(({ record }) => `${record.ticket_id} ${record.run}`)).toEqual(["b 1", "c 1"]);
  });

  it("is not waited for if no turn wants it", async () => {
    const rig = newRig();
    const question = { status: "open", questions: [{ question_id: "q", text: "?" }] };
    const agentFor = crew([given("a", "hand"), given("b", "ear")], {
      instruction: ({ role }) => (role.role_id === "hand" ? limited(Date.now() + 60_000) : report()),
      review_request: () => ({ payload_type: "clarification", payload: question }),
    });
    const session = await begin(rig, { agentFor, roles: SHARED });
    const asked = told(session, recordOf("clarification"));
    const ended = run(session);
    await asked;
    session.submitFromPerson({
      source: "user",
      payload_type: "user_command",
      payload: { command: "cancel", ticket_id: "a" },
    });
    expect(await ended).toMatchObject({ kind: "stopped", reason: "waiting", message: "a person must answer" });
  });

  it("does not hide another role's spent budget if no turn wants it", async () => {
    const rig = newRig();
    const agentFor = crew([given("a", "hand"), given("b", "ear"), given("c", "ear")], {
      instruction: ({ role }) =>
        role.role_id === "hand" ? { failure: failure("authentication", "Who is it?"), refused: [] } : report(),
    });
    const roles = SHARED.map((role) => (role.role_id === "ear" ? { ...role, budget: { turns: 1 } } : role));
    const session = await begin(rig, { agentFor, roles });
    const held = told(session, recordOf("turn_failed", "a"));
    const ended = session.run({ waitForPeople: true });
    await held;
    say(session, "cancel", { ticket_id: "a" });
    expect(await ended).toMatchObject({
      value: { reason: "limit", message: expect.stringContaining('the role "ear" has used its budget') },
    });
    expect(countsIn(session)).toEqual({ error: 1, done: 1, pending: 1 });
  });
});
