import type { ReadonlyState, TurnDraft, TurnStamp } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { expectedAnswers } from "../../protocol/rights.ts";
import { DEBATE_RIGHTS } from "./rights.ts";
import type { Debate, Debater, DebateState, OpenTurn } from "./state.ts";

/**
 * Returns the request for a debater or the judge, with the context that an agent without memory needs. A debater gets all opinions of the previous
 * round, including its own; the judge gets the whole debate. A debater never sees opinions of the current round.
 */
export function request(state: ReadonlyState<DebateState>, stamp: TurnStamp): TurnDraft {
  const { debate } = state;
  const debater = stamp.subject === undefined ? undefined : state.debaters.get(stamp.subject);
  const turn = stamp.subject === undefined ? debate?.judge.turn : debater?.turn;
  if (!debate || turn?.turn_id !== stamp.turn_id) throw new Error(`nobody holds turn ${stamp.turn_id}`);
  return debater ? toDebater(state, debate, turn, debater) : toJudge(state, debate, turn);
}

function toDebater(state: ReadonlyState<DebateState>, debate: Debate, turn: OpenTurn, debater: Debater): TurnDraft {
  return {
    expects: expectedAnswers(DEBATE_RIGHTS, "participant", "requirement"),
    message: { payload_type: "requirement", payload: { text: topic(debate) } },
    context: context(debate, turn, opinionsOf(state, debate, debate.round - 1), debater.notes),
  };
}

function toJudge(state: ReadonlyState<DebateState>, debate: Debate, turn: OpenTurn): TurnDraft {
  const rounds = Array.from({ length: debate.round }, (_, index) => index + 1);
  const sides = debate.order.map(
    (id) => `${id}${state.debaters.get(id)?.status === "dropped" ? " (dropped out)" : ""}`,
  );
  return {
    expects: expectedAnswers(DEBATE_RIGHTS, debate.judge.type, "report"),
    message: {
      payload_type: "report",
      payload: {
        status: "completed",
        summary: `The debate is over after round ${debate.round}. Debaters: ${sides.join(", ")}.`,
      },
    },
    context: context(
      debate,
      turn,
      rounds.flatMap((round) => opinionsOf(state, debate, round)),
    ),
  };
}

function context(debate: Debate, turn: OpenTurn, transcript: readonly Json[], own: readonly number[] = []): JsonObject {
  // In the order in which they were sent.
  const notes = [...debate.notes, ...own].toSorted((a, b) => a - b);
  return {
    requirement: topic(debate),
    transcript,
    metadata: { round: debate.round, rounds: debate.rounds },
    ...(notes.length > 0 ? { notes: notes.map((sequence) => from(sequence, "/text")) } : {}),
    ...(turn.refused ? { refused: turn.refused } : {}),
  };
}

function opinionsOf(state: ReadonlyState<DebateState>, debate: Debate, round: number): Json[] {
  return debate.order.flatMap((id): Json[] => {
    const sequence = state.debaters.get(id)?.opinions[round - 1];
    return sequence === undefined ? [] : [{ sequence, source: id, payload_type: "opinion", payload: from(sequence) }];
  });
}

function topic(debate: Debate): JsonObject {
  return from(debate.topic, "/input/topic");
}
