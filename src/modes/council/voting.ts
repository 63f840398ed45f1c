import { subjectMachine } from "../../kernel/kit/lifecycles.ts";
import { accepted } from "../../kernel/kit/step-writer.ts";
import { lifecycle } from "../../kernel/machine.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { type Patch, patched } from "../../kernel/step.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Cast, type D, isHere, type Participant, type Proposal, PROPOSAL, stateOf } from "./state.ts";
import { type Ballot, type Choice, count, isDecided, type Decision } from "../../kernel/kit/votes.ts";

const LIFE = lifecycle<string, string>(subjectMachine("proposal", PROPOSAL));

/** How often a proposal is voted on, if a tie is voted on again. */
const VOTINGS = 2;

export const isOpen = ({ status }: Proposal): boolean => status === "proposed";

/** What a role that votes on a proposal in its present voting has been asked. */
export const ballotName = ({ id, opened = 0 }: Proposal): string => `${id} ${opened}`;

/** The vote or pass of a participant in the present voting on a proposal. */
export function castOn({ ballots }: Participant, { id, opened }: Proposal): Cast | undefined {
  const cast = ballots?.[id];
  return cast?.opened === opened ? cast : undefined;
}

/** Whether a participant votes on a proposal: it had joined when voting began, and is still there. */
export function isOnRoll(one: Participant, { opened = 0 }: Proposal): boolean {
  return isHere(one) && one.no_vote === undefined && (one.joined_at ?? opened) < opened;
}

function patchProposal(draft: D, id: string, patch: Patch<Proposal>): void {
  draft.patch({ proposals: draft.self.proposals.map((one) => (one.id === id ? patched(one, patch) : one)) });
}

/** Moves a proposal by an event of its life. */
export function moveProposal(draft: D, { id, status }: Proposal, event: string): void {
  patchProposal(draft, id, { status: accepted(LIFE, `the proposal "${id}"`, status, event) });
}

/** Puts all open proposals to the vote. Whoever has joined by now can vote. */
export function openVoting(draft: D, reason?: string): void {
  if (draft.self.phase === "open") draft.go("started");
  if (reason !== undefined) changeState(draft, "voting", reason);
  draft.go("vote_called");
  const { sequence } = draft.fact;
  const proposals = draft.self.proposals.map((one) =>
    isOpen(one) ? { ...one, opened: sequence, votings: (one.votings ?? 0) + 1 } : one,
  );
  draft.patch({ proposals, next: "wait" });
  draft.clearTimer("discussion");
  startTimer(draft);
  settle(draft);
}

function startTimer(draft: D): void {
  const { voting_s } = draft.self;
  if (voting_s !== undefined) draft.setTimer("voting", voting_s * 1000);
}

/** Decides every proposal whose result no vote can change any more, or all of them. Voting ends when none is left. */
export function settle(draft: D, final?: "final"): void {
  if (draft.self.phase !== "voting") return;
  for (const one of draft.self.proposals.filter(isOpen)) {
    if (one.tied) {
      if (final) decideTie(draft, one.id, "no");
      continue;
    }
    const ballot = ballotOf(draft, one);
    if (final || isDecided(draft.self.policy, ballot)) decide(draft, one, ballot);
  }
  if (!draft.self.proposals.some(isOpen)) endVoting(draft);
}

function ballotOf(draft: Pick<D, "all">, proposal: Proposal): Ballot {
  const there = draft.all().filter(({ status, no_vote }) => status !== "left" && no_vote === undefined);
  const roll = there.filter((one) => isOnRoll(one, proposal));
  const cast = roll.flatMap((one) => {
    const found = castOn(one, proposal);
    return found ? [[one.id, found] as const] : [];
  });
  return {
    roll: roll.map(({ id }) => id),
    invited: there.map(({ id }) => id),
    votes: new Map(cast.flatMap(([id, { vote }]) => (vote === undefined ? [] : [[id, vote] as const]))),
    silent: new Set(cast.flatMap(([id, { vote }]) => (vote === undefined ? [id] : []))),
  };
}

