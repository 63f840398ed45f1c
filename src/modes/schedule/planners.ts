import { hash } from "node:crypto";
import { childId } from "../../kernel/children.ts";
import { sessionWaitedFor, waitingForSession } from "../../kernel/kit/holder.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Draft } from "./draft.ts";
import { offer } from "./offering.ts";
import type { Place, Planners, SessionValue } from "./state.ts";
import { DISCUSSION_TIMER } from "./waiting.ts";

/** Seconds that the planners may take. */
const TIMEOUT_S = 3600;

/** The planners of the settings. */
export function plannersOf({ planning }: ResolvedConfiguration): Planners | undefined {
  return planning && { members: planning.planners, timeout_s: TIMEOUT_S };
}

/** Whether planners plan before the manager does, who only clarifies until then. */
export function plansLater({ settings, plan, plans }: SessionValue): boolean {
  return settings.planners !== undefined && plan === undefined && plans === undefined;
}

/** Opens a child session in which the planners plan, independently of each other. */
export function askPlanners(draft: Draft): void {
  const { members = [] } = draft.session.settings.planners ?? {};
  const child = String(draft.fact.sequence);
  draft.patchSession({ waits_for: waitingForSession(child), put_again: undefined });
  draft.out.command({
    do: "open_session",
    child,
    mode: "planning",
    input: { planners: [...members], topic: topicOf(draft) },
    // Each planner may fail once, and have its turn repeated after a crash.
    budget: { turns: 3 * members.length },
  });
}

/** The requirement, and what was said about it. */
function topicOf({ session, questions }: Draft): JsonObject {
  const [sequence, pointer] = session.requirement ?? [0, ""];
  const clarified = session.clarifications.flatMap((id) => {
    const { record = 0, pointer: at = "", answers = [] } = questions.get(id) ?? {};
    return answers.flatMap((answer, index) =>
      answer ? [["Asked:", from(record, `${at}/${index}/text`)] as const, ["Answered:", from(...answer)] as const] : [],
    );
  });
  const notes = session.notes.map((note) => ["A note:", from(note, "/text")] as const);
  return linesOf(from(sequence, `${pointer}/text`), ...clarified, ...notes);
}

/** Handles the end of the planners' session: the manager gets the plans that there are, and plans alone if there are none. */
export function onPlanned(
  draft: Draft,
  { sequence, payload: { session_id, result } }: FactOf<"session_finished">,
): void {
  if (sessionWaitedFor(draft.session.waits_for) !== childId(session_id)) return;
  draft.out.command({ do: "clear_timer", timer_id: DISCUSSION_TIMER });
  const given = listOf(objectOf(result).plans).flatMap((one, index): Place[] =>
    objectOf(one).plan === undefined ? [] : [[sequence, `/result/plans/${index}/plan`]],
  );
  const parent = session_id.slice(0, session_id.lastIndexOf("."));
  draft.patchSession({ plans: shuffled(given, parent) });
  offer(draft, undefined, "requirement");
}

/** In an order that follows from the session's id, so that it says nothing of the authors and a replay makes the same. */
function shuffled(plans: readonly Place[], session_id: string): Place[] {
  const rank = ([, pointer]: Place) => hash("sha256", `${session_id}${pointer}`);
  return plans.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** The plans as whoever judges them sees them: without authors. */
export function plansWithoutNames(plans: readonly Place[]): Json[] {
  return plans.map(([sequence, pointer], index) => ({
    sequence,
    source: `plan_${index + 1}`,
    payload_type: "plan",
    payload: from(sequence, pointer),
  }));
}
