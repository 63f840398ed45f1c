import { type Arrows, subjectMachine } from "../../kernel/kit/lifecycles.ts";
import { accepted } from "../../kernel/kit/step-writer.ts";
import { type Ballot, count, isDecided } from "../../kernel/kit/votes.ts";
import { lifecycle } from "../../kernel/machine.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { type Patch, patched } from "../../kernel/step.ts";
import { defined } from "../../lib/json.ts";
import { type Cast, type D, isHere, isOpen, type Proposal, stateOf } from "./state.ts";

const PROPOSAL: Arrows = {
  proposed: { accepted: "accepted", rejected: "rejected", no_quorum: "no_quorum", withdrawn: "withdrawn" },
  accepted: {},
  rejected: {},
  no_quorum: {},
  withdrawn: {},
};
const LIFE = lifecycle<string, string>(subjectMachine("proposal", PROPOSAL));

function patchProposal(draft: D, id: string, patch: Patch<Proposal>): void {
  draft.patch({ proposals: draft.self.proposals.map((one) => (one.id === id ? patched(one, patch) : one)) });
}

/** Ends the life of a proposal by an event. */
export function endProposal(draft: D, { id, status }: Proposal, event: string, patch: Patch<Proposal> = {}): void {
  const ended = accepted(LIFE, `the proposal "${id}"`, status, event);
  patchProposal(draft, id, { ...patch, status: ended, roll: undefined, votes: undefined, tied: undefined });
}

/** Begins the time that the discussion or the voting may take. */
export function setTimer(draft: D, name: "discussion" | "voting"): void {
  const seconds = draft.self[`${name}_s`];
  if (seconds !== undefined) draft.setTimer(name, seconds * 1000);
}

export function openVoting(draft: D, reason?: string): void {
  if (reason !== undefined) changeState(draft, "voting", reason);
  draft.go("vote_called");
  for (const { id } of draft.self.proposals.filter(isOpen)) patchProposal(draft, id, newVote(draft));
  draft.patch({ next: "wait" });
  draft.clearTimer("discussion");
  setTimer(draft, "voting");
  settle(draft);
}

/** Whoever has joined by now can vote. */
function newVote(draft: D): Pick<Proposal, "roll" | "votes"> {
  const voters = draft.all().filter((one) => isHere(one) && !one.no_vote);
  return { roll: voters.map(({ id }) => id), votes: {} };
}

/** Whether somebody can vote on a proposal. */
export const isOnRoll = (id: string, { roll = [] }: Proposal): boolean => roll.includes(id);

/** Takes a vote, or notes that there will be none. */
export function take(draft: D, { id, votes }: Proposal, voter: string, cast: Cast): void {
  patchProposal(draft, id, { votes: { ...votes, [voter]: cast } });
  settle(draft);
}

/** Takes somebody off the rolls, and its votes with it. */
export function strike(draft: D, voter: string): void {
  const off = ({ roll = [] }: Proposal) => ({ roll: roll.filter((id) => id !== voter) });
  for (const one of draft.self.proposals) if (isOnRoll(voter, one)) patchProposal(draft, one.id, off(one));
  settle(draft);
}

/** Decides every proposal whose result no vote can change any more, or all of them. Voting ends when none is left. */
export function settle(draft: D, final?: "final"): void {
  if (draft.self.phase !== "voting") return;
  for (const one of draft.self.proposals.filter(isOpen)) {
    if (one.tied && final) decide(draft, one, { status: "rejected" });
    else if (!one.tied && (final || isDecided(draft.self, ballotOf(draft, one)))) decide(draft, one);
  }
  if (draft.self.proposals.some(isOpen)) return;
  changeState(draft, "discussion", "the vote is over");
  draft.go("vote_over");
  draft.clearTimer("voting");
  for (const { id, status } of draft.all()) if (status === "voted") draft.move(id, "vote_over");
  draft.patch({ next: nextWord(draft) });
  setTimer(draft, "discussion");
}