function decide(draft: D, proposal: Proposal, ballot: Ballot): void {
  const { policy } = draft.self;
  const { status: found, missing, ...counted } = count(policy, ballot);
  const isAgain = found === "tied" && policy.tie === "revote" && (proposal.votings ?? 1) >= VOTINGS;
  const status: Decision = isAgain ? "rejected" : found;
  const decided_early = missing.some((id) => !ballot.silent.has(id)) && isDecided(policy, ballot);
  const dissent = status === "tied" ? [] : dissentOf(draft, proposal, ballot, status === "accepted" ? "no" : "yes");
  const payload = { proposal_id: proposal.id, status, ...counted, decided_early, missing: [...missing], dissent };
  const result = draft.out.envelope({ target: "user", payload_type: "proposal_result", payload: { ...payload } });
  patchProposal(draft, proposal.id, { result });
  for (const { id, asked, status: now } of draft.all())
    if (asked === ballotName(proposal)) {
      draft.withdraw(id, "decided");
      if (now === "asked") draft.move(id, "set_back", "decided");
    }
  if (status !== "tied") return moveProposal(draft, proposal, status);
  startTimer(draft);
  if (policy.tie === "facilitator") return patchProposal(draft, proposal.id, { tied: true });
  patchProposal(draft, proposal.id, { opened: draft.fact.sequence, votings: VOTINGS });
}

/** The votes against what was decided. */
function dissentOf(draft: D, proposal: Proposal, { votes }: Ballot, against: Choice): JsonObject[] {
  return [...votes].flatMap(([id, vote]) => {
    if (vote !== against) return [];
    const { at = 0, reasoned } = draft.subject(id)?.ballots?.[proposal.id] ?? {};
    return [{ agent_id: id, vote, ...(reasoned ? { rationale: from(at, "/rationale") } : {}) }];
  });
}

/** Whoever leads decides a tied proposal; or nobody did in time, and it is rejected. */
export function decideTie(draft: D, id: string, vote: Choice, decided_by?: string): void {
  const proposal = draft.self.proposals.find((one) => one.id === id);
  if (!proposal) return;
  const status = vote === "yes" ? "accepted" : "rejected";
  const { status: _, missing, ...counted } = count(draft.self.policy, ballotOf(draft, proposal));
  const payload = { proposal_id: id, ...counted, status, decided_early: false, missing: [...missing], dissent: [] };
  const by = decided_by === undefined ? {} : { decided_by };
  const result = draft.out.envelope({
    target: "user",
    payload_type: "proposal_result",
    payload: { ...payload, ...by },
  });
  patchProposal(draft, id, { result, tied: undefined });
  moveProposal(draft, proposal, status);
  if (!draft.self.proposals.some(isOpen)) endVoting(draft);
}

function endVoting(draft: D): void {
  if (draft.self.phase !== "voting") return;
  changeState(draft, "discussion", "the vote is over");
  draft.go("vote_over");
  draft.clearTimer("voting");
  for (const { id, status } of draft.all()) if (status === "voted") draft.move(id, "vote_over");
  draft.patch({ next: "lead" });
  if (draft.self.discussion_s !== undefined) draft.setTimer("discussion", draft.self.discussion_s * 1000);
}

/** Records a change that follows from something else than a message about it. */
export function changeState(draft: D, new_state: "discussion" | "voting" | "closed", reason: string): void {
  const payload = { old_state: stateOf(draft.self), new_state, reason };
  draft.out.envelope({ target: "user", payload_type: "state_change", payload });
}

/** Closes the council, with the summary at this sequence, or with one made from its results. */
export function close(draft: D, reason: string, summary?: number): void {
  settle(draft, "final");
  const text = linesOf(
    `Nobody wrote a summary: ${reason}. ${draft.self.proposals.length === 0 ? "Nothing was proposed." : "The proposals:"}`,
    ...draft.self.proposals.flatMap(({ id, status, at }) => [`${id}, ${status}:`, from(at, "/title")]),
  );
  const envelope = { target: "user", payload_type: "summary", payload: { summary_text: text } } as const;
  draft.patch({ summary: summary ?? draft.out.envelope(envelope) });
  changeState(draft, "closed", reason);
  // Closing ends the timers of before this step; the end of a vote has just set others.
  for (const name of ["discussion", "voting"]) draft.clearTimer(name);
  draft.finish("done");
}
