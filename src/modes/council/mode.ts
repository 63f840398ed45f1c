import { modeOf } from "../../kernel/kit/mode.ts";
import type { Question } from "../../kernel/kit/rules.ts";
import { seatedAs } from "../../kernel/kit/seated.ts";
import type { NewSubject, Self, View } from "../../kernel/kit/state.ts";
import type { Fact, Seat } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { notPermitted, wrongAt } from "../../kernel/step.ts";
import { defined } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import { act, actInTurn, leave, passed } from "./acts.ts";
import { council } from "./council.ts";
import {
  type Council,
  type CouncilInput,
  type D,
  isHere,
  manifestOf,
  memberOf,
  type Participant,
  PERSON,
  proposalOf,
  stateOf,
  weightsIn,
} from "./state.ts";
import { ballotName, castOn, changeState, close, isOnRoll, isOpen, openVoting, settle } from "./voting.ts";
import { ruleText } from "../../kernel/kit/votes.ts";

/** How long a council waits for others before it looks again, in ms. Its scheduler may leave meanwhile. */
const WAIT_MS = 30 * 24 * 3_600_000;

/** The rules of a council. */
export const councilMode = modeOf(council, {
  begin: (input, { payload: { roles }, sequence }) => {
    const subjects = membersOf(input, roles, sequence);
    return { self: selfOf(input, roles, subjects), subjects };
  },
  seat({ lead }, one) {
    const seat: Seat = one ? { type: one.type ?? "participant", role_id: one.id } : (lead ?? { type: "manager" });
    return { seat, message: "council_state" };
  },
  question,
  goOn(draft) {
    if (draft.self.phase === "open") meet(draft);
    // A vote that nothing can change ends as soon as it is called.
    for (
      let before: Council | undefined;
      draft.self.phase === "discussion" && draft.isIdle && draft.self !== before;
    ) {
      before = draft.self;
      discuss(draft);
    }
    if (draft.self.phase === "voting") nextVoters(draft);
    if (draft.self.phase !== "closed" && draft.isIdle) wait(draft);
  },
  answered,
  spent(draft, { id, asked = "", status }, code) {
    if (status === "asked") draft.move(id, "set_back", code);
    passed(draft, id, asked);
  },
  drop: (draft, { id }, reason) => void leave(draft, id, "left", reason),
  // Whoever leads does not find an answer that is accepted, so the council goes on without.
  seatSpent: (draft) => (draft.self.phase === "voting" ? settle(draft, "final") : voteOrClose(draft)),
  timedOut(draft, name) {
    const { phase, lead } = draft.self;
    if (name === "others") return draft.patch({ waits: undefined });
    if (phase === "voting") return settle(draft, "final");
    if (phase === "open") return draft.all().some(isHere) ? start(draft) : close(draft, "nobody has joined");
    if (lead) return draft.patch({ next: "lead", timed: undefined });
    return voteOrClose(draft);
  },
  on: {
    participant: act,
    agenda_item: act,
    comment: act,
    proposal: act,
    vote: act,
    state_change: act,
    summary: act,
  },
  result(session) {
    const { topic: _, state: __, ...rest } = manifestOf(session);
    const { summary } = session.self;
    const text = summary === undefined ? {} : { summary: from(summary, "/summary_text") };
    return { ...text, ...rest, participants: session.all().map(memberOf) };
  },
});

function selfOf(input: CouncilInput, roles: readonly Role[], members: readonly NewSubject<Participant>[]) {
  const { base, threshold, quorum, veto, tie, decides, weights, facilitator, goal, creator = PERSON } = input;
  const { max_rounds, discussion_s, voting_s } = input;
  const role = roles.find(({ role_id }) => role_id === facilitator);
  const early = decides === "early";
  const self: Omit<Council, keyof Self> = {
    creator,
    policy: { base, threshold, quorum, veto, tie, early, weights: weightsIn(weights) },
    max_rounds,
    attended: members.some(({ type }) => type === undefined),
    round: 0,
    next: "round",
    agenda: [],
    proposals: [],
    ...(goal === undefined ? {} : { has_goal: true as const }),
    ...defined({ facilitator, discussion_s, voting_s }),
    ...(role ? { lead: { role_id: role.role_id, type: role.type } } : {}),
  };
  return self;
}

/** The participants, and whoever leads or called the council from outside, without a vote unless it is one of them. */
function membersOf(input: CouncilInput, roles: readonly Role[], sequence: number): NewSubject<Participant>[] {
  const { participants, facilitator, creator } = input;
  const isRole = (id: string) => roles.some(({ role_id }) => role_id === id);
  const outside = [facilitator, creator].filter((id) => id !== undefined && !isRole(id) && !participants.includes(id));
  return [...participants, ...new Set(outside as string[])].map((id) => {
    const { type, display_name, description } = seatedAs(roles, id);
    return {
      id,
      ...(isRole(id) ? { type, display_name, ...defined({ description }), joined_at: sequence } : {}),
      ...(participants.includes(id) ? {} : { no_vote: true as const }),
    };
  });
}

/** Roles have joined at once. The council begins when nobody is awaited any more. */
function meet(draft: D): void {
  for (const { id, status, joined_at } of draft.all())
    if (status === "invited" && joined_at !== undefined) draft.move(id, "joined");
  if (draft.count("invited") === 0) start(draft);
  else if (draft.self.discussion_s !== undefined && draft.self.timed !== true) timeDiscussion(draft);
}

