import { describe, expect, it, test } from "vitest";
import { advance, type Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, type LedgerFigures, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import type { Command, Fact, Mode } from "../../src/kernel/mode.ts";

const TURN: LedgerTurn = {
  turn_id: "t1",
  seat: { type: "worker" },
  priority: 3,
  attempt: 1,
  run: 2,
  status: "open",
  role_id: "hand",
};
const AT = "2026-01-01T00:00:09Z";
const USAGE = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 };

/** A session with one turn, and a child session, whose mode answers each fact with the same commands. */
function engine(turn: Partial<LedgerTurn> = {}, ...commands: readonly Command[]): Engine<object> {
  const decide = () => ({ changes: [], envelopes: [], effects: [], commands });
  const ledger = emptyLedger();
  applyToLedger(ledger, put("turn", "t1", { ...TURN, ...turn }));
  return { mode: { decide, apply: () => {} } as unknown as Mode<object>, state: {}, ledger };
}

function fact(payload_type: string, payload: object, more: object = {}): Fact {
  return { sequence: 9, received_at: AT, source: "scheduler", payload_type, payload, ...more } as unknown as Fact;
}

function ends(payload_type: string, payload: object, usage?: object, run = 2): Fact {
  return fact(payload_type, payload, { turn: { turn_id: "t1", attempt: 1, run }, ...(usage ? { usage } : {}) });
}

const REPORT = { status: "completed" };
const fails = (code: string, usage?: object) => ends("turn_failed", { turn_id: "t1", code, message: "" }, usage);
const word = fact("user_command", { command: "pause" });
const recovered = (graceful: boolean, asked: readonly string[] = []) =>
  fact("session_recovered", { graceful, epoch: 2, turns: asked.length > 0 ? [] : [{ turn_id: "t1", run: 3 }], asked });

const WITHDRAW: Command = { do: "withdraw_turn", turn_id: "t1", reason: "" };
const FINISH: Command = { do: "finish", outcome: "cancelled", report: {} };
const STOP: Command = { do: "stop_session", reason: "limit", message: "" };

/** What the figures say of money and tokens, and who hid theirs. */
function told({ input_tokens, cost_usd, unpriced_turns, untold = {} }: LedgerFigures): unknown[] {
  return [input_tokens, cost_usd, unpriced_turns, untold.tokens ?? [], untold.usd ?? []];
}

describe("what a turn took", () => {
  test.each<[string, Engine<object>, Fact, unknown[]]>([
    ["is what its answer tells", engine(), ends("report", REPORT, USAGE), [10, 0.25, 0, [], []]],
    ["is hidden by an answer that tells nothing", engine(), ends("report", REPORT), [0, 0, 1, ["hand"], ["hand"]]],
    [
      "is hidden by an answer that tells of one half of its tokens",
      engine(),
      ends("report", REPORT, { input_tokens: 10, cost_usd: 0.25 }),
      [10, 0.25, 0, ["hand"], []],
    ],
    ["is hidden by a failure that tells nothing", engine(), fails("timeout"), [0, 0, 1, ["hand"], ["hand"]]],
    ["is not hidden by a role that is held", engine(), fails("rate_limited"), [0, 0, 1, [], []]],
    ["is not hidden by a role that says so itself", engine(), ends("error", { code: "trust" }), [0, 0, 1, [], []]],
    ["counts of a held role that tells it", engine(), fails("rate_limited", USAGE), [10, 0.25, 0, [], []]],
    [
      "is hidden by a held role that tells half of it",
      engine(),
      fails("rate_limited", { input_tokens: 10, output_tokens: 5 }),
      [10, 0, 1, [], ["hand"]],
    ],
    ["is not hidden by what sleep cut short", engine({ slept: true }), fails("timeout"), [0, 0, 1, [], []]],
    [
      "is not hidden by what too many crashes cut short",
      engine({ recoveries: 3 }),
      ends("turn_failed", { turn_id: "t1", code: "agent_failed", message: "", details: { recoveries: 3 } }),
      [0, 0, 1, [], []],
    ],
    ["is unknown of a run that is withdrawn", engine({}, WITHDRAW), word, [0, 0, 1, [], []]],
    ["is nothing of a turn that nobody had begun", engine({ status: "offered" }, WITHDRAW), word, [0, 0, 0, [], []]],
    ["is unknown of a run that the end cuts short", engine({}, FINISH), word, [0, 0, 1, [], []]],
    [
      "is known of the run that brings the end",
      engine({}, FINISH),
      ends("report", REPORT, USAGE),
      [10, 0.25, 0, [], []],
    ],
    ["is unknown of a run that a stop cut short", engine(), recovered(true), [0, 0, 1, [], []]],
    ["is unknown of a run that a crash cut short", engine(), recovered(false), [0, 0, 1, [], []]],
    ["is unknown of a run in doubt", engine(), recovered(false, ["t1"]), [0, 0, 1, [], []]],
    [
      "is not counted again where that one is given up",
      engine({ status: "asked" }),
      fails("cancelled"),
      [0, 0, 0, [], []],
    ],
    ["counts when it is told too late", engine({ run: 3 }), ends("report", REPORT, USAGE), [10, 0.25, 0, [], []]],
    [
      "is counted once as unknown, also when it comes late",
      engine({ run: 3 }),
      ends("report", REPORT, {}),
      [0, 0, 0, [], []],
    ],
  ])("%s", (_, at, said, expected) => {
    advance(at, said);
    expect(told(at.ledger.figures)).toEqual(expected);
  });

  it("that is told after the turn was withdrawn is added, and leaves the session's cost unknown", () => {
    const at = engine({}, WITHDRAW);
    advance(at, word);
    const done = advance(at, ends("report", REPORT, USAGE));
    expect([done.disposition, done.step.commands]).toEqual(["late", []]);
    expect(done.changes).toEqual([put("figures", "figures", at.ledger.figures)]);
    expect(told(at.ledger.figures)).toEqual([10, 0.25, 1, [], []]);
  });

  it("is hidden by whoever did not tell it, each named once", () => {
    const at = engine();
    for (const [turn_id, role_id] of [
      ["t1", "hand"],
      ["t2", "eye"],
      ["t3", "hand"],
    ]) {
      applyToLedger(at.ledger, put("turn", turn_id as string, { ...TURN, turn_id, role_id } as LedgerTurn));
      advance(at, fact("report", REPORT, { turn: { turn_id, attempt: 1, run: 2 } }));
    }
    expect(told(at.ledger.figures)).toEqual([0, 0, 3, ["hand", "eye"], ["hand", "eye"]]);
  });

  it("is never more than can be written down", () => {
    const at = engine();
    const most = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 0, cost_usd: Number.MAX_VALUE };
    for (let n = 0; n < 2; n += 1) advance(at, ends("report", REPORT, most));
    expect(told(at.ledger.figures).slice(0, 2)).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE]);
  });

  test.each([
    ["offered", 0],
    ["open", 1],
    ["withdrawn", 1],
  ] as const)("is unknown of a child session that the end leaves behind, if it was begun (%s)", (status, unpriced) => {
    const at = engine({ status: "offered" }, FINISH);
    const child = { child: "4", mode: "debate", input: {}, budget: {}, status };
    applyToLedger(at.ledger, put("child", "4", child));
    advance(at, word);
    expect(at.ledger.figures.unpriced_turns).toBe(unpriced);
  });
});

