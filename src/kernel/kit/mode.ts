import { withArticle } from "../../lib/article.ts";
import { failure } from "../../protocol/failure.ts";
import { isNotice } from "../../protocol/payload.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { expectedAnswers } from "../../protocol/rights.ts";
import { childId } from "../children.ts";
import type { Command, Fact, FactOf, Mode, TurnDraft, TurnStamp } from "../mode.ts";
import { notPermitted, stepOf } from "../step.ts";
import { defined, listOf } from "../../lib/json.ts";
import { from } from "../references.ts";
import { onClarification, onClarificationResponse } from "./asks.ts";
import { contradictionsIn } from "./contradictions.ts";
import { beginningOf, type Descriptor, readerOf, rightsOf } from "./descriptor.ts";
import { Draft } from "./draft.ts";
import { counted, endedTurn, MODE_TIMER, retriedBy, waitingForSession, waitsForChecks } from "./holder.ts";
import { readInput } from "./input.ts";
import { lifecyclesOf } from "./lifecycles.ts";
import { onCommand, onRecovered, onStopped } from "./people.ts";
import type { Handlers, Kit, Rules } from "./rules.ts";
import { type KitState, type Self, type Subject, viewOf } from "./state.ts";
import { refuseAnswer, setBack } from "./trouble.ts";
import { clarificationsIn } from "./questions.ts";
import { transcriptOf } from "./views.ts";

/** Makes a mode from its descriptor and its rules. Throws if they contradict themselves, and says everything that does. */
export function modeOf<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
  rules: Rules<I, S, U>,
): Mode<KitState<S, U>> {
  const wrong = contradictionsIn(descriptor, Object.keys(rules.on ?? {}));
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
        goOn(kit, draft);
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
      return onStopped(draft, fact);
    case "session_recovered":
      return onRecovered(draft);
    case "session_reopened":
      return onReopened(kit, draft);
    case "timer_fired": {
      const { timer_id } = fact.payload;
      const retried = retriedBy(timer_id);
      if (retried !== null) return draft.putAgain(retried, timer_id);
      return kit.rules.timedOut?.(draft, timer_id.slice(MODE_TIMER.length));
    }
    case "check_result":
      return onChecked(kit, draft, fact);
    case "approval":
      return onAllowed(kit, draft, fact);
    case "session_finished":
      // One that was withdrawn is no longer awaited.
      if (draft.stopWaiting(fact.subject, waitingForSession(childId(fact.payload.session_id))))
        kit.rules.childEnded?.(draft, fact, draft.subject(fact.subject));
      return;
    // Admitted turns, begun children, artifacts and progress change nothing.
    case "turn_request":
    case "session_begun":
      return;
    case "clarification_response":
      return draft.openQuestions().length > 0 ? onClarificationResponse(kit, draft, fact) : onAnswer(kit, draft, fact);
    default:
      if (fact.source === "user" && kit.descriptor.outsiders?.includes(fact.payload_type)) onOutsider(kit, draft, fact);
      else if (!isNotice(fact)) onAnswer(kit, draft, fact);
  }
}

/** Lets the rules go on when the step leaves nobody asked and nothing awaited. A reopened session needs a retry first. */
function goOn<S extends Self, U extends Subject>({ descriptor, rules }: Kit<S, U>, draft: Draft<S, U>): void {
  if (!draft.isOpen || draft.self.ended || !Object.hasOwn(descriptor.phases, draft.self.phase)) return;
  if (draft.isIdle) rules.goOn(draft);
}

/** Opens the session. Invalid input closes it at once, and the refusal says what is wrong. */
function onOpened<S extends Self, U extends Subject>(
  { descriptor, rules, lifecycles }: Kit<S, U>,
  draft: Draft<S, U>,
  fact: FactOf<"session_opened">,
): void {
  const { name } = descriptor;
  if (draft.isOpen)
    return draft.out.forbid(`the ${name} is open already`, `begin another: bosun ${beginningOf(descriptor)}`);
  const { input: given, roles, config } = fact.payload;
  const input = readInput(descriptor, given, roles);
  if (!input.ok) {
    const message = input.error.map(({ what }) => what).join("; ");
    const expected = input.error.flatMap((finding) => finding.expected ?? []);
    const hint = expected.length > 0 ? `expected: ${expected.join("; ")}` : "SPEC.md lists the fields of the input";
    const details = { pointer: input.error[0]?.pointer };
    draft.out.refuse(failure("validation_failed", message, { hint, details }));
    return draft.out.command(UNOPENED);
  }
  const { self, subjects } = rules.begin(input.value, fact);
  const { max_retries, retry_backoff_ms, max_clarification_rounds } = config;
  const limits = { max_retries, retry_backoff_ms, max_clarification_rounds };
  const own: Self = { phase: lifecycles.session.initial, opened: fact.sequence, ...limits };
  draft.open({ ...self, ...own } as S);
  for (const [order, subject] of subjects.entries()) draft.create(subject, order);
}

