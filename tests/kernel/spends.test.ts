import { expect, it, test } from "vitest";
import { advance } from "../../src/kernel/engine.ts";
import { type LedgerChild, type LedgerSpend, put } from "../../src/kernel/ledger.ts";
import { spendOf, spendsByRole, withCutRuns } from "../../src/kernel/spends.ts";
import type { Command, Fact } from "../../src/kernel/mode.ts";
import { usageOf } from "../../src/runtime/usage.ts";
import { fact, play, sessionWith, sessionWithTurn, TURN } from "./session.ts";

const USAGE = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 };
const TOKENS = { input_tokens: 10, output_tokens: 5 };
const WITHDRAW: Command = { do: "withdraw_turn", turn_id: "t1", reason: "" };
const FINISH: Command = { do: "finish", outcome: "cancelled", report: {} };

const stamp = { turn_id: "t1", attempt: 1, run: 2, subject: "build" };
const pause = fact("user_command", { command: "pause" });
const report = (usage?: object) => fact("report", { status: "completed" }, { source: "hand", turn: stamp, usage });
const failed = (code: string, usage?: object, details?: object) =>
  fact("turn_failed", { turn_id: "t1", role_id: "hand", code, message: "", details }, { turn: stamp, usage });
const cutOff = (usage: object) => failed("cancelled", usage, { cut_off: true });
const recovered = fact("session_recovered", { graceful: true, epoch: 2, turns: [{ turn_id: "t1", run: 3 }] });

/** Turns, tokens, cost, turns of unknown tokens, turns of unknown cost. */
function told(spend: LedgerSpend | undefined): number[] {
  const { turns, input_tokens, output_tokens, cost_usd, untold_turns, unpriced_turns } = spend ?? ({} as LedgerSpend);
  return [turns, input_tokens + output_tokens, cost_usd, untold_turns, unpriced_turns];
}

test.each<[string, readonly Fact[], number[]]>([
  ["an answer", [report(USAGE)], [1, 15, 0.25, 0, 0]],
  ["an answer without its cost", [report(TOKENS)], [1, 15, 0, 0, 1]],
  ["an answer that tells nothing", [report()], [1, 0, 0, 1, 1]],
  ["a failure", [failed("timeout", USAGE)], [1, 15, 0.25, 0, 0]],
  ["a rate limit", [failed("rate_limited", USAGE)], [1, 15, 0.25, 0, 0]],
  ["a run that a stop cut off", [recovered], [1, 0, 0, 1, 1]],
  ["a run that a stop cut off after it told its usage", [cutOff(USAGE), recovered], [1, 15, 0.25, 0, 0]],
])("counts %s for its role and its subject", (_, facts, expected) => {
  const { ledger } = play(sessionWithTurn({ subject: "build" }), ...facts);
  expect(spendsByRole(ledger).map(([role_id, spend]) => [role_id, told(spend)])).toEqual([["hand", expected]]);
  expect(told(spendOf(ledger, "build"))).toEqual(expected);
});

it("counts what a withdrawn run tells later, and leaves its cost unknown", () => {
  const { ledger } = play(sessionWithTurn({ subject: "build" }, WITHDRAW), pause, cutOff(USAGE));
  expect(told(spendOf(ledger, "build"))).toEqual([1, 15, 0.25, 1, 1]);
  expect(ledger.figures).toMatchObject({ input_tokens: 10, unpriced_turns: 1 });
});

it("leaves a turn open that a stop cut off, unseen by the mode, and hides no cost of its role", () => {
  const session = sessionWithTurn({}, FINISH);
  const { disposition, step } = advance(session, cutOff(TOKENS));
  expect([disposition, step.commands]).toEqual(["applied", []]);
  expect(session.ledger.turns.get("t1")).toEqual({ ...TURN, told: true });
  expect(session.ledger.figures.untold).toBeUndefined();
  expect(session.ledger.figures.unpriced_turns).toBe(1);
});

test.each<[string, readonly Fact[]]>([
  ["nothing", []],
  ["told", [cutOff(USAGE)]],
])("shows of a session that nobody runs what a resume will count: %s of its open run", (_, facts) => {
  const left = withCutRuns(play(sessionWithTurn({ subject: "build" }), ...facts).ledger);
  const { ledger } = play(sessionWithTurn({ subject: "build" }), ...facts, recovered);
  expect([usageOf(left), spendOf(left, "build")]).toEqual([usageOf(ledger), spendOf(ledger, "build")]);
});

it("counts the next run of a turn that was cut off", () => {
  const session = play(sessionWithTurn({ subject: "build" }), cutOff(USAGE), recovered);
  const again = fact("turn_request", { turn_id: "t1", role_id: "hand" }, { turn: { ...stamp, run: 3 } });
  const { ledger } = play(
    session,
    again,
    fact("session_recovered", { graceful: false, epoch: 3, turns: [{ turn_id: "t1", run: 4 }] }),
  );
  expect(told(spendOf(ledger, "build"))).toEqual([2, 15, 0.25, 1, 1]);
});

it("adds a child session's spends by role to its parent's and to its subject's", () => {
  const child: LedgerChild = { child: "4", mode: "debate", input: {}, budget: {}, status: "open", subject: "build" };
  const by_role = [
    { role_id: "eye", turns: 2, ...TOKENS, cost_usd: null, told_usd: 0.5 },
    { role_id: "hand", turns: 1, input_tokens: null, output_tokens: null, cost_usd: null, untold_turns: 1 },
  ];
  const usage = { turns: 3, ...TOKENS, cost_usd: null, by_role };
  const finished = fact("session_finished", { session_id: "s.4", ticket_id: "build", outcome: "done", usage });
  const { ledger } = play(sessionWith([put("child", "4", child)]), finished);
  expect(spendsByRole(ledger).map(([role_id, spend]) => [role_id, told(spend)])).toEqual([
    ["eye", [2, 15, 0.5, 0, 1]],
    ["hand", [1, 0, 0, 1, 1]],
  ]);
  expect(told(spendOf(ledger, "build"))).toEqual([3, 15, 0.5, 1, 2]);
});
