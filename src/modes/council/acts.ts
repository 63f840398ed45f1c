import type { Fact, FactOf } from "../../kernel/mode.ts";
import { notPermitted, wrongAt } from "../../kernel/step.ts";
import { err, ok } from "../../lib/result.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { type Council, type D, isHere, type Participant, PERSON, stateOf } from "./state.ts";
import { ballotName, castOn, close, decideTie, isOnRoll, isOpen, moveProposal, openVoting, settle } from "./voting.ts";

/** The most proposals and points of the agenda. */
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
  const why = done(draft, fact, who.value);
  const { member } = who.value;
  if (why && member) draft.patchSubject(member.id, { refused: (member.refused ?? 0) + 1 });
  return why;
}

/** Handles what a role does in its turn. */
export function actInTurn(draft: D, fact: Fact, member: Participant | undefined): Failure | undefined {
  return done(draft, fact, member ? acting(draft, member) : { id: fact.source, leads: true });
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

function acting({ self }: D, member: Participant): Acting {
  return { id: member.id, member, leads: member.id === (self.facilitator ?? self.creator) };
}

function done(draft: D, fact: Fact, who: Acting): Failure | undefined {
  switch (fact.payload_type) {
    case "participant":
      return onParticipant(draft, fact, who);
    case "vote":
      return whyAbsent(draft, who) ?? onVote(draft, fact, who);
    case "state_change":
      return onStateChange(draft, fact, who);
    case "summary":
      return onSummary(draft, fact, who);
    case "proposal":
      return whyAbsent(draft, who) ?? heard(draft, onProposal(draft, fact, who));
    case "agenda_item":
      if (draft.self.agenda.length >= MOST) return full(draft, "points");
      return whyAbsent(draft, who) ?? onAgendaItem(draft, fact);
    case "comment":
      return whyAbsent(draft, who) ?? heard(draft, unknownReply(fact));
    default:
      return undefined;
  }
}

function heard(draft: D, why: Failure | undefined): Failure | undefined {
  if (!why && draft.self.heard !== true) draft.patch({ heard: true });
  return why;
}

function onAgendaItem(draft: D, { sequence }: Fact): undefined {
  draft.patch({ agenda: [...draft.self.agenda, sequence], heard: true });
}

function full({ self }: D, what: string): Failure {
  return notPermitted(`there are ${MOST} ${what} already`, `allowed in ${stateOf(self)}: comment, vote, summary`);
}

/** Why a participant cannot act: it has not joined, or has left. */
function whyAbsent(_: D, { id, member }: Acting): Failure | undefined {
  if (!member || isHere(member)) return undefined;
  return notPermitted(`"${id}" has not joined: it is ${member.status}`, "join first");
}

function unknownReply({ sequence, payload }: FactOf<"comment">): Failure | undefined {
  const { reply_to_message_id: to } = payload;
  if (to === undefined || Number(to.slice(1)) < sequence) return undefined;
  return wrongAt("/reply_to_message_id", `there is no message ${to} yet`, "name the message_id of an earlier message");
}

function onParticipant(draft: D, { payload, sequence }: FactOf<"participant">, who: Acting): Failure | undefined {
  const { agent_id: id, status, token_sha256: key, reason } = payload;
  const one = draft.subject(id);
  if (status === "invited") {
    if (!who.leads) return mayLead(draft, who, "invite others");
    if (id === PERSON || id === "scheduler")
      return wrongAt("/agent_id", `"${id}" cannot be a participant`, "use another id");
    if (one && one.status !== "left") return notPermitted(`"${id}" is ${one.status} already`, "it need not be invited");
    if (one) draft.move(id, "invited");
    else draft.create({ id }, draft.all().length);
    draft.patch({ attended: true });
    return undefined;
  }
  if (id !== who.id || !one) return notPermitted(`"${who.id}" cannot speak for "${id}"`, "act as yourself: --as ID");
  if (status !== "joined") return leave(draft, id, status, reason);
  if (!isHere(one) && !draft.accepts(one, "joined"))
    return notPermitted(`"${id}" has left`, "whoever leads invites it again");
  if (key === undefined) return wrongAt("/token_sha256", "whoever joins needs a token", "bosun meeting join gives one");
  if (!isHere(one)) draft.move(id, "joined");
  draft.patchSubject(id, { key, joined_at: isHere(one) ? (one.joined_at ?? sequence) : sequence });
  return undefined;
}

/** Takes somebody out: votes of the present voting are void. Who was invited and never joined declines. */
export function leave(draft: D, id: string, as: "declined" | "left", reason?: string): Failure | undefined {
  const one = draft.subject(id);
  if (!one || !draft.accepts(one, "left")) return notPermitted(`"${id}" is not there`, "nothing is to be done");
  draft.withdraw(id, "left");
  draft.move(
    id,
    as === "left" && one.joined_at !== undefined ? "left" : one.status === "invited" ? "declined" : "left",
    reason,
  );
  draft.patchSubject(id, { ballots: undefined, key: undefined });
  settle(draft);
  return undefined;
}

function onProposal(draft: D, { payload, sequence }: FactOf<"proposal">, who: Acting): Failure | undefined {
  const { proposals, phase } = draft.self;
  const { proposal_id, status } = payload;
  if (phase === "voting") return notPermitted("nothing is proposed during a vote", "allowed in voting: comment, vote");
  if (status === "withdrawn" || proposal_id !== undefined) {
    const one = proposals.find(({ id }) => id === proposal_id);
    if (!one || !isOpen(one)) return unknownProposal(draft, proposal_id ?? "");
    if (status !== "withdrawn") return wrongAt("/proposal_id", `${one.id} is there already`, "leave proposal_id out");
    if (one.by !== who.id && !who.leads) return notPermitted(`${one.id} is of "${one.by}"`, "its author withdraws it");
    moveProposal(draft, one, "withdrawn");
    return undefined;
  }
  if (proposals.length >= MOST) return full(draft, "proposals");
  const one = { id: `p${proposals.length + 1}`, at: sequence, by: who.id, status: "proposed" };
  draft.patch({ proposals: [...proposals, one] });
  return undefined;
}

function unknownProposal({ self }: D, id: string): Failure {
  const open = self.proposals.filter(isOpen).map((one) => one.id);
  const found = self.proposals.find((one) => one.id === id);
  const message = found ? `the proposal ${id} is ${found.status}, which is final` : `there is no proposal "${id}"`;
  return wrongAt("/proposal_id", message, `open: ${open.join(", ") || "none"}`);
}

function onVote(draft: D, { payload, sequence }: FactOf<"vote">, { id, member, leads }: Acting): Failure | undefined {
  const { proposal_id, vote, rationale } = payload;
  const { phase, proposals } = draft.self;
  const proposal = proposals.find((one) => one.id === proposal_id);
  if (!proposal || !isOpen(proposal)) return unknownProposal(draft, proposal_id);
  if (phase !== "voting") return notPermitted(`there is no vote now: it is ${phase}`, `allowed: ${allowedIn(phase)}`);
  if (proposal.tied) {
    if (!leads) return notPermitted(`${proposal_id} is tied`, "whoever leads decides it");
    if (vote === "abstain") return wrongAt("/vote", "an abstention decides no tie", "vote yes or no");
    decideTie(draft, proposal_id, vote, id);
    return undefined;
  }
  if (!member || !isOnRoll(member, proposal))
    return notPermitted(
      `"${id}" does not vote on ${proposal_id}: who votes had joined when the vote was called`,
      "comment",
    );
  const cast = {
    opened: proposal.opened ?? 0,
    vote,
    at: sequence,
    ...(rationale === undefined ? {} : { reasoned: true as const }),
  };
  draft.patchSubject(id, { ballots: { ...member.ballots, [proposal_id]: cast } });
  if (draft.accepts(member, "voted")) draft.move(id, "voted");
  settle(draft);
  return undefined;
}

const allowedIn = (phase: string) =>
  phase === "voting" ? "vote, comment, summary" : "comment, agenda_item, proposal, state_change, summary";

/** A role has nothing to say, or does not vote. */
export function passed(draft: D, id: string, asked: string): void {
  const proposal = draft.self.proposals.find((one) => ballotName(one) === asked);
  const one = draft.subject(id);
  if (!proposal || !one || castOn(one, proposal)) return;
  const cast = { opened: proposal.opened ?? 0, at: draft.fact.sequence };
  draft.patchSubject(id, { ballots: { ...one.ballots, [proposal.id]: cast } });
  settle(draft);
}

function mayLead({ self }: D, { id }: Acting, what: string): Failure {
  return notPermitted(`"${id}" may not ${what}`, `"${leaderOf(self)}" leads, and the local user may`);
}

const leaderOf = ({ facilitator, creator }: Council) => facilitator ?? creator;

function onStateChange(draft: D, fact: FactOf<"state_change">, who: Acting): Failure | undefined {
  const { payload, sequence } = fact;
  const { phase, proposals, round, max_rounds, lead } = draft.self;
  const left = { ...draft.self.left, [sequence]: stateOf(draft.self) };
  const { new_state } = payload;
  if (!who.leads) return mayLead(draft, who, "change the state");
  if (new_state === "closed") return wrongAt("/new_state", "a council closes with a summary", "send a summary");
  if (new_state === "voting") {
    if (phase === "voting") return notPermitted("the vote is on", `allowed: ${allowedIn(phase)}`);
    if (!proposals.some(isOpen)) return notPermitted("nothing is proposed", `allowed: ${allowedIn(phase)}`);
    draft.patch({ left });
    openVoting(draft);
    return undefined;
  }
  if (phase === "voting") settle(draft, "final");
  else if (phase === "open") draft.go("started");
  else if (lead && !who.member && who.id === lead.role_id && round >= max_rounds)
    return notPermitted(`the ${max_rounds} rounds are over`, "call the vote, or send the summary");
  else draft.patch({ max_rounds: Math.max(max_rounds, round + 1) });
  draft.patch({ next: "round", left });
  return undefined;
}

function onSummary(draft: D, { sequence }: FactOf<"summary">, who: Acting): Failure | undefined {
  if (!who.leads) return mayLead(draft, who, "close the council");
  close(draft, "a summary was given", sequence);
  return undefined;
}
