import type { Draft } from "./draft.ts";
import type { ArguedBy } from "./state.ts";

/** Asks every remaining debater, in one step. They see only the previous round, so they answer independently. */
export function beginRound(draft: Draft, round: number): void {
  draft.patchDebate({ round });
  for (const debater of draft.seated()) draft.offer(debater.id);
}

/** If every debater has answered, begins the next round or asks the judge. */
export function endRound(draft: Draft): void {
  if (draft.debate.phase !== "debating" || draft.seated().some((debater) => debater.status !== "answered")) return;
  const argued_by = arguedBy(draft);
  if (argued_by === undefined) {
    draft.moveDebate("round_over");
    beginRound(draft, draft.debate.round + 1);
  } else {
    draft.moveDebate("argued");
    draft.patchDebate({ argued_by });
    draft.offer(undefined);
  }
}

function arguedBy(draft: Draft): ArguedBy | undefined {
  const { round, rounds, until } = draft.debate;
  const seated = draft.seated();
  if (round >= rounds) return "rounds";
  if (until === "stable" && round > 1 && seated.every((debater) => debater.unchanged)) return "stable";
  return seated.length === 1 ? "one_left" : undefined;
}
