import type { Fact, FactOf } from "../../kernel/mode.ts";
import { notPermitted, wrongAt } from "../../kernel/step.ts";
import { err, ok } from "../../lib/result.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import { type D, isHere, isOpen, isReserved, type Participant, PERSON, type Proposal, stateOf } from "./state.ts";
import { close, decide, endProposal, isOnRoll, openVoting, setTimer, settle, strike, take } from "./voting.ts";

/** The most proposals, points of the agenda and participants, as the wire has them. */
const MOST = 1000;

/** Somebody known by its channel: a participant, the facilitator's role, or the local user. */
interface Acting {
  readonly id: string;
  /** Absent for whoever only leads. */
  readonly member?: Participant;
  readonly leads: boolean;
}

/** Handles what somebody from outside does. What is refused counts against whoever was known. */
export function act(draft: D, fact: Fact): Failure | undefined {
  const who = whoActs(draft, fact);
  if (!who.ok) return who.error;
  const why = perform(draft, fact, who.value);
  const { member } = who.value;
  if (why && member) draft.patchSubject(member.id, { refused: (member.refused ?? 0) + 1 });
  return why;
}

/** Who sent a message from outside. Whoever joins shows a token of its own; everybody else the one that it joined with. */
function whoActs(draft: D, { actor, payload_type, payload }: Fact): Fallible<Acting> {
  const joins = payload_type === "participant" && payload.status === "joined" ? payload.agent_id : undefined;
  const id = joins ?? actor?.participant;
  if (id === undefined && actor !== undefined && actor.via !== "agent") return ok({ id: PERSON, leads: true });
  const one = draft.subject(id);
  if (!one) {
    const ids = draft.all().flatMap(({ id: other, type }) => (type === undefined ? [other] : []));
    const hint = `invited from outside: ${ids.join(", ") || "nobody"}; whoever leads invites others`;
    return err(notPermitted(id === undefined ? "nobody says who acts" : `"${id}" is not invited`, hint));
  }
  if (one.type !== undefined)
    return err(notPermitted(`"${id}" is a role, which acts in its turns`, "act as somebody else"));
  const isKnown = joins !== undefined || (one.key === undefined ? one.status === "invited" : actor?.key === one.key);
  const hint = "join again: that gives a new token, and ends the old one";
  return isKnown ? ok(acting(draft, one)) : err(notPermitted(`this is not the token of "${id}"`, hint));
}

export function acting({ self }: D, member: Participant): Acting {
  return { id: member.id, member, leads: member.id === (self.facilitator ?? self.creator) };
}

/** Why an act is refused. */
type Refusal = Failure | void;

const ACTS: { readonly [K in PayloadType]?: (draft: D, fact: FactOf<K>, who: Acting) => Refusal } = {
  participant: onParticipant,
  agenda_item: onAgendaItem,
  comment: onComment,
  proposal: onProposal,
  vote: onVote,
  state_change: onStateChange,
  summary: (draft, { sequence }, who) =>
    whyNotLeading(draft, who, "close the council") ?? close(draft, "a summary was given", sequence),
};

/** Does what somebody may. */
export function perform(draft: D, fact: Fact, who: Acting): Failure | undefined {
  const { id, member } = who;
  const comesOrGoes = fact.payload_type === "participant" && fact.payload.status !== "invited";
  if (member && !isHere(member) && !comesOrGoes)
    return notPermitted(`"${id}" has not joined: it is ${member.status}`, "join first");
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  return (ACTS[fact.payload_type] as typeof ACTS.comment)?.(draft, fact as FactOf<"comment">, who) || undefined;
}

function whyNotLeading({ self }: D, { id, leads }: Acting, what: string): Failure | undefined {
  const leader = self.facilitator ?? self.creator;
  return leads ? undefined : notPermitted(`"${id}" may not ${what}`, `"${leader}" leads, and the local user may`);
}

function whyFull({ self }: D, all: readonly unknown[], what: string): Failure | undefined {
  if (all.length < MOST) return undefined;
  return notPermitted(`there are ${MOST} ${what} already`, `allowed in ${stateOf(self)}: comment, vote, summary`);
}

function onParticipant(draft: D, { payload }: FactOf<"participant">, who: Acting): Refusal {
  const { agent_id: id, status, token_sha256: key, reason } = payload;
  if (status === "invited") return whyNotLeading(draft, who, "invite others") ?? invite(draft, id);
  const one = draft.subject(id);
  if (id !== who.id || !one) return notPermitted(`"${who.id}" cannot speak for "${id}"`, "act as yourself: --as ID");
  if (status !== "joined") return leave(draft, id, reason);
  if (!isHere(one) && !draft.accepts(one, "joined"))
    return notPermitted(`"${id}" has left`, "whoever leads invites it again");
  if (key === undefined) return wrongAt("/token_sha256", "whoever joins needs a token", "bosun meeting join gives one");
  if (!isHere(one)) draft.move(id, "joined");
  draft.patchSubject(id, { key });
}

function invite(draft: D, id: string): Refusal {
  const one = draft.subject(id);
  if (isReserved(id)) return wrongAt("/agent_id", `"${id}" cannot be a participant`, "use another id");
  if (one && one.status !== "left") return notPermitted(`"${id}" is ${one.status} already`, "it need not be invited");
  if (one) draft.move(id, "invited");
  else {
    const full = whyFull(draft, draft.all(), "participants");
    if (full) return full;
    draft.create({ id }, draft.all().length);
  }
}

