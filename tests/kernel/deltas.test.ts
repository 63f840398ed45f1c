import { describe, expect, it } from "vitest";
import type { Deltas } from "../../src/kernel/deltas.ts";
import { advance, type Engine } from "../../src/kernel/engine.ts";
import { emptyLedger, type LedgerAsk, type LedgerHold, put } from "../../src/kernel/ledger.ts";
import type { Change, Command, Fact, Mode, SubjectRow } from "../../src/kernel/mode.ts";
import { from } from "../../src/kernel/references.ts";
import type { Effect } from "../../src/protocol/recording.ts";
import { AT, fact, sessionWith, sessionWithTurn, TURN, turnFact, turnFailed } from "./session.ts";

const ASK: LedgerAsk = { ask_id: "c1", kind: "questions", record: 4, subject: "a", open: ["q1", "q2"] };
const HOLD: LedgerHold = { role_id: "hand", reason: "trust", since: AT };
const NOTE = fact("user_command", { command: "tell", text: "Hurry." });

/** What a fact opens, ends and changes in a session with these rows, to which the mode answers with these commands. */
function deltas(rows: readonly Change[], one: Fact, ...commands: readonly Command[]): Deltas {
  return advance(sessionWith(rows, ...commands), one).deltas;
}

describe("a record tells the session's state", () => {
  it("if it is the first or changes it", () => {
    const session = sessionWith([]);
    const told = (one: Fact) => advance(session, one).deltas.state;
    expect(told({ ...NOTE, sequence: 1 })).toBe("working");
    expect(told(NOTE)).toBeUndefined();
    expect(told(fact("user_command", { command: "pause" }))).toBe("paused");
    expect(told(NOTE)).toBeUndefined();
    expect(told(fact("user_command", { command: "resume" }))).toBe("working");
  });
});

describe("a record tells an ask", () => {
  it("when it is opened", () => {
    expect(deltas([], NOTE, { do: "ask", ...ASK })).toEqual({
      opened: { asks: [{ ask_id: "c1", kind: "questions", record: 4, ticket_id: "a", open: ["q1", "q2"] }] },
    });
  });

  it("again with fewer questions when it is partly answered, and not if nothing changes", () => {
    const rows = [put("ask", "c1", ASK)];
    expect(deltas(rows, NOTE, { do: "ask", ...ASK, open: ["q2"] })).toEqual({
      opened: { asks: [{ ask_id: "c1", kind: "questions", record: 4, ticket_id: "a", open: ["q2"] }] },
    });
    expect(deltas(rows, NOTE, { do: "ask", ...ASK })).toEqual({});
  });

  it("when it ends", () => {
    expect(deltas([put("ask", "c1", ASK)], NOTE, { do: "clear_ask", ask_id: "c1" })).toEqual({
      ended: { asks: ["c1"] },
    });
    expect(deltas([], NOTE, { do: "clear_ask", ask_id: "c1" })).toEqual({});
  });

  it("for a permission with the turn that waits for it, and without what the engine keeps for itself", () => {
    const about = { role_id: "hand", action: "run: x", digest: "d" };
    const request = turnFact("approval_request", { subject: "permission", ask_id: "p9", about });
    expect(advance(sessionWithTurn({ subject: "a" }), request).deltas).toEqual({
      opened: { asks: [{ ask_id: "p9", kind: "permission", record: 9, turn_id: "t1" }] },
    });
  });
});

describe("a record tells a hold", () => {
  it("when it begins, with the run that it ended", () => {
    expect(advance(sessionWithTurn(), turnFailed("authentication")).deltas).toEqual({
      opened: { holds: [{ hold_id: "hand", role_id: "hand", reason: "authentication", since: AT }] },
      ended: { turns: ["t1"] },
    });
  });

  it("when it is extended, and when a person ends it", () => {
    const until = "2026-01-02T00:00:00Z";
    const failed = turnFact("turn_failed", {
      turn_id: "t1",
      code: "rate_limited",
      message: "",
      details: { retry_at: until },
    });
    const rows = [
      put("turn", "t1", TURN),
      put("hold", "hand", { ...HOLD, reason: "rate_limited", until: "2026-01-01T01:00:00Z" }),
    ];
    expect(deltas(rows, failed).opened).toEqual({
      holds: [{ hold_id: "hand", role_id: "hand", reason: "rate_limited", since: AT, until }],
    });
    const release = fact("user_command", { command: "release", role_id: "hand" });
    expect(deltas(rows, release)).toEqual({ ended: { holds: ["hand"] } });
  });
});

