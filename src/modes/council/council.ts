import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { Draft } from "../../kernel/kit/draft.ts";
import type { Arrows } from "../../kernel/kit/lifecycles.ts";
import type { Self, Subject, View } from "../../kernel/kit/state.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import type { RoleType } from "../../protocol/roles.ts";
import { councilPresentation } from "./presentation.ts";
import { type Choice, QUORUM, ruleText, THRESHOLD, type VotePolicy } from "./votes.ts";

/** The input of a council. `participants` and `facilitator` are role ids, or ids of those who take part from outside. */
export interface CouncilInput extends Omit<VotePolicy, "weights" | "early"> {
  readonly topic: string;
  readonly goal?: string;
  readonly participants: readonly string[];
  readonly facilitator?: string;
  /** Who called it, if no person did. */
  readonly creator?: string;
  readonly max_rounds: number;
  readonly discussion_s?: number;
  readonly voting_s?: number;
  readonly weights: readonly string[];
  readonly decides: "early" | "full";
}

/** Somebody who takes part, under its role id or the id that it has outside. */
export interface Participant extends Subject {
  /** Set for roles of the session, which get turns. */
  readonly type?: RoleType;
  readonly display_name?: string;
  readonly description?: string;
  /** The digest of the token by which it is known, from outside. */
  readonly key?: string;
  /** The sequence at which it joined: it votes on what was put to the vote later. */
  readonly joined_at?: number;
  /** By proposal: its vote, or that it has passed, in the voting that began at `opened`. */
  readonly ballots?: Readonly<Record<string, Cast>>;
  /** What it was asked last: a round, or a proposal in one voting. */
  readonly asked?: string;
  /** Number of its acts that were refused. */
  readonly refused?: number;
  /** It leads or has called the council, and was not invited to vote. */
  readonly no_vote?: true;
}

interface Cast {
  readonly opened: number;
  readonly vote?: Choice;
  /** The record of the vote, and whether that says why. */
  readonly at: number;
  readonly reasoned?: true;
}

export interface Proposal {
  readonly id: string;
  /** The sequence of its record. */
  readonly at: number;
  readonly by: string;
  readonly status: string;
  /** The sequence at which voting on it began last, and how often it did. */
  readonly opened?: number;
  readonly votings?: number;
  /** Whoever leads decides it. */
  readonly tied?: true;
  /** The sequence of its latest result. */
  readonly result?: number;
}

/** The council's own value. The session's seat is that of a facilitator who is a role. */
export interface Council extends Self {
  readonly lead?: { readonly role_id: string; readonly type: RoleType };
  readonly facilitator?: string;
  readonly creator: string;
  readonly has_goal?: true;
  readonly policy: VotePolicy;
  readonly max_rounds: number;
  readonly discussion_s?: number;
  readonly voting_s?: number;
  /** Whether somebody from outside takes part or leads, so that the council waits for them. */
  readonly attended: boolean;
  /** Number of rounds in which the roles were asked. */
  readonly round: number;
  /** What comes when nobody is asked: a round of the roles, a word of whoever leads, or nothing until somebody acts. */
  readonly next: "round" | "lead" | "wait";
  /** Whether anything was said since the last round began. */
  readonly heard?: boolean;
  /** Set while it waits for others, and while its discussion has a deadline. */
  readonly waits?: true;
  readonly timed?: true;
  readonly agenda: readonly number[];
  readonly proposals: readonly Proposal[];
  /** The sequence of the summary that closed it. */
  readonly summary?: number;
}

export type D = Draft<Council, Participant>;

/** Whether somebody has joined and not left. */
export const isHere = ({ status }: Participant): boolean => ["joined", "asked", "voted"].includes(status);

/** The local user, who may always lead. */
export const PERSON = "user";

/** The life of a proposal. */
export const PROPOSAL: Arrows = {
  proposed: { accepted: "accepted", rejected: "rejected", no_quorum: "no_quorum", withdrawn: "withdrawn" },
  accepted: {},
  rejected: {},
  no_quorum: {},
  withdrawn: {},
};

const ID = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" };
const SECONDS = { type: "integer", minimum: 1, maximum: 31_536_000 };
/** Not ids of participants: the local user, and the mode itself. */
const RESERVED = [PERSON, "scheduler"];

