import { failure } from "../../protocol/failure.ts";
import { isNotice } from "../../protocol/payload.ts";
import { expectedAnswers } from "../../protocol/rights.ts";
import type { Command, Fact, FactOf, Mode, TurnDraft, TurnStamp } from "../mode.ts";
import { from } from "../references.ts";
import { notPermitted, stepOf } from "../step.ts";
import { contradictionsIn } from "./contradictions.ts";
import { type Descriptor, readerOf, rightsOf } from "./descriptor.ts";
import { Draft } from "./draft.ts";
import { retriedBy } from "./holder.ts";
import { readInput } from "./input.ts";
import { lifecyclesOf } from "./lifecycles.ts";
import { onCommand, onRecovered, onStopped } from "./people.ts";
import type { Handlers, Kit, Rules } from "./rules.ts";
import { inOrder, type KitState, type Self, type Subject, type View } from "./state.ts";
import { refuseAnswer, setBack } from "./trouble.ts";

/** Makes a mode from its descriptor and its rules. Throws if the descriptor contradicts itself, and says everything that does. */
export function modeOf<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
  rules: Rules<I, S, U>,
): Mode<KitState<S, U>> {
  const wrong = contradictionsIn(descriptor);
  if (wrong.length > 0) throw new Error(`the mode "${descriptor.name}" contradicts itself:\n- ${wrong.join("\n- ")}`);
  const rights = rightsOf(descriptor);
  const kit: Kit<S, U> = { descriptor, rules, rights, lifecycles: lifecyclesOf(descriptor) };
  return {
    ...readerOf(descriptor),
    rules: descriptor.rules,
    rights,
    decide: (state, fact) =>
      stepOf(() => {
        const draft = new Draft(kit, state, fact);
        dispatch(kit, draft, fact);
        return draft.step();
      }),
    request: (state, stamp) => request(kit, state, stamp),
  };
}

/** The command that closes a session whose opening was refused. */
const UNOPENED: Command = {
  do: "finish",
  outcome: "failed",
  reason: "invalid_input",
  report: { requirement: "", tickets: [], next_steps: [] },
};

function dispatch<S extends Self, U extends Subject>(kit: Kit<S, U>, draft: Draft<S, U>, fact: Fact): void {
  switch (fact.payload_type) {
    case "session_opened":
      return onOpened(kit, draft, fact);
    case "user_command":
      return onCommand(kit, draft, fact);
    case "session_stopped":
      return onStopped(kit, draft, fact);
    case "session_recovered":
      return onRecovered(kit, draft);
    case "session_reopened":
      return onReopened(kit, draft);
    case "timer_fired": {
      const retried = retriedBy(fact.payload.timer_id);
      return retried === null ? onOther(kit, draft, fact) : draft.putAgain(retried, fact.payload.timer_id);
    }
    // Admitted turns, artifacts and progress change nothing.
    case "turn_request":
      return;
    default:
      if (isNotice(fact)) return;
      if (fact.turn === undefined && kit.rules.on?.[fact.payload_type] !== undefined) onOther(kit, draft, fact);
      else onAnswer(kit, draft, fact);
  }
}

/** Opens the session. Invalid input closes it at once, and the refusal says what is wrong. */
function onOpened<S extends Self, U extends Subject>(
  { descriptor, rules, lifecycles }: Kit<S, U>,
  draft: Draft<S, U>,
  fact: FactOf<"session_opened">,
): void {
  const { name } = descriptor;
  if (draft.isOpen) return draft.out.forbid(`the ${name} is open already`, `begin another: bosun ${name}`);
  const { input: given, roles, config } = fact.payload;
  const input = readInput(descriptor, given, roles);
  if (!input.ok) {
    const message = input.error.map(({ what }) => what).join("; ");
    const expected = input.error.flatMap((finding) => finding.expected ?? []).join("; ");
    const hint = expected === "" ? `SPEC.md lists what the input of a ${name} has` : `expected: ${expected}`;
    const details = { pointer: input.error[0]?.pointer };
    draft.out.refuse(failure("validation_failed", message, { hint, details }));
    return draft.out.command(UNOPENED);
  }
  const { self, subjects } = rules.begin(input.value, fact);
  const { max_retries, retry_backoff_ms } = config;
  const own: Self = { phase: lifecycles.session.initial, opened: fact.sequence, max_retries, retry_backoff_ms };
  draft.open({ ...self, ...own } as S);
  for (const [order, subject] of subjects.entries()) draft.create(subject, order);
  rules.goOn(draft);
}

