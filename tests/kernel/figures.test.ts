import { describe, expect, it, test } from "vitest";
import { advance, type Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, type LedgerChild, type LedgerFigures, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import type { Command, Fact } from "../../src/kernel/mode.ts";
import { fact, play, sessionWith, sessionWithTurn, TURN, turnFact, turnFailed } from "./session.ts";

const USAGE = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 };
const HALF = { input_tokens: 10, output_tokens: 5 };
const REPORT = { status: "completed" };
const WITHDRAW: Command = { do: "withdraw_turn", turn_id: "t1", reason: "" };
const FINISH: Command = { do: "finish", outcome: "cancelled", report: {} };
const STOP: Command = { do: "stop_session", reason: "limit", message: "" };

const report = (usage?: object) => turnFact("report", REPORT, usage);
const pause = fact("user_command", { command: "pause" });
const recovered = (graceful: boolean, asked: readonly string[] = []) =>
  fact("session_recovered", { graceful, epoch: 2, turns: asked.length > 0 ? [] : [{ turn_id: "t1", run: 3 }], asked });
const lostToCrashes = turnFact("turn_failed", {
  turn_id: "t1",
  code: "agent_failed",
  message: "",
  details: { recoveries: 3 },
});

/** Tokens, cost, runs of unknown cost, and the roles that did not tell their tokens or cost. */
function used({ input_tokens, cost_usd, unpriced_turns, untold = {} }: LedgerFigures): unknown[] {
  return [input_tokens, cost_usd, unpriced_turns, untold.tokens ?? [], untold.usd ?? []];
}

const child = (status: LedgerChild["status"]) =>
  put("child", "4", { child: "4", mode: "debate", input: {}, budget: {}, status });

describe("the usage of a turn", () => {
  test.each<[string, Engine<object>, Fact, unknown[]]>([
    ["counts if the answer tells it", sessionWithTurn(), report(USAGE), [10, 0.25, 0, [], []]],
    ["is untold if the answer has none", sessionWithTurn(), report(), [0, 0, 1, ["hand"], ["hand"]]],
    [
      "is untold in tokens if one half is missing",
      sessionWithTurn(),
      report({ input_tokens: 10, cost_usd: 0.25 }),
      [10, 0.25, 0, ["hand"], []],
    ],
    ["is untold if a failure has none", sessionWithTurn(), turnFailed("timeout"), [0, 0, 1, ["hand"], ["hand"]]],
    ["is not untold of a held role", sessionWithTurn(), turnFailed("rate_limited"), [0, 0, 1, [], []]],
    [
      "is not untold of a role that reports its hold",
      sessionWithTurn(),
      turnFact("error", { code: "trust" }),
      [0, 0, 1, [], []],
    ],
    ["counts if a held role tells it", sessionWithTurn(), turnFailed("rate_limited", USAGE), [10, 0.25, 0, [], []]],
    [
      "is untold in cost if a held role tells only tokens",
      sessionWithTurn(),
      turnFailed("rate_limited", HALF),
      [10, 0, 1, [], ["hand"]],
    ],
    [
      "is not untold of a run that sleep cut short",
      sessionWithTurn({ slept: true }),
      turnFailed("timeout"),
      [0, 0, 1, [], []],
    ],
    ["is not untold of a run lost to crashes", sessionWithTurn({ recoveries: 3 }), lostToCrashes, [0, 0, 1, [], []]],
    ["is unknown of a withdrawn run", sessionWithTurn({}, WITHDRAW), pause, [0, 0, 1, [], []]],
    [
      "is nothing of a turn that was only offered",
      sessionWithTurn({ status: "offered" }, WITHDRAW),
      pause,
      [0, 0, 0, [], []],
    ],
    ["is unknown of a run that the end cuts short", sessionWithTurn({}, FINISH), pause, [0, 0, 1, [], []]],
    ["is known of the run that brings the end", sessionWithTurn({}, FINISH), report(USAGE), [10, 0.25, 0, [], []]],
    ["is unknown of a run that a stop cut short", sessionWithTurn(), recovered(true), [0, 0, 1, [], []]],
    ["is unknown of a run that a crash cut short", sessionWithTurn(), recovered(false), [0, 0, 1, [], []]],
    ["is unknown of a run in doubt", sessionWithTurn(), recovered(false, ["t1"]), [0, 0, 1, [], []]],
    [
      "does not count twice if a turn in doubt is given up",
      sessionWithTurn({ status: "asked" }),
      turnFailed("cancelled"),
      [0, 0, 0, [], []],
    ],
    ["counts if it is late", sessionWithTurn({ run: 3 }), report(USAGE), [10, 0.25, 0, [], []]],
    ["is not unknown twice if it is late and missing", sessionWithTurn({ run: 3 }), report({}), [0, 0, 0, [], []]],
  ])("%s", (_, session, said, expected) => {
    expect(used(play(session, said).ledger.figures)).toEqual(expected);
  });

  it("of a withdrawn turn counts if it is late, and leaves the cost unknown", () => {
    const session = play(sessionWithTurn({}, WITHDRAW), pause);
    const { disposition, step, changes } = advance(session, report(USAGE));
    expect([disposition, step.commands]).toEqual(["late", []]);
    expect(changes[0]).toEqual(put("figures", "figures", session.ledger.figures));
    expect(used(session.ledger.figures)).toEqual([10, 0.25, 1, [], []]);
  });

  it("names each role that did not tell it once", () => {
    const session = sessionWith([]);
    for (const [turn_id, role_id] of [
      ["t1", "hand"],
      ["t2", "eye"],
      ["t3", "hand"],
    ] as const) {
      applyToLedger(session.ledger, put("turn", turn_id, { ...TURN, turn_id, role_id } satisfies LedgerTurn));
      play(session, fact("report", REPORT, { turn: { turn_id, attempt: 1, run: 2 } }));
    }
    expect(used(session.ledger.figures)).toEqual([0, 0, 3, ["hand", "eye"], ["hand", "eye"]]);
  });

  it.each<[string, Engine<object>, Fact, number]>([
    ["is told", sessionWithTurn(), report(USAGE), 0],
    ["is told without its cost", sessionWithTurn(), report(HALF), 0],
    ["is not told", sessionWithTurn(), report(), 1],
    ["is not told by a held role", sessionWithTurn(), turnFailed("rate_limited"), 1],
    ["is lost with its scheduler", sessionWithTurn(), recovered(false), 1],
    ["is lost at the end", sessionWith([put("turn", "t1", TURN)], FINISH), pause, 1],
  ])("counts as told or not in the session's tokens: it %s", (_, session, one, untold) => {
    expect(play(session, one).ledger.figures.untold_turns ?? 0).toBe(untold);
  });

  it("never sums up to more than JSON can hold", () => {
    const most = report({ input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 0, cost_usd: Number.MAX_VALUE });
    const session = play(sessionWithTurn(), most, most);
    expect(used(session.ledger.figures).slice(0, 2)).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]);
  });
});

