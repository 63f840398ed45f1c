import { describe, expect, it } from "vitest";
import { isHeld, stopFor } from "../../../src/kernel/holds.ts";
import { turnsLeft } from "../../../src/kernel/role-limits.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later } from "../../../src/protocol/timestamp.ts";
import { Scene } from "./rig.ts";
import { COMPLETED, CREW, INSTRUCTION, task } from "./words.ts";

/** The crew with more said of its workers. */
function crew(hand: Partial<Role>, eye: Partial<Role> = {}): readonly Role[] {
  return CREW.map((role) => ({
    ...role,
    ...(role.role_id === "hand" ? hand : role.role_id === "eye" ? eye : {}),
  }));
}

const given = (id: string, role_id = "hand") => task(id, { instruction: INSTRUCTION, assigned_to: { role_id } });

/** Who is held, for what and until when. */
function held(scene: Scene): string[] {
  return [...scene.engine.ledger.holds.values()]
    .map(({ role_id, reason, until = "released", limit }) =>
      [`${role_id} ${reason} until ${until}`, limit && `${limit.limit} ${limit.used}/${limit.max}`]
        .filter(Boolean)
        .join(" "),
    )
    .sort();
}

/** What a role has used, as `turns/milliseconds`. */
function used(scene: Scene, role_id = "hand"): string | undefined {
  const use = scene.engine.ledger.uses.get(role_id);
  return use && `${use.turns}/${use.wall_ms}`;
}

/** A task for each letter, all for `hand`. */
function planned(hand: Partial<Role>, ids = "abc", eye: Partial<Role> = {}): Scene {
  return new Scene({ roles: crew(hand, eye) }).planned(...ids.split("").map((id) => given(id)));
}

describe("a role's budget of turns", () => {
  it("is used up by every run, and holds the role until a person gives it as much again", () => {
    const scene = planned({ budget: { turns: 2 } }).admit("a");
    expect([used(scene), held(scene), turnsLeft(scene.engine.ledger, "hand")]).toEqual(["1/0", [], 1]);
    scene.fails("a", "rate_limited", { details: { retry_at: "2026-01-01T00:00:10Z" } });
    scene.command("release", undefined, { role_id: "hand" });
    expect(used(scene)).toBe("1/0");
    scene.admit("a");
    expect([used(scene), held(scene)]).toEqual(["2/0", ["hand budget_exhausted until released role_turns 2/2"]]);
    scene.command("release", undefined, { role_id: "hand" });
    expect([used(scene), held(scene), turnsLeft(scene.engine.ledger, "hand")]).toEqual([undefined, [], 2]);
  });

  it("is not given again by a resumption, a result, or the name of another role", () => {
    const scene = planned({ budget: { turns: 1 }, account: "acme" }, "ab", { account: "acme" }).admit("a");
    const spent = ["hand budget_exhausted until released role_turns 1/1"];
    scene.says("a", "report", COMPLETED).command("release", undefined, { role_id: "eye" });
    expect(held(scene)).toEqual(spent);
    expect(held(scene.stops("limit").recovers())).toEqual(spent);
    expect(held(scene.recovers(false))).toEqual(spent);
  });

  it("stands beside what a failure of its account holds, and outlasts that", () => {
    const scene = planned({ budget: { turns: 1 }, account: "acme" }, "a", { account: "acme" }).admit("a");
    scene.fails("a", "authentication");
    expect(held(scene)).toEqual([
      "eye authentication until released",
      "hand authentication until released",
      "hand budget_exhausted until released role_turns 1/1",
    ]);
    expect(held(scene.stops("waiting").recovers())).toEqual(["hand budget_exhausted until released role_turns 1/1"]);
  });

  it("leaves a failure's hold its end", () => {
    const scene = planned({ budget: { turns: 1 } }, "a").admit("a");
    scene.fails("a", "rate_limited", { details: { retry_at: "2026-01-01T00:10:00Z" } });
    expect(held(scene.stops("limit").recovers())).toEqual([
      "hand budget_exhausted until released role_turns 1/1",
      "hand rate_limited until 2026-01-01T00:10:00Z",
    ]);
  });

  it("has no alarm, whatever max_hold_s says", () => {
    expect([
      ...planned({ budget: { turns: 1 } })
        .admit("a")
        .engine.ledger.timers.keys(),
    ]).toEqual(["notice"]);
  });

  it("is spent for a session that is reopened, too, and holds nobody in a closed one", () => {
    const scene = planned({ budget: { turns: 1 } }, "a").says("a", "error", { code: "agent_failed", message: "No" });
    scene.command("cancel");
    expect([scene.report.ended, held(scene)]).toEqual(["cancelled cancelled", []]);
    expect(held(scene.reopens())).toEqual(["hand budget_exhausted until released role_turns 1/1"]);
  });

  it("costs nothing where nobody has one", () => {
    const scene = new Scene().planned(given("a")).says("a", "report", COMPLETED);
    expect([scene.engine.ledger.terms, scene.engine.ledger.uses.size]).toEqual([
      { max_hold_s: 3600, retry_backoff_ms: 1000, accounts: [] },
      0,
    ]);
  });
});