function start(draft: D): void {
  changeState(draft, "discussion", "all have joined who are awaited");
  draft.go("started");
  timeDiscussion(draft);
}

function timeDiscussion(draft: D): void {
  const { discussion_s } = draft.self;
  if (discussion_s === undefined) return;
  draft.setTimer("discussion", discussion_s * 1000);
  draft.patch({ timed: true });
}

/** The next round of the roles, or the word of whoever leads; without both, the council votes and closes by itself. */
function discuss(draft: D): void {
  const { next, round, max_rounds, lead, attended, heard, timed } = draft.self;
  if (next === "round" && round < max_rounds) {
    const speakers = draft.all().filter(({ type, status }) => type !== undefined && status === "joined");
    if (speakers.length > 0) {
      draft.patch({ round: round + 1, next: "lead", heard: undefined });
      for (const { id } of speakers) ask(draft, id, `round ${round + 1}`);
      return;
    }
  }
  if (next === "wait" || (timed && attended)) return;
  draft.patch({ next: "wait" });
  if (lead) draft.offer();
  else if (attended) return;
  else if (heard && round < max_rounds) {
    draft.patch({ next: "round" });
    discuss(draft);
  } else voteOrClose(draft);
}

function voteOrClose(draft: D): void {
  if (draft.self.proposals.some(isOpen)) openVoting(draft, "the discussion is over");
  else close(draft, "nothing is left to decide");
}

/** Asks the roles that can vote on the next proposal, all at once. */
function nextVoters(draft: D): void {
  const { proposals, lead, next } = draft.self;
  for (const proposal of proposals.filter((one) => isOpen(one) && !one.tied)) {
    const isAsked = (one: Participant) => one.asked === ballotName(proposal) || castOn(one, proposal) !== undefined;
    const voters = draft.all().filter((one) => one.type !== undefined && isOnRoll(one, proposal) && !isAsked(one));
    for (const { id } of voters) ask(draft, id, ballotName(proposal));
    if (voters.length > 0) return;
  }
  if (lead && next !== "lead" && proposals.some(({ tied }) => tied)) {
    draft.patch({ next: "lead" });
    draft.offer();
  }
}

function ask(draft: D, id: string, asked: string): void {
  draft.patchSubject(id, { asked });
  draft.offer(id);
}

/** Waits for those from outside. */
function wait(draft: D): void {
  if (draft.self.waits) return;
  draft.setTimer("others", WAIT_MS, true);
  draft.patch({ waits: true });
}

function answered(draft: D, fact: Fact, one: Participant | undefined): Failure | undefined {
  const asked = askedOf(draft, one);
  const { payload_type, payload } = fact;
  if (!ANSWERS[asked.asked].includes(payload_type))
    return notPermitted(`"${payload_type}" does not answer now`, `send ${ANSWERS[asked.asked].join(" or ")}`);
  if (payload_type === "vote" && payload.proposal_id !== asked.proposal_id)
    return wrongAt("/proposal_id", `the vote is on ${asked.proposal_id}`, "vote on that");
  const why = actInTurn(draft, fact, one);
  if (why || !one) return why;
  if (draft.self.phase !== "closed" && draft.subject(one.id)?.status === "asked") draft.move(one.id, "answered");
  if (payload_type === "pass") passed(draft, one.id, one.asked ?? "");
  return undefined;
}

const ANSWERS: Readonly<Record<"discussion" | "vote" | "lead" | "tie", readonly PayloadType[]>> = {
  discussion: ["comment", "proposal", "pass"],
  vote: ["vote", "pass"],
  lead: ["state_change", "summary"],
  tie: ["vote"],
};

/** What a role is asked for, and about which proposal. */
function askedOf({ self }: Pick<View<Council, Participant>, "self">, one: Participant | undefined) {
  const proposal = self.proposals.find((other) => (one ? ballotName(other) === one.asked : other.tied));
  if (proposal) return { asked: one ? ("vote" as const) : ("tie" as const), proposal_id: proposal.id };
  return { asked: one ? ("discussion" as const) : ("lead" as const), proposal_id: undefined };
}

/** A role reads what was said, and never how others vote before the result is there. */
function question(session: View<Council, Participant>, one: Participant | undefined): Question {
  const { self } = session;
  const { asked, proposal_id } = askedOf(session, one);
  const canVote = self.proposals.some(isOpen);
  const canGoOn = self.round < self.max_rounds;
  const moves = [...(canGoOn ? ["discussion"] : []), ...(canVote ? ["voting"] : [])];
  const answers = asked === "lead" && moves.length === 0 ? (["summary"] as const) : ANSWERS[asked];
  return {
    payload: {
      topic: from(self.opened, "/input/topic"),
      ...(self.has_goal ? { goal: from(self.opened, "/input/goal") } : {}),
      asked,
      ...defined({ proposal_id }),
      state: stateOf(self),
      round: self.round,
      max_rounds: self.max_rounds,
      ...(asked === "lead" && !canGoOn ? { must_end: true } : {}),
      rule: ruleText(self.policy),
      participants: session.all().map((one) => memberOf({ ...one, refused: 0 })),
      agenda: self.agenda.map((sequence) => from(sequence, "/title")),
      proposals: self.proposals.map(proposalOf),
    },
    answers,
    choices: {
      ...(proposal_id === undefined ? {} : { "/proposal_id": [proposal_id] }),
      ...(asked === "lead" && moves.length > 0 ? { "/new_state": moves } : {}),
    },
    view: "last:100",
  };
}