/** Takes somebody out, and its votes of the present voting. Who was invited and has not joined declines. */
export function leave(draft: D, id: string, reason?: string): Refusal {
  const one = draft.subject(id);
  if (!one || !draft.accepts(one, "left")) return notPermitted(`"${id}" is not there`, "nothing is to be done");
  draft.withdraw(id, "left");
  draft.move(id, one.status === "invited" ? "declined" : "left", reason);
  strike(draft, id);
}

function onAgendaItem(draft: D, { sequence }: Fact): Refusal {
  const { agenda } = draft.self;
  return whyFull(draft, agenda, "points") ?? draft.patch({ agenda: [...agenda, sequence] });
}

function onComment(_: D, { sequence, payload }: FactOf<"comment">): Refusal {
  const { reply_to_message_id: to } = payload;
  if (to === undefined || Number(to.slice(1)) < sequence) return undefined;
  return wrongAt("/reply_to_message_id", `there is no message ${to} yet`, "name the message_id of an earlier message");
}

function onProposal(draft: D, { payload, sequence }: FactOf<"proposal">, who: Acting): Refusal {
  const { proposals, phase } = draft.self;
  const { proposal_id, status } = payload;
  if (phase === "voting") return notPermitted("nothing is proposed during a vote", "allowed in voting: comment, vote");
  if (status === "withdrawn") return withdraw(draft, proposal_id ?? "", who);
  if (proposal_id !== undefined)
    return wrongAt("/proposal_id", "a new proposal gets its id from the council", "leave proposal_id out");
  const one = { id: `p${proposals.length + 1}`, at: sequence, by: who.id, status: "proposed" };
  return whyFull(draft, proposals, "proposals") ?? draft.patch({ proposals: [...proposals, one] });
}

function withdraw(draft: D, id: string, who: Acting): Refusal {
  const one = openProposal(draft, id);
  if (!one.ok) return one.error;
  const { by } = one.value;
  if (by !== who.id && !who.leads) return notPermitted(`${id} is of "${by}"`, "its author withdraws it");
  endProposal(draft, one.value, "withdrawn");
}

function openProposal({ self: { proposals } }: D, id: string): Fallible<Proposal> {
  const found = proposals.find((one) => one.id === id);
  if (found && isOpen(found)) return ok(found);
  const message = found ? `the proposal ${id} is ${found.status}, which is final` : `there is no proposal "${id}"`;
  const open = proposals.filter(isOpen).map((one) => one.id);
  return err(wrongAt("/proposal_id", message, `open: ${open.join(", ") || "none"}`));
}

function onVote(draft: D, { payload, sequence }: FactOf<"vote">, { id, member, leads }: Acting): Refusal {
  const { proposal_id, vote, rationale } = payload;
  const { phase } = draft.self;
  const proposal = openProposal(draft, proposal_id);
  if (!proposal.ok) return proposal.error;
  if (phase !== "voting") return notPermitted(`there is no vote now: it is ${phase}`, `allowed: ${allowedIn(phase)}`);
  if (proposal.value.tied) {
    if (!leads) return notPermitted(`${proposal_id} is tied`, "whoever leads decides it");
    if (vote === "abstain") return wrongAt("/vote", "an abstention decides no tie", "vote yes or no");
    decide(draft, proposal.value, { status: vote === "yes" ? "accepted" : "rejected", decided_by: id });
    return settle(draft);
  }
  if (!member || !isOnRoll(id, proposal.value))
    return notPermitted(
      `"${id}" does not vote on ${proposal_id}: who votes had joined when the vote was called`,
      "comment",
    );
  if (draft.accepts(member, "voted")) draft.move(id, "voted");
  take(draft, proposal.value, id, { vote, ...(rationale === undefined ? {} : { reason: sequence }) });
}

const allowedIn = (phase: string) =>
  phase === "voting" ? "vote, comment, summary" : "comment, agenda_item, proposal, state_change, summary";

function onStateChange(draft: D, fact: FactOf<"state_change">, who: Acting): Refusal {
  const { payload, sequence, turn } = fact;
  const { phase, proposals, round, max_rounds } = draft.self;
  const left = { ...draft.self.left, [sequence]: stateOf(draft.self) };
  const notLeading = whyNotLeading(draft, who, "change the state");
  if (notLeading) return notLeading;
  if (payload.new_state === "closed") return wrongAt("/new_state", "a council closes with a summary", "send a summary");
  if (payload.new_state === "voting") {
    const why = phase === "voting" ? "the vote is on" : "nothing is proposed";
    if (phase === "voting" || !proposals.some(isOpen)) return notPermitted(why, `allowed: ${allowedIn(phase)}`);
    draft.patch({ left });
    return openVoting(draft);
  }
  if (turn && round >= max_rounds)
    return notPermitted(`the ${max_rounds} rounds are over`, "call the vote, or send the summary");
  if (phase === "voting") settle(draft, "final");
  else {
    if (phase === "open") draft.go("started");
    setTimer(draft, "discussion");
  }
  draft.patch({ next: "round", left, max_rounds: Math.max(max_rounds, round + 1) });
}