describe("a record tells checks", () => {
  it("when they begin and end, without their commands", () => {
    const checks = { check_id: "k9", subject: "a", criteria: [] };
    expect(deltas([], NOTE, { do: "run_checks", ...checks })).toEqual({
      opened: { checks: [{ check_id: "k9", ticket_id: "a" }] },
    });
    const rows = [put("check", "k9", checks)];
    expect(deltas(rows, NOTE, { do: "drop_checks", check_id: "k9" })).toEqual({ ended: { checks: ["k9"] } });
    expect(deltas(rows, fact("check_result", { check_id: "k9", results: [] }))).toEqual({ ended: { checks: ["k9"] } });
  });
});

describe("a record tells that a turn's run ended", () => {
  const OFFERED = { ...TURN, status: "offered" } as const;

  it("with its answer", () => {
    expect(advance(sessionWithTurn(), turnFact("report", { status: "completed" })).deltas).toEqual({
      ended: { turns: ["t1"] },
    });
  });

  it.each<[how: string, one: Fact, ...commands: Command[]]>([
    ["is withdrawn", NOTE, { do: "withdraw_turn", turn_id: "t1", reason: "" }],
    ["is repeated with a higher run", NOTE, { do: "repeat_turn", turn_id: "t1" }],
    ["is requested with a higher run", turnFact("turn_request", { role_id: "hand" }, undefined, 3)],
    [
      "is repeated by another scheduler",
      fact("session_recovered", { graceful: false, epoch: 2, turns: [{ turn_id: "t1", run: 3 }] }),
    ],
  ])("when it %s", (_, one, ...commands) => {
    expect(deltas([put("turn", "t1", TURN)], one, ...commands).ended).toEqual({ turns: ["t1"] });
  });

  it("only if an agent held it", () => {
    expect(deltas([put("turn", "t1", OFFERED)], NOTE, { do: "withdraw_turn", turn_id: "t1", reason: "" })).toEqual({});
  });

  it("for all of them at a stop, and not again when they are repeated", () => {
    const rows = ["t3", "t1", "t2"].map((turn_id) => put("turn", turn_id, { ...TURN, turn_id }));
    const session = sessionWith([...rows, put("turn", "t4", { ...OFFERED, turn_id: "t4" })]);
    const stop = advance(session, fact("session_stopped", { reason: "signal", message: "" }));
    expect(stop.deltas).toEqual({ ended: { turns: ["t1", "t2", "t3"] } });
    const turns = ["t1", "t2", "t3"].map((turn_id) => ({ turn_id, run: 3 }));
    expect(advance(session, fact("session_recovered", { graceful: true, epoch: 2, turns })).deltas).toEqual({});
  });
});

describe("ids", () => {
  it("are sorted, in whatever order the rows were loaded", () => {
    const rows = ["b", "c", "a"].flatMap((id) => [
      put("turn", `t${id}`, { ...TURN, turn_id: `t${id}` }),
      put("ask", id, { ...ASK, ask_id: id }),
      put("hold", id, { ...HOLD, role_id: id }),
      put("check", id, { check_id: id, criteria: [] }),
    ]);
    const finish = { do: "finish", outcome: "failed", report: {} } as const;
    const ended = {
      turns: ["ta", "tb", "tc"],
      ...{ asks: ["a", "b", "c"], holds: ["a", "b", "c"], checks: ["a", "b", "c"] },
    };
    for (const order of [rows, rows.toReversed(), [...rows.slice(5), ...rows.slice(0, 5)]])
      expect(deltas(order, NOTE, finish)).toEqual({ ended });
  });
});

const ROW: SubjectRow = {
  id: "a",
  status: "pending",
  since: AT,
  order: 2,
  title: from(4, "/tasks/0/description"),
  depends_on: ["b"],
  attempt: 1,
};