describe("the usage of a child session", () => {
  test.each([
    ["offered", 0],
    ["open", 1],
    ["withdrawn", 1],
  ] as const)("is unknown if the end cuts it short while %s: %i", (status, unpriced) => {
    expect(play(sessionWith([child(status)], FINISH), pause).ledger.figures.unpriced_turns).toBe(unpriced);
  });

  test.each([
    [0.5, [10, 0.5, 0, [], []]],
    [null, [10, 0, 1, [], ["s.4"]]],
  ])("counts when it ends, with a cost of %s", (cost_usd, expected) => {
    const usage = { turns: 3, input_tokens: 10, output_tokens: 5, cost_usd };
    const finished = fact("session_finished", { session_id: "s.4", outcome: "done", usage });
    const { figures } = play(sessionWith([child("open")]), finished).ledger;
    expect([figures.turns, used(figures)]).toEqual([3, expected]);
  });
});

describe("a limit that a person sets", () => {
  const limits = (set: object) => fact("user_command", { command: "limits", limits: set });

  it("keeps the limits that were set before", () => {
    const { figures } = play(sessionWithTurn(), limits({ turns: 9, usd: 5 }), limits({ usd: 7 })).ledger;
    expect(figures.limits).toEqual({ turns: 9, usd: 7 });
  });

  test.each([
    ["turns", { tokens: ["hand"], usd: ["hand"] }],
    ["tokens", { usd: ["hand"] }],
    ["usd", { tokens: ["hand"] }],
  ])("on %s accepts what was untold of that kind only", (name, left) => {
    const session = play(sessionWithTurn(), report(), limits({ [name]: 9 }));
    expect(session.ledger.figures).toMatchObject({ limits: { [name]: 9 }, untold: left });
    expect(play(session, limits({ tokens: 9, usd: 9 })).ledger.figures).not.toHaveProperty("untold");
  });
});

describe("a session that is to stop", () => {
  it("is stopped only when the stop is recorded", () => {
    const session = play(sessionWithTurn({}, STOP), pause);
    expect(session.ledger.figures.stopping).toBe(true);
    expect(session.ledger.figures.stopped).toBeUndefined();
    const stopped = { reason: "limit", message: "", limit: "turns", used: 2, max: 2 };
    expect(play(session, fact("session_stopped", stopped)).ledger.figures.stopped).toEqual(stopped);
  });

  it.each([
    ["resumed after a crash", recovered(false)],
    ["reopened", fact("session_reopened", { reason: "retry" })],
  ])("no longer is when it is %s", (_, said) => {
    const session = sessionWithTurn();
    applyToLedger(session.ledger, put("figures", "figures", { ...session.ledger.figures, stopping: true }));
    expect(play(session, said).ledger.figures.stopping).toBeUndefined();
  });
});

it("is paused from pause to resume, whatever other commands come", () => {
  const session = sessionWithTurn();
  const paused = (command: string) => play(session, fact("user_command", { command })).ledger.figures.paused;
  expect(["tell", "pause", "tell", "resume"].map(paused)).toEqual([undefined, true, true, undefined]);
});
