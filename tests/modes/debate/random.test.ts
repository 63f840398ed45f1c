import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { DebateRig } from "./rig.ts";

const TURN_ACTIONS = [
  "begin",
  "answer",
  "answer",
  "answer",
  "wrong_round",
  "wrong_type",
  "error",
  "fail",
  "hold",
] as const;
const OTHER_ACTIONS = ["fire", "fire", "tell", "drop", "stop", "wait", "recover", "reopen", "stray", "cancel"] as const;

type TurnAction = (typeof TURN_ACTIONS)[number];
type OtherAction = (typeof OTHER_ACTIONS)[number];

const pick = fc.nat(1000);
const moves = fc.array(
  fc.oneof(
    fc.record({ turn: fc.constantFrom(...TURN_ACTIONS), pick }),
    fc.record({ other: fc.constantFrom(...OTHER_ACTIONS), pick }),
  ),
  { maxLength: 40, size: "max" },
);

const input = fc.record({
  rounds: fc.integer({ min: 1, max: 4 }),
  until: fc.constantFrom("rounds", "stable"),
  judge: fc.constantFrom("judge", "boss"),
});

/** One thing that can happen in the world; the rig holds each against what must always be so. */
function play(rig: DebateRig, action: OtherAction, pick: number): void {
  const { ledger } = rig.engine;
  const timer = [...ledger.timers.keys()][pick % ledger.timers.size];
  switch (action) {
    case "fire":
      if (timer !== undefined) rig.fire(timer);
      return;
    case "tell":
      rig.command({ command: "tell", text: "A word.", ...(pick % 2 ? { ticket_id: "go" } : {}) });
      return;
    case "drop":
      if (pick % 4 === 0) rig.command({ command: "cancel", ticket_id: "go" });
      return;
    case "cancel":
      if (pick % 10 === 0) rig.command({ command: "cancel" });
      return;
    case "stop":
      rig.stop("signal");
      return;
    case "wait":
      rig.stop("waiting");
      return;
    case "recover":
      rig.recover(pick % 2 === 0);
      return;
    case "reopen":
      if (rig.phase === "closed") rig.reopen();
      return;
    case "stray":
      rig.submit("user", "requirement", { text: "Another topic." });
      return;
  }
}

/** One thing that can happen with one of the offered and open turns, if there are any. */
function playTurn(rig: DebateRig, action: TurnAction, pick: number): void {
  const turns = [...rig.engine.ledger.turns.values()];
  const turn = turns[pick % turns.length];
  if (!turn) return;
  const role_id = turn.seat.role_id ?? "";
  const judges = turn.subject === undefined;
  switch (action) {
    case "begin":
      if (turn.status === "offered") rig.begin(role_id);
      return;
    case "wrong_round":
      if (judges) rig.answer(role_id, "verdict", { conclusion: "Rust.", winner: "rust" });
      else rig.opinion(role_id, "Late.", { round: 9 });
      return;
    case "wrong_type":
      if (judges) rig.opinion(role_id, "Me too.");
      else rig.answer(role_id, "verdict", { conclusion: "Me." });
      return;
    case "error":
      if (!judges || pick % 10 === 0) rig.answer(role_id, "error", { code: "internal", message: "I cannot." });
      return;
    case "fail":
      rig.fail(role_id, "timeout");
      return;
    case "hold":
      rig.fail(role_id, "rate_limited");
      return;
    case "answer":
      if (judges) rig.answer(role_id, "verdict", { conclusion: "Go.", winner: "go" });
      else rig.opinion(role_id, "Mine.", { changed: pick % 3 === 0 });
  }
}

/** Everybody answers from now on. */
function finish(rig: DebateRig): void {
  if (rig.isStopping || rig.phase === "stopped" || rig.phase === "waiting") rig.recover(true);
  for (let steps = 0; rig.phase !== "closed"; steps += 1) {
    expect(steps, "a debate in which everybody answers ends").toBeLessThan(40);
    const [timer] = rig.engine.ledger.timers.keys();
    if (timer !== undefined) rig.fire(timer);
    else playTurn(rig, "answer", 0);
  }
}

describe("whatever happens in whatever order", () => {
  it("the rules keep their invariants, and a debate that is answered ends", () => {
    fc.assert(
      fc.property(input, moves, (given, events) => {
        const rig = new DebateRig();
        rig.open(given);
        for (const event of events) {
          if ("turn" in event) playTurn(rig, event.turn, event.pick);
          else play(rig, event.other, event.pick);
        }
        finish(rig);
        expect(debateMode.view(rig.engine.state).state).toBe("closed");
      }),
      { numRuns: 150 },
    );
  });
});
