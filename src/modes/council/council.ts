import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import { QUORUM, THRESHOLD } from "../../kernel/kit/votes.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import { councilMailbox, SENT } from "./mailbox.ts";
import { type Council, type CouncilInput, ID, isReserved, type Participant, standingOf } from "./state.ts";

const WHO = { type: "string", pattern: ID };
const LIST = { type: "array", minItems: 0, maxItems: 200, default: [] };
const SECONDS = { type: "integer", minimum: 1, maximum: 31_536_000 };
const WEIGHT = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}=(?:0|[1-9][0-9]{0,5})$" };

/** Participants discuss, propose and vote, whether they are roles with turns or others from outside (seed 1). */
export const council: Descriptor<CouncilInput, Council, Participant> = {
  name: "council",
  letter: "k",
  rules: 2,
  subject: "participant",
  seat: "facilitator",
  messages: {
    council_state: {
      to: ["participant", "worker", "manager"],
      answers: ["comment", "proposal", "pass", "vote", "state_change", "summary"],
    },
  },
  outsiders: SENT,
  says: ["state_change", "proposal_result", "summary"],
  lines: { agenda_item: { text: "/title" }, comment: { text: "/text" }, proposal: { text: "/title" } },
  phases: {
    open: { started: "discussion", vote_called: "voting" },
    discussion: { vote_called: "voting" },
    voting: { vote_over: "discussion" },
  },
  states: {
    invited: { joined: "joined", declined: "declined", left: "left", closed: "declined" },
    joined: { asked: "asked", voted: "voted", left: "left" },
    asked: { answered: "joined", voted: "voted", set_back: "joined", closed: "joined", left: "left" },
    voted: { asked: "asked", vote_over: "joined", left: "left" },
    declined: { joined: "joined" },
    left: { invited: "invited" },
  },
  events: { created: "invited", asked: "asked", failed: "set_back", left: "left", closed: "closed" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["topic", "participants"],
    properties: {
      topic: { type: "string", pattern: "\\S" },
      goal: { type: "string", maxLength: 200_000 },
      participants: { type: "array", minItems: 1, maxItems: 200, items: WHO },
      facilitator: WHO,
      creator: { ...WHO, examples: ["stranger"] },
      max_rounds: { type: "integer", minimum: 1, maximum: 100, default: 3 },
      discussion_s: SECONDS,
      voting_s: SECONDS,
      base: { enum: ["active", "cast", "invited"], default: "active" },
      threshold: { type: "string", pattern: THRESHOLD, default: ">1/2", examples: [">1/2", ">=2/3", "unanimous"] },
      quorum: { type: "string", pattern: QUORUM, default: "0", examples: ["0", "2", "2/3"] },
      weights: { ...LIST, items: { ...WEIGHT, examples: ["role1=2"] } },
      veto: { ...LIST, items: { ...WHO, examples: ["role1"] } },
      tie: { enum: ["reject", "facilitator", "revote"], default: "reject" },
      decides: { enum: ["early", "full"], default: "early" },
    },
  },
  seats: [
    { at: "participants.*", types: ["participant", "worker", "manager"], shared: true, open: true },
    { at: "facilitator", types: ["manager", "participant", "worker"], shared: true, open: true },
  ],
  check,
  requirement: "topic",
  command: {
    words: "meeting create",
    summary: "a council discusses, proposes and votes, with roles and with others from outside",
    examples: [
      'bosun meeting create --topic "Which store?" --participants architect,critic,eve --threshold ">=2/3" --quorum 2',
    ],
    noun: "topic",
    say: "Say what the council is about",
    apart: "--id <id>",
    options: [
      { flags: "--topic <text>", field: "topic", description: "what it is about; - reads standard input" },
      { flags: "--goal <text>", field: "goal", description: "what it is to come to" },
      {
        flags: "--participants <ids>",
        field: "participants",
        description: "who takes part: role ids, which get turns, and any other ids, which join from outside",
      },
      { flags: "--facilitator <id>", field: "facilitator", description: "who leads (default: you, or who creates it)" },
      { flags: "--as <id>", field: "creator", description: "who calls it, if you do not; it joins with a token" },
      { flags: "--max-rounds <n>", field: "max_rounds", description: "how often the roles are asked (default: 3)" },
      { flags: "--discussion-s <n>", field: "discussion_s", description: "how long a discussion lasts, in seconds" },
      { flags: "--voting-s <n>", field: "voting_s", description: "how long a vote lasts, in seconds" },
      { flags: "--base <base>", field: "base", description: "what yes is compared with: active, cast or invited" },
      { flags: "--threshold <rule>", field: "threshold", description: '">1/2" (default), ">=2/3", "unanimous", …' },
      { flags: "--quorum <n>", field: "quorum", description: "how many must vote: heads (3) or a part (2/3)" },
      { flags: "--weights <list>", field: "weights", description: "what votes weigh: a=2,b=3; 1 otherwise" },
      { flags: "--veto <ids>", field: "veto", description: 'whose "no" rejects' },
      { flags: "--tie <how>", field: "tie", description: "reject (default), facilitator or revote" },
      { flags: "--decides <when>", field: "decides", description: "early (default) or full: when all have voted" },
    ],
  },
  presentation: {
    statuses: {
      asked: { icon: ">", tone: "busy", stage: "begun" },
      invited: { icon: "·", tone: "quiet", stage: "waiting" },
      joined: { icon: "+", tone: "good", stage: "done" },
      voted: { icon: "+", tone: "good", stage: "done" },
      declined: { icon: "-", tone: "quiet", stage: "failed" },
      left: { icon: "-", tone: "quiet", stage: "failed" },
    },
    lines: {
      agenda_item: ["title"],
      comment: ["text"],
      proposal: ["title", "status"],
      vote: ["vote"],
      state_change: ["new_state"],
      summary: ["summary_text"],
      proposal_result: ["status"],
      participant: ["status"],
    },
    seats: ({ participants }) => listOf(participants).map((one) => textOf(objectOf(one).agent_id)),
    parts: (result) => [
      { title: "Summary", text: textOf(result.summary), points: [] },
      ...listOf(result.proposals).map((proposal) => proposalPart(objectOf(proposal))),
    ],
  },
  mailbox: councilMailbox,
  shown: ({ id, display_name = id }) => ({ title: display_name, owner: id }),
  projection: standingOf,
};

