import { modeOf } from "../../kernel/kit/mode.ts";
import type { Question } from "../../kernel/kit/rules.ts";
import { seatedAs } from "../../kernel/kit/seated.ts";
import type { View } from "../../kernel/kit/state.ts";
import { ruleText } from "../../kernel/kit/votes.ts";
import type { Fact } from "../../kernel/mode.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { notPermitted, wrongAt } from "../../kernel/step.ts";
import { defined } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import { act, acting, leave, perform } from "./acts.ts";
import { council, weightsIn } from "./council.ts";
import { SENT } from "./mailbox.ts";
import { type Council, type D, isHere, isOpen, memberOf, type Participant, PERSON, standingOf } from "./state.ts";
import { changeState, close, hasOutsiders, isOnRoll, nextWord, openVoting, setTimer, settle, take } from "./voting.ts";

/** How long a council waits for others before it looks again, in ms. Its scheduler may leave meanwhile. */
const WAIT_MS = 30 * 24 * 3_600_000;

export const councilMode = modeOf(council, {
  begin(input, { payload: { roles }, sequence }) {
    const { topic: _, goal, participants, creator = PERSON, decides, weights, ...rest } = input;
    const { facilitator = creator } = rest;
    const isRole = (id: string) => roles.some(({ role_id }) => role_id === id);
    // Whoever leads or calls the council from outside takes part too.
    const others = [facilitator, creator].filter((id) => id !== PERSON && !isRole(id));
    const lead = roles.find(({ role_id }) => role_id === rest.facilitator);
    return {
      self: {
        ...rest,
        ...{ creator, early: decides === "early", weights: weightsIn(weights) },
        ...{ round: 0, next: "round" as const, agenda: [], proposals: [] },
        ...(goal === undefined ? {} : { goal: from(sequence, "/input/goal") }),
        ...(lead && { lead: { role_id: lead.role_id, type: lead.type } }),
      },
      subjects: [...new Set([...participants, ...others])].map((id) => ({
        id,
        ...(isRole(id) ? seatedAs(roles, id) : {}),
        ...(participants.includes(id) ? {} : { no_vote: true as const }),
      })),
    };
  },
  seat: ({ lead }, one) => ({
    seat: one ? { type: one.type ?? "participant", role_id: one.id } : (lead ?? { type: "manager" }),
    message: "council_state",
  }),
  question,
  goOn,
  answered,
  spent(draft, one, code) {
    if (one.status === "asked") draft.move(one.id, "set_back", code);
    pass(draft, one);
  },
  drop: (draft, { id }, reason) => void leave(draft, id, reason),
  seatSpent: conclude,
  timedOut(draft, name) {
    const { phase, lead } = draft.self;
    if (name === "others") return undefined;
    if (phase === "open") return draft.all().some(isHere) ? start(draft) : close(draft, "nobody has joined");
    return phase === "discussion" && lead ? draft.patch({ next: "lead" }) : conclude(draft);
  },
  on: Object.fromEntries(SENT.map((type) => [type, act])),
  result(session) {
    const { summary, proposals } = session.self;
    const accepted = proposals.filter(({ status }) => status === "accepted");
    const decided = linesOf(...accepted.flatMap(({ at }) => [from(at, "/title"), from(at, "/details")]));
    const told = summary && from(summary, "/summary_text");
    return {
      ...defined({ summary: told, conclusion: accepted.length > 0 ? decided : told }),
      dissent: accepted.flatMap(({ dissent = [] }) => dissent.map((reason) => from(reason, "/rationale"))),
      ...standingOf(session),
    };
  },
});

function goOn(draft: D): void {
  const before = draft.self;
  if (before.phase === "open") meet(draft);
  else if (before.phase === "discussion") discuss(draft);
  else if (before.phase === "voting") nextVoters(draft);
  if (!draft.isIdle || draft.self.phase === "closed") return;
  // What is next may be over at once, as a vote that nothing can change.
  if (draft.self !== before) goOn(draft);
  else draft.setTimer("others", WAIT_MS, true);
}

/** Roles join at once. The council begins when nobody is awaited any more. */
function meet(draft: D): void {
  if (draft.fact.sequence === draft.self.opened) {
    for (const { id, type } of draft.all()) if (type !== undefined) draft.move(id, "joined");
    setTimer(draft, "discussion");
  }
  if (draft.count("invited") === 0) start(draft);
}

function start(draft: D): void {
  changeState(draft, "discussion", "all have joined who are awaited");
  draft.go("started");
  setTimer(draft, "discussion");
}