/** A closed session goes on only if something of it can be retried. Otherwise the ledger has opened it again, so it is closed as before. */
function onReopened<S extends Self, U extends Subject>({ descriptor }: Kit<S, U>, draft: Draft<S, U>): void {
  const { name, events } = descriptor;
  if (draft.isOpen && events.retried !== undefined) return draft.go("reopened");
  draft.out.forbid(`a ${name} that has ended cannot go on`, `begin another: bosun ${name}`);
  if (!draft.isOpen) draft.out.command(UNOPENED);
  else if (draft.self.phase === "closed") draft.close();
}

/** Handles the end of a turn: removes the turn from its holder, then handles the answer. Refuses a fact that ends no open turn. */
function onAnswer<S extends Self, U extends Subject>(kit: Kit<S, U>, draft: Draft<S, U>, fact: Fact): void {
  const { descriptor, rules, rights } = kit;
  const id = fact.subject;
  const turn = draft.holder(id)?.turn;
  if (!turn || turn.turn_id !== fact.turn?.turn_id)
    return draft.out.forbid(
      `no turn of this ${descriptor.name} is open for this "${fact.payload_type}"`,
      "see SPEC.md",
    );
  draft.patchHolder(id, { turn: undefined });
  if (fact.payload_type === "turn_failed")
    return setBack(kit, draft, id, turn, fact.payload.code, fact.payload.refused);
  if (fact.payload_type === "error") {
    if (id === undefined && rules.gaveUp) return rules.gaveUp(draft, fact.payload.code);
    return setBack(kit, draft, id, turn, fact.payload.code);
  }
  const one = draft.subject(id);
  const { type } = rules.seat(draft.self, one).seat;
  const expected = expectedAnswers(rights, type, turn.message);
  if (!expected.includes(fact.payload_type)) {
    const wanted = expected.filter((answer) => answer !== "error").map((answer) => `"${answer}"`);
    const who = one ? `a ${descriptor.subject}` : `the ${descriptor.seat ?? descriptor.name}`;
    const what = `${who} answers with ${wanted.join(" or ")}, not with "${fact.payload_type}"`;
    return refuseAnswer(kit, draft, id, turn, notPermitted(what, "send one of the types in expects"));
  }
  const why = rules.answered(draft, fact, one);
  if (why && "failed" in why) setBack(kit, draft, id, turn, why.failed);
  else if (why) refuseAnswer(kit, draft, id, turn, why);
}

/** Handles what answers no turn. */
function onOther<S extends Self, U extends Subject>({ rules }: Kit<S, U>, draft: Draft<S, U>, fact: Fact): void {
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  const handle = rules.on?.[fact.payload_type] as Handlers<Draft<S, U>, U>["error"];
  const why = handle?.(draft, fact as FactOf<"error">, draft.subject(fact.subject));
  if (why) draft.out.refuse(why);
}

/** The request of an offered or open turn, with the context that an agent without memory needs. */
function request<S extends Self, U extends Subject>(
  { descriptor, rules, rights }: Kit<S, U>,
  state: KitState<S, U>,
  { subject: id, turn_id }: TurnStamp,
): TurnDraft {
  const { self, subjects } = state;
  const one = id === undefined ? undefined : subjects.get(id);
  const turn = id === undefined ? self?.turn : one?.turn;
  if (!self || turn?.turn_id !== turn_id) throw new Error(`nobody holds turn ${turn_id}`);
  const { payload, context } = rules.question(viewOf(self, state), one);
  // In the order in which they were sent.
  const notes = [...(self.notes ?? []), ...(one?.notes ?? [])].toSorted((a, b) => a - b);
  const { type } = rules.seat(self, one).seat;
  return {
    expects: expectedAnswers(rights, type, turn.message),
    message: { payload_type: turn.message, payload },
    context: {
      requirement: from(self.opened, `/input/${descriptor.requirement}`),
      ...context,
      ...(notes.length > 0 ? { notes: notes.map((sequence) => from(sequence, "/text")) } : {}),
      ...(turn.refused ? { refused: turn.refused } : {}),
    },
  };
}

function viewOf<S extends Self, U extends Subject>(self: S, { subjects, counts }: KitState<S, U>): View<S, U> {
  return {
    self,
    subject: (id) => (id === undefined ? undefined : subjects.get(id)),
    all: () => [...subjects.values()].toSorted(inOrder),
    count: (status) => counts.get(status) ?? 0,
  };
}