describe("a role's budget of time", () => {
  const timed = (ids?: string) => planned({ budget: { wall_s: 10 } }, ids);
  /** The time so many seconds after the latest fact; every fact comes a second after the one before. */
  const after = (scene: Scene, seconds: number) =>
    later(scene.records.at(-1)?.record.received_at ?? "", seconds * 1000);

  it("is what its turns took in all, also those that run together", () => {
    const scene = timed().admit("a").admit("b").says("a", "report", COMPLETED);
    expect(used(scene)).toBe("2/2000");
    scene.says("b", "report", COMPLETED);
    expect(used(scene)).toBe("2/4000");
  });

  it("holds the role when a turn ends that used the rest of it, without a turn that is under way", () => {
    const scene = timed().admit("a").admit("b");
    const turn = scene.ticket("a").turn?.turn_id ?? "";
    scene.fact("hand", "report", COMPLETED, {
      subject: "a",
      turn: { turn_id: turn, subject: "a", attempt: 1, run: 1 },
      at: after(scene, 9),
    });
    expect([used(scene), held(scene), scene.status("b")]).toEqual([
      "2/10000",
      ["hand budget_exhausted until released role_wall_s 10/10"],
      "in_progress",
    ]);
    const { ledger } = scene.engine;
    const message = expect.stringContaining("has used its budget of 10 s of turns");
    expect([...ledger.holds.values()].map((hold) => stopFor(ledger, hold, after(scene, 0)))).toMatchObject([
      { reason: "limit", message },
    ]);
  });

  it("counts a turn that is withdrawn, is held, or is ended by a stop, each once", () => {
    const scene = timed().admit("a").command("cancel", "a");
    expect(used(scene)).toBe("1/1000");
    scene.admit("b").fails("b", "trust");
    expect(used(scene)).toBe("2/2000");
    scene.admit("b").stops();
    expect(used(scene)).toBe("3/3000");
    expect(used(scene.recovers())).toBe("3/3000");
    expect(used(scene.admit("b").says("b", "report", COMPLETED))).toBe("4/4000");
    expect(used(timed().admit("a").admit("b").stops())).toBe("2/3000");
  });

  it("holds nobody in the session that it closes", () => {
    const scene = planned({ budget: { wall_s: 1 } }, "a")
      .admit("a")
      .command("cancel");
    expect([used(scene), scene.report.ended, held(scene)]).toEqual(["1/1000", "cancelled cancelled", []]);
    expect(held(scene.reopens())).toHaveLength(1);
  });

  it("does not count what the machine slept, nor a run of which nobody knows when it ended", () => {
    const scene = timed().admit("a");
    scene.fact("scheduler", "time_shifted", { cause: "sleep", shift_ms: 3_600_000 }, { at: after(scene, 3601) });
    scene.fails("a", "timeout");
    expect([used(scene), held(scene)]).toEqual(["1/2000", []]);
    scene.admit("a").recovers(false);
    expect(used(scene)).toBe("2/2000");
  });
});