/** The next round of the roles, or the word of whoever leads; without both, the council goes on by itself. */
function discuss(draft: D): void {
  const { next, round, max_rounds, lead, heard } = draft.self;
  if (next === "round") {
    const roles = draft.all().filter(({ type, status }) => type !== undefined && status === "joined");
    const speakers = round < max_rounds ? roles : [];
    draft.patch({ round: speakers.length > 0 ? round + 1 : round, next: nextWord(draft), heard: undefined });
    for (const { id } of speakers) ask(draft, id);
  } else if (next === "lead") {
    draft.patch({ next: "wait" });
    if (lead) draft.offer();
    else if (hasOutsiders(draft)) return;
    else if (heard && round < max_rounds) draft.patch({ next: "round" });
    else conclude(draft);
  }
}

/** Goes on without a word of whoever leads. */
function conclude(draft: D): void {
  if (draft.self.phase === "voting") settle(draft, "final");
  else if (draft.self.proposals.some(isOpen)) openVoting(draft, "the discussion is over");
  else close(draft, "nothing is left to decide");
}

/** Asks the roles that can vote on the next proposal, all at once. */
function nextVoters(draft: D): void {
  const { proposals, lead } = draft.self;
  for (const one of proposals.filter(({ tied }) => !tied)) {
    const voters = draft
      .all()
      .filter(({ id, type }) => type !== undefined && isOnRoll(id, one) && !Object.hasOwn(one.votes ?? {}, id));
    for (const { id } of voters) ask(draft, id, one.id);
    if (voters.length > 0) return;
  }
  if (lead && proposals.some(({ tied }) => tied)) draft.offer();
}

function ask(draft: D, id: string, asked?: string): void {
  draft.patchSubject(id, { asked });
  draft.offer(id);
}

/** A role has nothing to say, or does not vote. */
function pass(draft: D, { id, asked }: Participant): void {
  const proposal = draft.self.proposals.find((one) => one.id === asked);
  if (proposal) take(draft, proposal, id, {});
}

function answered(draft: D, fact: Fact, one: Participant | undefined): Failure | undefined {
  const { asked, proposal_id } = askedOf(draft.self, one);
  const { payload_type, payload } = fact;
  if (!ANSWERS[asked].includes(payload_type))
    return notPermitted(`"${payload_type}" does not answer now`, `send ${ANSWERS[asked].join(" or ")}`);
  if (payload_type === "vote" && payload.proposal_id !== proposal_id)
    return wrongAt("/proposal_id", `the vote is on ${proposal_id}`, "vote on that");
  const why = perform(draft, fact, one ? acting(draft, one) : { id: fact.source, leads: true });
  if (why || !one) return why;
  if (draft.subject(one.id)?.status === "asked") draft.move(one.id, "answered");
  if (payload_type === "pass") pass(draft, one);
  else if (asked === "discussion") draft.patch({ heard: true });
  return undefined;
}

const ANSWERS: Readonly<Record<"discussion" | "vote" | "lead" | "tie", readonly PayloadType[]>> = {
  discussion: ["comment", "proposal", "pass"],
  vote: ["vote", "pass"],
  lead: ["state_change", "summary"],
  tie: ["vote"],
};

/** What a role is asked for, and about which proposal. */
function askedOf({ proposals }: Council, one: Participant | undefined) {
  const proposal = proposals.find(({ id, tied }) => (one ? id === one.asked : tied));
  if (proposal) return { asked: one ? ("vote" as const) : ("tie" as const), proposal_id: proposal.id };
  return { asked: one ? ("discussion" as const) : ("lead" as const) };
}

/** A role reads what was said, and never how others vote before the result is there. */
function question(session: View<Council, Participant>, one: Participant | undefined): Question {
  const { max_rounds, agenda, proposals } = session.self;
  const { asked, proposal_id } = askedOf(session.self, one);
  const { creator: _, facilitator: __, protocol: ___, ...standing } = standingOf(session);
  const canGoOn = session.self.round < max_rounds;
  const moves = [...(canGoOn ? ["discussion"] : []), ...(proposals.some(isOpen) ? ["voting"] : [])];
  return {
    payload: {
      ...standing,
      ...defined({ asked, proposal_id, max_rounds, must_end: asked === "lead" && !canGoOn ? true : undefined }),
      rule: ruleText(session.self),
      participants: session.all().map(({ refused: _refused, ...member }) => memberOf(member)),
      agenda: agenda.map((sequence) => from(sequence, "/title")),
    },
    answers: asked === "lead" && moves.length === 0 ? ["summary"] : ANSWERS[asked],
    choices: {
      ...(proposal_id === undefined ? {} : { "/proposal_id": [proposal_id] }),
      ...(asked === "lead" && moves.length > 0 ? { "/new_state": moves } : {}),
    },
    view: "last:100",
  };
}