/** The weights by participant, from `a=2`. */
export function weightsIn(weights: readonly string[]): Record<string, number> {
  return Object.fromEntries(weights.map((text) => [text.split("=")[0] ?? "", Number(text.split("=")[1])]));
}

function check({ participants, facilitator, creator, weights, veto, tie }: CouncilInput): Finding[] {
  const named = { veto, weights: Object.keys(weightsIn(weights)) };
  const reserved = [...participants, facilitator, creator].filter(isReserved);
  return [
    ...Object.entries(named).flatMap(([field, ids]) =>
      ids
        .filter((id) => !participants.includes(id))
        .map((id) => ({ pointer: `/${field}`, what: `"${field}" names "${id}", who is no participant` })),
    ),
    ...reserved.map((id) => ({ pointer: "/participants", what: `"${id}" is no id of a participant` })),
    ...(tie === "facilitator" && facilitator === undefined
      ? [{ pointer: "/tie", what: "a tie that the facilitator decides needs a facilitator" }]
      : []),
  ];
}

function proposalPart({ proposal_id, title, details, status, result }: JsonObject): ResultPart {
  const { counts, rule, missing, dissent } = objectOf(result);
  const { yes, no, abstain } = objectOf(counts);
  const votes =
    result === undefined ? [] : [`${Number(yes)} yes, ${Number(no)} no, ${Number(abstain)} abstained; ${textOf(rule)}`];
  const silent = listOf(missing).map(textOf);
  const against = listOf(dissent).map(objectOf);
  return {
    title: `${textOf(proposal_id)} ${textOf(status)}: ${textOf(title)}`,
    text: textOf(details),
    points: [
      ...votes,
      ...(silent.length > 0 ? [`did not vote: ${silent.join(", ")}`] : []),
      ...against.map(
        ({ agent_id, vote, rationale }) => `${textOf(agent_id)} said ${textOf(vote)}: ${textOf(rationale)}`,
      ),
    ],
  };
}