describe("a child session", () => {
  test.each([
    [0.5, [10, 0.5, 0, [], []]],
    [null, [10, 0, 1, [], ["s.4"]]],
  ])("counts with its turns, and with a cost of %s", (cost_usd, expected) => {
    const at = engine({ status: "offered" });
    const child = { child: "4", mode: "debate", input: {}, budget: {}, status: "open" } as const;
    applyToLedger(at.ledger, put("child", "4", child));
    const usage = { turns: 3, input_tokens: 10, output_tokens: 5, cost_usd };
    advance(at, fact("session_finished", { session_id: "s.4", outcome: "done", usage }));
    expect([at.ledger.figures.turns, told(at.ledger.figures)]).toEqual([3, expected]);
  });
});

describe("a person who sets a limit", () => {
  const limits = (at: Engine<object>, set: object) => {
    advance(at, fact("user_command", { command: "limits", limits: set }));
    return at.ledger.figures;
  };

  it("keeps those that were set before", () => {
    const at = engine();
    limits(at, { turns: 9, usd: 5 });
    expect(limits(at, { usd: 7 }).limits).toEqual({ turns: 9, usd: 7 });
  });

  test.each([
    ["turns", { tokens: ["hand"], usd: ["hand"] }],
    ["tokens", { usd: ["hand"] }],
    ["usd", { tokens: ["hand"] }],
  ])("of %s knows who has not told of that, and of nothing else", (name, left) => {
    const at = engine();
    advance(at, ends("report", REPORT));
    expect(limits(at, { [name]: 9 })).toMatchObject({ limits: { [name]: 9 }, untold: left });
    expect(limits(at, { tokens: 9, usd: 9 })).not.toHaveProperty("untold");
  });
});

describe("a session that is to stop", () => {
  it("has stopped only when the log says so", () => {
    const at = engine({}, STOP);
    advance(at, word);
    expect(at.ledger.figures).toMatchObject({ stopping: true });
    expect(at.ledger.figures.stopped).toBeUndefined();
    advance(at, fact("session_stopped", { reason: "limit", message: "", limit: "turns", used: 2, max: 2 }));
    expect(at.ledger.figures.stopped).toEqual({ reason: "limit", message: "", limit: "turns", used: 2, max: 2 });
  });

  it.each([
    ["was taken up again after it was killed over that", recovered(false)],
    ["was reopened", fact("session_reopened", { reason: "retry" })],
  ])("is not any more when it %s", (_, said) => {
    const at = engine();
    applyToLedger(at.ledger, put("figures", "figures", { ...at.ledger.figures, stopping: true }));
    advance(at, said);
    expect(at.ledger.figures.stopping).toBeUndefined();
  });
});

describe("a session that a person pauses", () => {
  it("is paused by that word and no other, until they say resume", () => {
    const at = engine();
    const paused = (command: string) => {
      advance(at, fact("user_command", { command }));
      return at.ledger.figures.paused;
    };
    expect(["tell", "pause", "tell", "resume"].map(paused)).toEqual([undefined, true, true, undefined]);
  });
});

describe("a turn that was open while the machine slept", () => {
  it("is not repeated for that sleep any more when it has been held since", () => {
    const at = engine({ slept: true });
    advance(at, fails("rate_limited"));
    const turn = { turn_id: "t1", attempt: 1, run: 3 };
    advance(at, fact("turn_request", { turn_id: "t1", role_id: "hand" }, { turn }));
    advance(at, { ...fails("timeout"), turn });
    expect(at.ledger.turns.size).toBe(0);
  });
});