describe("a role's own rate", () => {
  const at = (scene: Scene, seconds: number) => later(scene.records.at(-1)?.record.received_at ?? "", seconds * 1000);
  const isFree = (scene: Scene, time: string) => !isHeld(scene.engine.ledger, "hand", time);

  it("holds it when so many turns were given in a minute, until the oldest of them is a minute ago", () => {
    const scene = planned({ rate_limit: { turns_per_minute: 2 } }).admit("a");
    const oldest = scene.records.at(-1)?.record.received_at ?? "";
    expect(held(scene)).toEqual([]);
    scene.admit("b");
    const end = later(oldest, 60_000);
    expect(held(scene)).toEqual([`hand rate_limited until ${end} turns_per_minute 2/2`]);
    expect([isFree(scene, later(end, -1)), isFree(scene, end)]).toEqual([false, true]);
  });

  it("counts from the turns that are in the log, also for a scheduler that takes over", () => {
    const scene = planned({ rate_limit: { turns_per_minute: 2 } })
      .admit("a")
      .admit("b");
    const before = held(scene);
    expect(held(scene.recovers(false))).toEqual(before);
    expect(held(scene.stops().recovers())).toEqual(before);
    expect(held(scene.command("release", undefined, { role_id: "hand" }))).toEqual(before);
  });

  it("slides: the next turn is free when the second oldest is a minute ago, and not before", () => {
    const scene = planned({ rate_limit: { turns_per_minute: 2 } }).admit("a");
    scene.fact("user", "user_command", { command: "tell", text: "Wait" }, { at: at(scene, 30) });
    scene.admit("b");
    const second = scene.records.at(-1)?.record.received_at ?? "";
    scene.fact("user", "user_command", { command: "tell", text: "Wait" }, { at: at(scene, 58) });
    scene.admit("c");
    expect(held(scene)).toEqual([`hand rate_limited until ${later(second, 60_000)} turns_per_minute 2/2`]);
  });

  it("is nobody's hold any more when the next turn comes long after it", () => {
    const scene = planned({ rate_limit: { turns_per_minute: 2 } })
      .admit("a")
      .admit("b");
    scene.fact("user", "user_command", { command: "tell", text: "Wait" }, { at: at(scene, 3600) });
    expect(held(scene.admit("c"))).toEqual([]);
  });

  it("is shared by an account: all turns count, and the lowest rate holds", () => {
    const scene = new Scene({
      roles: crew(
        { account: "acme", rate_limit: { turns_per_minute: 9 } },
        { account: "acme", rate_limit: { turns_per_minute: 2 } },
      ).map((role) => (role.type === "manager" ? { ...role, account: "another" } : role)),
    });
    scene.planned(given("a"), given("b", "eye")).admit("a").admit("b");
    expect(held(scene).map((line) => line.split(" ")[0])).toEqual(["eye", "hand"]);
    expect([...scene.engine.ledger.holds.values()].map(({ account }) => account)).toEqual(["acme", "acme"]);
    expect(isHeld(scene.engine.ledger, "boss", scene.records.at(-1)?.record.received_at ?? "")).toBe(false);
  });

  it.each([
    [0.5, 120],
    [1.5, 60],
  ])("of %d a minute allows one turn in %d s", (turns_per_minute, seconds) => {
    const scene = planned({ rate_limit: { turns_per_minute } }).admit("a");
    const end = later(scene.records.at(-1)?.record.received_at ?? "", seconds * 1000);
    expect(held(scene)).toEqual([`hand rate_limited until ${end} turns_per_minute 1/${turns_per_minute}`]);
  });

  it("has no alarm, whatever max_hold_s says, and holds nobody in a closed session", () => {
    const scene = planned({ rate_limit: { turns_per_minute: 1 } }, "a").admit("a");
    expect([...scene.engine.ledger.timers.keys()]).toEqual(["notice"]);
    scene.command("cancel");
    expect(held(scene)).toEqual([]);
    expect(held(scene.reopens())).toHaveLength(1);
  });
});