/** A closed session goes on only if something of it can be retried. Otherwise the ledger has opened it again, so it is closed as before. */
function onReopened<S extends Self, U extends Subject>({ descriptor }: Kit<S, U>, draft: Draft<S, U>): void {
  const { name, events } = descriptor;
  if (draft.isOpen && events.retried !== undefined) return draft.go("reopened");
  draft.out.forbid(
    `${withArticle(name)} that has ended cannot go on`,
    `begin another: bosun ${beginningOf(descriptor)}`,
  );
  if (!draft.isOpen) draft.out.command(UNOPENED);
  else if (draft.self.phase === "closed") draft.close();
}

/** Handles the end of a turn: removes the turn from its holder, then handles the answer. Refuses a fact that ends no open turn. */
function onAnswer<S extends Self, U extends Subject>(kit: Kit<S, U>, draft: Draft<S, U>, fact: Fact): void {
  const { descriptor, rules, rights } = kit;
  const id = fact.subject;
  const turn = endedTurn(draft, fact);
  if (!turn)
    return draft.out.forbid(
      `no turn of this ${descriptor.name} is open for this "${fact.payload_type}"`,
      "see SPEC.md",
    );
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
  if (fact.payload_type === "clarification") return onClarification(kit, draft, fact, turn);
  const why = rules.answered(draft, fact, one);
  if (!why) {
    draft.keep();
    // The checks of an answer may refuse it.
    if (waitsForChecks(draft.holder(id)?.waits_for)) draft.patchHolder(id, { put_again: counted(turn) });
  } else if ("failed" in why) setBack(kit, draft, id, turn, why.failed);
  else refuseAnswer(kit, draft, id, turn, why);
}

function onChecked<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  fact: FactOf<"check_result">,
): void {
  const id = fact.subject;
  const { put_again } = draft.holder(id) ?? {};
  draft.patchHolder(id, { put_again: undefined });
  draft.stopWaiting(id, fact.payload.check_id);
  const why = kit.rules.checked?.(draft, fact, draft.subject(id));
  if (!why || !put_again) return;
  if ("failed" in why) setBack(kit, draft, id, put_again, why.failed);
  else setBack(kit, draft, id, put_again, why.code, [{ ...refusalFrom("report", why) }]);
}

/** A person has decided on commands. */
function onAllowed<S extends Self, U extends Subject>(
  { rules }: Kit<S, U>,
  draft: Draft<S, U>,
  { payload: { ask_id = "", decision } }: FactOf<"approval">,
): void {
  if (!draft.stopWaiting(undefined, ask_id)) return draft.out.forbid("nothing waits for approval", "see bosun status");
  draft.out.command({ do: "clear_ask", ask_id });
  rules.allowed?.(draft, decision === "approved");
}

function onOutsider<S extends Self, U extends Subject>({ rules }: Kit<S, U>, draft: Draft<S, U>, fact: Fact): void {
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  const handle = rules.on?.[fact.payload_type] as Handlers<Draft<S, U>, U>["error"];
  const why = handle?.(draft, fact as FactOf<"error">, draft.subject(fact.subject));
  if (why) draft.out.refuse(why);
  else draft.keep();
}

/** The request of an offered or open turn, with the context that an agent without memory needs. */
function request<S extends Self, U extends Subject>(
  { descriptor, rules, rights }: Kit<S, U>,
  state: KitState<S, U>,
  { subject: id, turn_id }: TurnStamp,
): TurnDraft {
  const { self, subjects, said } = state;
  const one = id === undefined ? undefined : subjects.get(id);
  const turn = id === undefined ? self?.turn : one?.turn;
  if (!self || turn?.turn_id !== turn_id) throw new Error(`nobody holds turn ${turn_id}`);
  const { payload, context, answers, choices, view } = rules.question(viewOf(self, state), one);
  // In the order in which they were sent.
  const notes = [...(self.notes ?? []), ...(one?.notes ?? [])].toSorted((a, b) => a - b);
  const questions = [...(self.questions ?? []), ...(one?.questions ?? [])];
  const { type, role_id } = rules.seat(self, one).seat;
  const shown = view && transcriptOf([...said.values()], descriptor.lines ?? {}, { view, reader: role_id, ...turn });
  const transcript = shown && [...listOf(context?.transcript), ...shown];
  return {
    expects: expectedAnswers(rights, type, turn.message).filter(
      (answer) => answer === "error" || (answers?.includes(answer) ?? true),
    ),
    ...defined({ choices }),
    message: { payload_type: turn.message, payload },
    context: {
      requirement: from(self.opened, `/input/${descriptor.requirement}`),
      ...context,
      ...defined({ transcript }),
      ...(questions.length > 0 ? { clarifications: questions.flatMap(clarificationsIn) } : {}),
      ...(notes.length > 0 ? { notes: notes.map((sequence) => from(sequence, "/text")) } : {}),
      ...(turn.refused ? { refused: turn.refused } : {}),
    },
  };
}
