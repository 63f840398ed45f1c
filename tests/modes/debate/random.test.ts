import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/lib/canonical.ts";
import { ROOT } from "../../sources.ts";
import { randomOf } from "../../simulation/random.ts";
import { DebateSession } from "./session.ts";

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

/** Something happens outside the turns. */
function play(session: DebateSession, action: OtherAction, pick: number): void {
  const { ledger } = session.engine;
  const timer = [...ledger.timers.keys()][pick % ledger.timers.size];
  switch (action) {
    case "fire":
      if (timer !== undefined) session.fireTimer(timer);
      return;
    case "tell":
      session.command("tell", pick % 2 ? "go" : undefined, { text: "A word." });
      return;
    case "drop":
      if (pick % 4 === 0) session.command("cancel", "go");
      return;
    case "cancel":
      if (pick % 10 === 0) session.command("cancel");
      return;
    case "stop":
      session.stop("signal");
      return;
    case "wait":
      session.stop("waiting");
      return;
    case "recover":
      session.recover(pick % 2 === 0);
      return;
    case "reopen":
      if (session.phase === "closed") session.reopen();
      return;
    case "stray":
      session.send("requirement", { text: "Another topic." });
      return;
  }
}

/** Something happens to one of the offered and open turns, if there are any. */
function playTurn(session: DebateSession, action: TurnAction, pick: number): void {
  const turns = [...session.engine.ledger.turns.values()];
  const turn = turns[pick % turns.length];
  // A stopped session gives no turns.
  if (!turn || (turn.status === "offered" && session.engine.ledger.figures.stopped)) return;
  const { subject } = turn;
  switch (action) {
    case "begin":
      if (turn.status === "offered") session.admit(subject);
      return;
    case "wrong_round":
      if (subject === undefined) session.verdict({ winner: "rust" });
      else session.opinion(subject, "Late.", { round: 9 });
      return;
    case "wrong_type":
      if (subject === undefined) session.answer(subject, "opinion", { round: 1, position: "Me too." });
      else session.answer(subject, "verdict", { conclusion: "Me." });
      return;
    case "error":
      if (subject !== undefined || pick % 10 === 0)
        session.answer(subject, "error", { code: "internal", message: "I cannot." });
      return;
    case "fail":
      session.fail(subject, "timeout");
      return;
    case "hold":
      session.fail(subject, "rate_limited");
      return;
    case "answer":
      if (subject === undefined) session.verdict({ winner: "go" });
      else session.opinion(subject, "Mine.", { changed: pick % 3 === 0 });
  }
}

/** From now on every turn is answered. */
function finish(session: DebateSession): void {
  const { stopping, stopped } = session.engine.ledger.figures;
  if (stopping || stopped || session.phase === "stopped" || session.phase === "waiting") session.recover(true);
  for (let steps = 0; session.phase !== "closed"; steps += 1) {
    expect(steps, "a debate whose turns are answered ends").toBeLessThan(40);
    const [timer] = session.engine.ledger.timers.keys();
    if (timer !== undefined) session.fireTimer(timer);
    else playTurn(session, "answer", 0);
  }
}

describe("any events in any order", () => {
  it("keep the invariants, and a debate whose turns are answered ends", () => {
    fc.assert(
      fc.property(input, moves, (given, events) => {
        const session = new DebateSession(given);
        for (const event of events) {
          if ("turn" in event) playTurn(session, event.turn, event.pick);
          else play(session, event.other, event.pick);
        }
        finish(session);
        expect(session.phase).toBe("closed");
      }),
      { numRuns: 150 },
    );
  });
});

/** Plays what a seed decides, and returns a digest of all decisions: commands, dispositions, effects and what is said to whom. */
function decisionsOf(seed: number): string {
  const random = randomOf(seed, "debate");
  const digest = createHash("sha256");
  const session = new DebateSession(
    { rounds: random.between(1, 4), until: random.pick(["rounds", "stable"]), judge: random.pick(["judge", "boss"]) },
    { max_retries: random.between(0, 3) },
  );
  const tell = (): void => void digest.update(canonicalJson(session.last.step.commands));
  for (let left = random.between(0, 60); left > 0; left -= 1) {
    tell();
    if (random.chance(0.6)) playTurn(session, random.pick(TURN_ACTIONS), random.between(0, 1000));
    else play(session, random.pick(OTHER_ACTIONS), random.between(0, 1000));
  }
  tell();
  finish(session);
  tell();
  const decided = session.records.slice(1).map(({ payload_type, target, payload, record }) => {
    const { disposition, effects } = record;
    return { payload_type, target, payload, disposition, effects };
  });
  digest.update(canonicalJson(decided));
  return digest.digest("hex").slice(0, 12);
}

describe("the rules", () => {
  it("decide as they did when the fixture was written", () => {
    const decided = readFileSync(join(ROOT, "tests/fixtures/debate-decisions.txt"), "utf8").trimEnd().split("\n");
    expect(decided.map((_, seed) => decisionsOf(seed))).toEqual(decided);
  });
});
