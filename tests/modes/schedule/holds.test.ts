import { describe, expect, it, test } from "vitest";
import { isHeldTooLong, stopFor } from "../../../src/kernel/holds.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later, milliseconds } from "../../../src/protocol/timestamp.ts";
import { Scene, type SceneOptions } from "./rig.ts";
import { COMPLETED, CREW, INSTRUCTION, task } from "./words.ts";

function working(options: SceneOptions = {}): Scene {
  return new Scene(options).planned(task("a")).says("a", "instruction", INSTRUCTION);
}

function until(retry_at: string): JsonObject {
  return { details: { retry_at } };
}

/** Who is held, why and how long. */
function held(scene: Scene): string[] {
  return [...scene.engine.ledger.holds.values()]
    .map(({ role_id, reason, until: end = "released", since }) => `${role_id} ${reason} from ${since} until ${end}`)
    .sort();
}

function alarms(scene: Scene): string[] {
  return [...scene.engine.ledger.timers.entries()]
    .filter(([id]) => id.startsWith("hold:"))
    .map(([id, { due_at, passive }]) => `${id} ${due_at}${passive ? " passive" : ""}`);
}

describe("a hold", () => {
  test.each(["rate_limited", "authentication", "trust"])(
    "for %s is the role's: the turn is offered again, and no attempt is spent",
    (code) => {
      const scene = working().fails("a", code);
      expect([scene.last.disposition, scene.moved, scene.status("a"), scene.open]).toEqual([
        "applied",
        [],
        "in_progress",
        ["worker instruction a"],
      ]);
      expect(held(scene)).toEqual([`hand ${code} from 2026-01-01T00:00:07Z until released`]);
      scene.admit("a");
      expect([scene.ticket("a").attempt, scene.ticket("a").retries]).toEqual([1, undefined]);
    },
  );

  it("tells whoever takes the turn again that it was interrupted", () => {
    const scene = working().fails("a", "rate_limited");
    expect([...scene.engine.ledger.turns.values()]).toMatchObject([{ run: 2, interrupted: true }]);
  });

  it("lasts until the time that the failure names, or a person acts", () => {
    const scene = working().fails("a", "rate_limited", until("2026-01-01T00:30:00+00:15"));
    expect(held(scene)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:15:00Z"]);
    scene.command("release", undefined, { role_id: "hand" });
    expect([held(scene), alarms(scene)]).toEqual([[], []]);
  });

  it("whose end is past, or too near, lasts for a back-off that doubles with each of the turn's", () => {
    const scene = working({ config: { retry_backoff_ms: 20_000 } });
    const lasts = ["2020-01-01T00:00:00Z", "2026-01-01T00:00:28Z", "2026-01-01T00:00:00Z"].map((end) => {
      scene.fails("a", "rate_limited", until(end));
      const { until: told = "", since = "" } = scene.engine.ledger.holds.get("hand") ?? {};
      return milliseconds(told) - milliseconds(since);
    });
    expect([lasts, scene.ticket("a").attempt]).toEqual([[20_000, 40_000, 60_000], 1]);
  });

  it("is one even where retries have no back-off", () => {
    const scene = working({ config: { retry_backoff_ms: 0 } }).fails(
      "a",
      "rate_limited",
      until("2020-01-01T00:00:00Z"),
    );
    expect(held(scene)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:00:07.001Z"]);
  });

  it("whose end nobody can read has none", () => {
    expect(held(working().fails("a", "rate_limited", until("in an hour")))).toEqual([
      "hand rate_limited from 2026-01-01T00:00:07Z until released",
    ]);
  });

  it("may be said by the agent itself, and holds a manager as well", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "error", { code: "authentication", message: "Log in first" });
    expect([scene.phase, scene.open, [...scene.engine.ledger.holds.keys()]]).toEqual([
      "planning",
      ["manager requirement"],
      ["boss"],
    ]);
  });

  it("makes the result of the run before it late", () => {
    const scene = working().admit("a");
    const turn = { turn_id: scene.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    scene.fails("a", "rate_limited").admit("a").fact("hand", "report", COMPLETED, { subject: "a", turn });
    expect([scene.last.disposition, scene.status("a")]).toEqual(["late", "in_progress"]);
  });

  it("is over when the role is given a turn again", () => {
    const scene = working().fails("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    scene.admit("a");
    expect([held(scene), alarms(scene)]).toEqual([[], []]);
  });

  it("without an end is lifted by whoever resumes; one with an end stays", () => {
    const scene = working().fails("a", "authentication").stops().recovers();
    expect([held(scene), alarms(scene)]).toEqual([[], []]);
    const waiting = working().fails("a", "rate_limited", until("2026-01-01T00:10:00Z")).stops().recovers();
    expect([held(waiting), alarms(waiting)]).toEqual([
      ["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:10:00Z"],
      ["hold:hand 2026-01-01T01:00:07Z passive"],
    ]);
  });
});

/** Two that share an account, whose order in the alphabet is not that of the table, and one that has its own. */
const SHARED: readonly Role[] = CREW.map((role) => ({
  ...role,
  ...(role.role_id === "boss" ? { account: "own" } : { account: "acme" }),
}));

describe("roles of one account", () => {
  const shared = (config: SceneOptions["config"] = {}) =>
    new Scene({ roles: SHARED, config })
      .planned(task("a", { assigned_to: { role_id: "hand" } }), task("b", { assigned_to: { role_id: "eye" } }))
      .says("a", "instruction", INSTRUCTION)
      .says("b", "instruction", INSTRUCTION)
      .admit("a")
      .admit("b");

  it("are held together, and nobody else is", () => {
    const scene = shared().fails("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect([...scene.engine.ledger.holds.values()].map(({ role_id, account }) => [role_id, account])).toEqual([
      ["hand", "acme"],
      ["eye", "acme"],
    ]);
  });

  test.each(["hand", "eye"])("are released together, by the name of %s", (role_id) => {
    const scene = shared().fails("a", "authentication").command("release", undefined, { role_id });
    expect([held(scene), alarms(scene)]).toEqual([[], []]);
  });

  it("are not released by the name of another", () => {
    expect(held(shared().fails("a", "trust").command("release", undefined, { role_id: "boss" }))).toHaveLength(2);
  });

  test.each([
    ["a later end", "2026-01-01T00:20:00Z", "rate_limited", "2026-01-01T00:20:00Z"],
    ["an earlier end", "2026-01-01T00:05:00Z", "rate_limited", "2026-01-01T00:10:00Z"],
    ["no end", undefined, "authentication", "released"],
  ])(
    "that fail one after the other with %s are held for the longest, from the first failure on",
    (_, end, code, told) => {
      const scene = shared().fails("a", "rate_limited", until("2026-01-01T00:10:00Z"));
      const from = scene.engine.ledger.holds.get("hand")?.since;
      scene.fails("b", code, end === undefined ? {} : until(end));
      expect(held(scene)).toEqual(["eye", "hand"].map((id) => `${id} ${code} from ${from} until ${told}`));
      expect(alarms(scene)).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
    },
  );

  it("are held anew, and not from long ago, when the hold before had run out", () => {
    const scene = shared().fails("a", "rate_limited", until("2026-01-01T00:00:11Z"));
    const from = scene.engine.ledger.holds.get("hand")?.since;
    scene.fails("b", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect(scene.engine.ledger.holds.get("hand")?.since).not.toBe(from);
  });

  it("have one timer together, whichever of them failed", () => {
    expect(alarms(shared().fails("b", "authentication"))).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
  });
});

/** How the session stops over the role when its time is up. */
function stop({ engine: { ledger } }: Scene): unknown {
  const [hold] = ledger.holds.values();
  if (!hold) throw new Error("nobody is held");
  return stopFor(ledger, hold, later(hold.since ?? "", (ledger.terms.max_hold_s ?? 0) * 1000));
}

describe("a role that is held longer than max_hold_s", () => {
  it("has its alarm, which decides nothing: the session stops when nothing else can go on", () => {
    const scene = working().fails("a", "authentication");
    const before = scene.open;
    expect(scene.fires("hold:hand").last.step).toEqual({ changes: [], envelopes: [], effects: [], commands: [] });
    expect([scene.last.disposition, scene.open, alarms(scene)]).toEqual(["applied", before, []]);
    expect(stop(scene)).toEqual({
      reason: "waiting",
      message: 'the role "hand" is held (authentication): log in with its program, then resume the session',
    });
    expect(scene.stops("waiting").recovers().open).toEqual(before);
    expect([held(scene), alarms(scene)]).toEqual([[], []]);
  });

  test.each([
    ["trust", "let its program trust the workspace"],
    ["rate_limited", "wait until its limit allows work again"],
  ])("is told what helps against %s", (code, remedy) => {
    expect(stop(working({ roles: SHARED }).fails("a", code))).toMatchObject({
      message: `the role "hand" (account "acme") is held (${code}): ${remedy}, then resume the session`,
    });
  });

  it("with an end beyond that stops it by the limit, with the time to resume at", () => {
    const scene = working({ config: { max_hold_s: 60 } }).fails("a", "rate_limited", until("2026-01-01T05:00:00Z"));
    expect(stop(scene)).toMatchObject({
      reason: "limit",
      message: expect.stringMatching(
        /"hand" is held until 2026-01-01T05:00:00Z \(rate_limited\), longer than max_hold_s/,
      ),
      limit: { limit: "max_hold_s", used: 60, max: 60 },
    });
  });

  it.each([
    ["a moment before", "2026-01-01T01:00:06.999Z", false],
    ["at that moment", "2026-01-01T01:00:07Z", true],
  ])("is not waited for any more: %s", (_, at, is) => {
    const { ledger } = working().fails("a", "authentication").engine;
    expect([...ledger.holds.values()].map((hold) => isHeldTooLong(ledger, hold, at))).toEqual([is]);
  });

  it("counts from the failure, through stops and resumptions", () => {
    const scene = working().fails("a", "rate_limited", until("2026-01-01T05:00:00Z"));
    const due = alarms(scene);
    expect(alarms(scene.stops().recovers(false))).toEqual(due);
  });
});
