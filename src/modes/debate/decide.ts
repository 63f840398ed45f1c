import type { Fact, FactOf, ReadonlyState, Step } from "../../kernel/mode.ts";
import { notPermitted, stepOf } from "../../kernel/step.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { Draft, retryTimer } from "./draft.ts";
import { closingUnopened, finish } from "./finish.ts";
import { readInput } from "./input.ts";
import { onSessionRecovered, onSessionReopened, onSessionStopped, onUserCommand } from "./people.ts";
import { beginRound, endRound } from "./rounds.ts";
import type { DebateState, OpenTurn } from "./state.ts";
import { refuseAnswer, setBack } from "./trouble.ts";

/** Returns everything that follows from a fact. If the state does not accept it, the step is a refusal without changes. */
export function decide(state: ReadonlyState<DebateState>, fact: Fact): Step {
  return stepOf(() => {
    const draft = new Draft(state, fact);
    dispatch(draft, fact);
    return draft.step();
  });
}

type Handlers = { readonly [K in Fact["payload_type"]]?: (draft: Draft, fact: FactOf<K>) => void };

const HANDLERS: Handlers = {
  session_opened: onSessionOpened,
  timer_fired: onTimerFired,
  user_command: onUserCommand,
  session_stopped: onSessionStopped,
  session_recovered: onSessionRecovered,
  session_reopened: onSessionReopened,
  // Admitted turns, artifacts and progress change nothing.
  turn_request: () => {},
  artifact_ref: () => {},
  report: (draft, fact) => {
    if (fact.payload.status !== "progress") onAnswer(draft, fact);
  },
};

function dispatch(draft: Draft, fact: Fact): void {
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  const handle = (HANDLERS[fact.payload_type] ?? onAnswer) as (draft: Draft, fact: Fact) => void;
  handle(draft, fact);
}

/** Opens the debate. Invalid input closes the session at once, and the refusal says why. */
function onSessionOpened(draft: Draft, fact: FactOf<"session_opened">): void {
  if (draft.isOpen) return draft.forbid("the debate is open already", "begin another: bosun debate");
  const { input, roles, config } = fact.payload;
  const read = readInput(input, roles);
  if (!read.ok) {
    draft.refuse(read.error);
    draft.command(closingUnopened());
    return;
  }
  const { debaters, judge, rounds, until } = read.value;
  draft.putDebate({
    phase: "debating",
    topic: fact.sequence,
    order: debaters,
    judge: { role_id: judge, type: roles.find((role) => role.role_id === judge)?.type ?? "participant" },
    rounds,
    until,
    round: 1,
    max_retries: config.max_retries,
    retry_backoff_ms: config.retry_backoff_ms,
    notes: [],
  });
  for (const id of debaters) draft.seat(id);
  beginRound(draft, 1);
}

/** Handles the end of a turn: removes the turn from its holder, then handles the answer. Refuses a fact that ends no open turn. */
function onAnswer(draft: Draft, fact: Fact): void {
  const id = fact.subject;
  const turn = draft.asked(id)?.turn;
  if (!turn || turn.turn_id !== fact.turn?.turn_id)
    return draft.forbid(`no turn of this debate is open for this "${fact.payload_type}"`, "see SPEC.md");
  draft.patchAsked(id, { turn: undefined });
  if (fact.payload_type === "turn_failed") setBack(draft, id, turn, fact.payload.code, fact.payload.refused);
  else if (id === undefined) onJudge(draft, fact, turn);
  else onDebater(draft, fact, id, turn);
}

function onDebater(draft: Draft, fact: Fact, id: string, turn: OpenTurn): void {
  if (fact.payload_type === "error") return setBack(draft, id, turn, fact.payload.code);
  if (fact.payload_type !== "opinion") return refuseAnswer(draft, id, turn, expected("a debater", "opinion", fact));
  const { round } = draft.debate;
  if (fact.payload.round !== round) {
    const why = failure("validation_failed", `this is round ${round}, not ${fact.payload.round}`, {
      hint: "the round is in context.metadata.round",
      details: { pointer: "/round" },
    });
    return refuseAnswer(draft, id, turn, why);
  }
  draft.move(id, "opinion_given");
  draft.patchDebater(id, {
    opinions: [...(draft.debater(id)?.opinions ?? []), fact.sequence],
    unchanged: fact.payload.changed === false ? true : undefined,
  });
  endRound(draft);
}

function onJudge(draft: Draft, fact: Fact, turn: OpenTurn): void {
  if (fact.payload_type === "error") return finish(draft, "failed", fact.payload.code);
  if (fact.payload_type !== "verdict")
    return refuseAnswer(draft, undefined, turn, expected("the judge", "verdict", fact));
  const { winner } = fact.payload;
  if (winner !== undefined && !draft.debater(winner)) {
    const why = failure("validation_failed", `"${winner}" was not in the debate`, {
      hint: `leave the winner out, or name one of: ${draft.debate.order.join(", ")}`,
      details: { pointer: "/winner" },
    });
    return refuseAnswer(draft, undefined, turn, why);
  }
  draft.patchDebate({ verdict: fact.sequence });
  finish(draft, "done");
}

function expected(who: string, wanted: string, fact: Fact): Failure {
  return notPermitted(
    `${who} answers with "${wanted}", not with "${fact.payload_type}"`,
    "send one of the types in expects",
  );
}

/** The back-off of the judge or of a debater is over. */
function onTimerFired(draft: Draft, fact: FactOf<"timer_fired">): void {
  const id = fact.payload.timer_id.slice(retryTimer(undefined).length) || undefined;
  const asked = draft.asked(id);
  if (asked?.put_again?.waits_for === "timer") draft.offer(id, asked.put_again);
}