/** Those from outside have until the deadline before whoever leads is asked. */
export function nextWord(draft: D): "lead" | "wait" {
  return draft.self.discussion_s !== undefined && hasOutsiders(draft) ? "wait" : "lead";
}

export function hasOutsiders(draft: D): boolean {
  return draft.all().some(({ type }) => type === undefined);
}

function ballotOf(draft: D, { roll = [], votes = {} }: Proposal): Ballot {
  const invited = draft.all().filter(({ status, no_vote }) => status !== "left" && !no_vote);
  const cast = Object.entries(votes);
  return {
    roll,
    invited: invited.map(({ id }) => id),
    votes: new Map(cast.flatMap(([id, { vote }]) => (vote === undefined ? [] : [[id, vote] as const]))),
    silent: new Set(cast.flatMap(([id, { vote }]) => (vote === undefined ? id : []))),
  };
}

/** Records the result of a proposal: by its votes, or of a tie as whoever leads decides it. */
export function decide(
  draft: D,
  proposal: Proposal,
  tie?: { readonly status: "accepted" | "rejected"; readonly decided_by?: string },
): void {
  const { id, votes = {} } = proposal;
  const ballot = ballotOf(draft, proposal);
  const counted = count(draft.self, ballot);
  const { status } = tie ?? (counted.status === "tied" && proposal.again ? { status: "rejected" } : counted);
  const against = status === "accepted" ? "no" : "yes";
  const lost = status === "tied" ? [] : ballot.roll.filter((voter) => ballot.votes.get(voter) === against);
  const payload = {
    proposal_id: id,
    ...counted,
    ...tie,
    status,
    decided_early: counted.missing.some((voter) => !ballot.silent.has(voter)) && isDecided(draft.self, ballot),
    dissent: lost.map((voter) => {
      const { reason } = votes[voter] ?? {};
      return { agent_id: voter, vote: against, ...defined({ rationale: reason && from(reason, "/rationale") }) };
    }),
  };
  const result = draft.out.envelope({ target: "user", payload_type: "proposal_result", payload });
  for (const one of draft.all().filter(({ asked }) => asked === id)) {
    draft.withdraw(one.id, "decided");
    if (one.status === "asked") draft.move(one.id, "set_back", "decided");
  }
  const dissent = lost.flatMap((voter) => votes[voter]?.reason ?? []);
  if (status !== "tied") return endProposal(draft, proposal, status, { result, dissent });
  setTimer(draft, "voting");
  const more = draft.self.tie === "facilitator" ? { tied: true as const } : { again: true as const, ...newVote(draft) };
  patchProposal(draft, id, { result, ...more });
}

/** Records a change that follows from something else than a message about it. */
export function changeState(draft: D, new_state: "discussion" | "voting" | "closed", reason: string): void {
  const payload = { old_state: stateOf(draft.self), new_state, reason };
  draft.out.envelope({ target: "user", payload_type: "state_change", payload });
}

/** Closes the council, with the summary at this sequence, or with one made from its results. */
export function close(draft: D, reason: string, summary?: number): void {
  // What is tied now is decided when it is counted again.
  while (draft.self.phase === "voting") settle(draft, "final");
  const { proposals } = draft.self;
  const summary_text = linesOf(
    `Nobody wrote a summary: ${reason}. ${proposals.length === 0 ? "Nothing was proposed." : "The proposals:"}`,
    ...proposals.flatMap(({ id, status, at }) => [`${id}, ${status}:`, from(at, "/title")]),
  );
  const envelope = { target: "user", payload_type: "summary", payload: { summary_text } } as const;
  draft.patch({ summary: summary ?? draft.out.envelope(envelope) });
  changeState(draft, "closed", reason);
  // Closing ends the timers of before this step; the end of a vote has just set others.
  for (const name of ["discussion", "voting"]) draft.clearTimer(name);
  draft.finish("done");
}
