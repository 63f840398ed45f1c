import { describe, expect, it, test } from "vitest";
import { advance } from "../../src/kernel/engine.ts";
import { put } from "../../src/kernel/ledger.ts";
import type { Command, Fact } from "../../src/kernel/mode.ts";
import { AT, fact, play, sessionWith, sessionWithTurn, STAMP, TURN, turnFailed } from "./session.ts";

const STOP: Command = { do: "stop_session", reason: "limit", message: "" };

it("leaves nothing open in a session that is closed", () => {
  const { ledger } = play(
    sessionWith(
      [
        put("turn", "t1", TURN),
        put("timer", "notice", { due_at: AT, passive: true }),
        put("ask", "c1", { ask_id: "c1", kind: "questions", record: 4 }),
        put("check", "k4", { check_id: "k4", criteria: [] }),
        put("child", "4", { child: "4", mode: "debate", input: {}, budget: {}, status: "open" }),
        put("hold", "hand", { role_id: "hand", reason: "trust" }),
      ],
      { do: "finish", outcome: "failed", reason: "tickets_failed", report: {} },
    ),
    fact("user_command", { command: "cancel" }),
  );
  const { turns, timers, asks, checks, children, holds, figures } = ledger;
  expect([turns, timers, asks, checks, children, holds].map(({ size }) => size)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(figures.closed).toEqual({ outcome: "failed", reason: "tickets_failed" });
});

test.each([
  ["an orderly stop", true, 0],
  ["a crash", false, 1],
])("offers an open turn again after %s, and counts only crashes as recoveries", (_, graceful, died) => {
  const session = sessionWithTurn();
  for (const run of [3, 4])
    play(session, fact("session_recovered", { graceful, epoch: 2, turns: [{ turn_id: "t1", run }] }));
  const recoveries = 2 * died;
  expect(session.ledger.turns.get("t1")).toEqual({ ...TURN, run: 4, status: "offered", interrupted: true, recoveries });
  expect(session.ledger.figures.recoveries).toBe(recoveries);
});

it("ends a hold only by a release of its role", () => {
  const session = sessionWith([put("hold", "hand", { role_id: "hand", reason: "trust" })]);
  play(
    session,
    fact("user_command", { command: "tell", role_id: "hand" }),
    fact("user_command", { command: "release" }),
  );
  expect(session.ledger.holds.size).toBe(1);
  play(session, fact("user_command", { command: "release", role_id: "hand" }));
  expect(session.ledger.holds.size).toBe(0);
});

describe("a turn that was open while the machine slept", () => {
  const slept = (cause: string, status: "open" | "offered" = "open") =>
    play(sessionWithTurn({ status }, STOP), fact("time_shifted", { cause, shift_ms: 3_600_000 }));

  it("is repeated under a higher run if its connection was cut, unseen by the mode", () => {
    const session = slept("sleep");
    const { disposition, step } = advance(session, turnFailed("no_answer"));
    expect(session.ledger.turns.get("t1")).toEqual({ ...TURN, run: 3, status: "offered", interrupted: true });
    expect([disposition, step.commands, session.ledger.figures.stopping]).toEqual(["applied", [], undefined]);
  });

  test.each([
    ["if it fails for another reason", "sleep", "malformed_output"],
    ["if only the clock was set", "clock", "no_answer"],
  ])("fails %s", (_, cause, code) => {
    const session = slept(cause);
    expect(advance(session, turnFailed(code)).step.commands).toEqual([STOP]);
    expect(session.ledger.turns.size).toBe(0);
  });

  it("is not one that was only offered", () => {
    expect(slept("sleep", "offered").ledger.turns.get("t1")).toEqual({ ...TURN, status: "offered" });
  });

  it("fails if it was held and given again since", () => {
    const again = { ...STAMP, run: 3 };
    const request = fact("turn_request", { turn_id: "t1", role_id: "hand" }, { turn: again });
    const session = play(slept("sleep"), turnFailed("rate_limited"), request, {
      ...turnFailed("timeout"),
      turn: again,
    });
    expect(session.ledger.turns.size).toBe(0);
  });
});

describe("a late fact", () => {
  const ROWS = [
    put("turn", "t1", TURN),
    put("timer", "here", { due_at: AT }),
    put("check", "k1", { check_id: "k1", criteria: [] }),
  ];
  const ended = (run: number, turn_id = "t1") =>
    fact("report", { status: "completed" }, { turn: { turn_id, attempt: 1, run } });
  const fired = (timer_id: string) => fact("timer_fired", { timer_id, due_at: AT });
  const checked = (check_id: string) => fact("check_result", { check_id, results: [] });

  it.each<[string, Fact]>([
    ["the end of an earlier run", ended(1)],
    ["the end of a run that was never given", ended(3)],
    ["the end of a turn that is over", ended(2, "t0")],
    ["a timer that was cleared", fired("gone")],
    ["checks that were dropped", checked("k0")],
  ])("moves nothing: %s", (_, late) => {
    const session = sessionWith(ROWS, STOP);
    const before = structuredClone(session.ledger);
    expect(advance(session, late)).toMatchObject({ disposition: "late", changes: [], step: { commands: [] } });
    expect(session.ledger).toEqual(before);
  });

  it.each(["offered", "asked"] as const)("is also the end of a turn that is %s again", (status) => {
    expect(advance(sessionWithTurn({ status }), ended(2)).disposition).toBe("late");
  });

  it.each([ended(2), fired("here"), checked("k1")])("is none about what is open: $payload_type", (open) => {
    expect(advance(sessionWith(ROWS, STOP), open).disposition).toBe("applied");
  });
});