/** Participants discuss, propose and vote, whether they are roles with turns or others from outside (seed 1). */
export const council: Descriptor<CouncilInput, Council, Participant> = {
  name: "council",
  letter: "k",
  rules: 1,
  subject: "participant",
  seat: "facilitator",
  messages: {
    council_state: {
      to: ["participant", "worker", "manager"],
      answers: ["comment", "proposal", "pass", "vote", "state_change", "summary"],
    },
  },
  outsiders: ["participant", "agenda_item", "comment", "proposal", "vote", "state_change", "summary"],
  says: ["state_change", "proposal_result", "summary"],
  lines: { agenda_item: { text: "/title" }, comment: { text: "/text" }, proposal: { text: "/title" } },
  phases: {
    open: { started: "discussion" },
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
      participants: { type: "array", minItems: 1, maxItems: 200, items: ID },
      facilitator: ID,
      creator: { ...ID, examples: ["stranger"] },
      max_rounds: { type: "integer", minimum: 1, maximum: 100, default: 3 },
      discussion_s: SECONDS,
      voting_s: SECONDS,
      base: { enum: ["active", "cast", "invited"], default: "active" },
      threshold: { type: "string", pattern: THRESHOLD, default: ">1/2", examples: [">1/2", ">=2/3", "unanimous"] },
      quorum: { type: "string", pattern: QUORUM, default: "0", examples: ["0", "2", "2/3"] },
      weights: {
        type: "array",
        minItems: 0,
        maxItems: 200,
        default: [],
        items: { ...WEIGHT(), examples: ["role1=2"] },
      },
      veto: { type: "array", minItems: 0, maxItems: 200, default: [], items: { ...ID, examples: ["role1"] } },
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
  presentation: councilPresentation,
  shown: ({ id, display_name = id }) => ({ title: display_name, owner: id }),
  projection: (session) => ({ ...manifestOf(session), participants: session.all().map(memberOf) }),
};

function WEIGHT() {
  return { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}=(?:0|[1-9][0-9]{0,5})$" };
}

/** The weights by participant, from `a=2`. */
export function weightsIn(weights: readonly string[]): Record<string, number> {
  return Object.fromEntries(weights.map((text) => [text.split("=")[0] ?? "", Number(text.split("=")[1])]));
}

function check({ participants, facilitator, creator, weights, veto, tie }: CouncilInput): Finding[] {
  const known = new Set(participants);
  const strangers = (field: string, ids: readonly string[]) =>
    ids
      .filter((id) => !known.has(id))
      .map((id) => ({ pointer: `/${field}`, what: `"${field}" names "${id}", who is no participant` }));
  const reserved = [...participants, facilitator, creator].filter((id) => id !== undefined && RESERVED.includes(id));
  return [
    ...strangers("veto", veto ?? []),
    ...strangers("weights", Object.keys(weightsIn(weights ?? []))),
    ...reserved.map((id) => ({ pointer: "/participants", what: `"${id}" is no id of a participant` })),
    ...(tie === "facilitator" && facilitator === undefined
      ? [{ pointer: "/tie", what: "a tie that the facilitator decides needs a facilitator" }]
      : []),
  ];
}

/** The state of the council itself, whether its session runs or is stopped. */
export function stateOf({ phase, interrupted = phase }: Council): string {
  return phase === "waiting" || phase === "stopped" ? interrupted : phase;
}

/** What `manifest.json` holds (S1-12); texts are references to records. */
export function manifestOf({ self }: View<Council, Participant>): JsonObject {
  const { opened, creator, facilitator, policy, proposals, round, has_goal } = self;
  return {
    topic: from(opened, "/input/topic"),
    ...(has_goal ? { goal: from(opened, "/input/goal") } : {}),
    creator,
    ...defined({ facilitator }),
    state: stateOf(self),
    round,
    protocol: { ...policy, rule: ruleText(policy), veto: [...policy.veto] },
    proposals: proposals.map((one) => ({ ...proposalOf(one), status: one.tied ? "tied" : one.status })),
  };
}

/** A proposal as others see it. */
export function proposalOf({ id, at, by, status, result }: Proposal): JsonObject {
  return {
    proposal_id: id,
    agent_id: by,
    title: from(at, "/title"),
    details: from(at, "/details"),
    status,
    ...(result === undefined ? {} : { result: from(result) }),
  };
}

/** A participant as others see it (S1-14): who is being asked has joined. */
export function memberOf({ id, status, type, display_name, description, refused }: Participant): JsonObject {
  const shown: Json = status === "asked" ? "joined" : status;
  return { agent_id: id, status: shown, ...defined({ role: type && display_name, description, refused }) };
}