/** A session whose subjects are these rows; each fact changes them to others, with effects. */
function sessionOf(
  rows: readonly SubjectRow[],
  changes: readonly Change[],
  effects: readonly Effect[],
): Engine<Map<string, SubjectRow>> {
  const mode = {
    subjects: "thing",
    phase: () => "working",
    subject: (state: Map<string, SubjectRow>, id: string) => state.get(id),
    decide: () => ({ changes, envelopes: [], effects, commands: [] }),
    apply(state: Map<string, SubjectRow>, change: Change) {
      if ("put" in change) state.set(change.id, change.value as unknown as SubjectRow);
      else state.delete(change.id);
    },
  };
  return {
    mode: mode as unknown as Mode<Map<string, SubjectRow>>,
    state: new Map(rows.map((row) => [row.id, row])),
    ledger: emptyLedger(),
  };
}

const kept = (row: SubjectRow): Change => ({ put: "thing", id: row.id, value: row }) as unknown as Change;

/** What is told when this row becomes another. */
function changed(before: SubjectRow | undefined, after: SubjectRow, ...effects: readonly Effect[]): unknown {
  return advance(sessionOf(before ? [before] : [], [kept(after)], effects), NOTE).deltas.changed;
}

const moved = (reason?: string): Effect => {
  const arrow = { subject: "a", from: "pending", event: "moved", to: "blocked" };
  return reason === undefined ? arrow : { ...arrow, reason };
};

describe("a record tells of a subject", () => {
  it("everything when it is new, and of its title where the record itself has it", () => {
    const row = { ...ROW, title: from(9, "/tasks/0/description") as never, attempt: 0 };
    expect(changed(undefined, row)).toEqual([
      { ticket_id: "a", title_at: "/tasks/0/description", depends_on: ["b"], order: 2 },
    ]);
    expect(changed(undefined, ROW)).toEqual([
      { ticket_id: "a", title: ROW.title, depends_on: ["b"], order: 2, attempt: 1 },
    ]);
  });

  it.each<[field: keyof SubjectRow, value: SubjectRow[keyof SubjectRow]]>([
    ["title", "Do it"],
    ["owner", "hand"],
    ["attempt", 2],
    ["max_attempts", 3],
    ["depends_on", ["b", "c"]],
    ["order", 0],
    ["reason", "needs_input"],
    ["spent", "turns"],
  ])("its %s when it changes, and null when it is gone", (field, value) => {
    const other = { ...ROW, [field]: value };
    expect(changed(ROW, other)).toEqual([{ ticket_id: "a", [field]: value }]);
    const before = ROW[field];
    expect(changed(other, ROW)).toEqual([{ ticket_id: "a", [field]: before ?? null }]);
    expect(changed(other, structuredClone(other))).toBeUndefined();
  });

  it("no reason that its transition tells", () => {
    const blocked = { ...ROW, status: "blocked", reason: "needs_input" };
    expect(changed(ROW, blocked, moved("needs_input"))).toBeUndefined();
    expect(changed(ROW, blocked, moved())).toEqual([{ ticket_id: "a", reason: "needs_input" }]);
    expect(changed(blocked, ROW, moved())).toBeUndefined();
    expect(changed(blocked, ROW, moved("done"))).toEqual([{ ticket_id: "a", reason: null }]);
  });

  it("that it is gone", () => {
    const drop = { drop: "thing", id: "a" } as unknown as Change;
    expect(advance(sessionOf([ROW], [drop], []), NOTE).deltas).toEqual({ ended: { subjects: ["a"] } });
    expect(advance(sessionOf([], [drop], []), NOTE).deltas).toEqual({});
  });

  it("sorted by id, and of none that did not change", () => {
    const [b, c] = [
      { ...ROW, id: "b" },
      { ...ROW, id: "c" },
    ];
    const changes = [{ ...c, order: 7 }, b, { ...ROW, order: 8 }].map(kept);
    expect(advance(sessionOf([c, ROW, b], changes, []), NOTE).deltas.changed).toEqual([
      { ticket_id: "a", order: 8 },
      { ticket_id: "c", order: 7 },
    ]);
  });
});
