import type { Draft } from "../../kernel/kit/draft.ts";
import type { Arrows } from "../../kernel/kit/lifecycles.ts";
import type { Self, Subject, View } from "../../kernel/kit/state.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";
import { type Choice, ruleText, type VotePolicy } from "../../kernel/kit/votes.ts";

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

export interface Cast {
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
  /** The state that each `state_change` of whoever leads ended, by its sequence. */
  readonly left?: Readonly<Record<string, string>>;
  /** The sequence of the summary that closed it. */
  readonly summary?: number;
}

export type D = Draft<Council, Participant>;

/** Whether somebody has joined and not left. */
export const isHere = ({ status }: Participant): boolean => ["joined", "asked", "voted"].includes(status);

/** The local user, who may always lead. */
export const PERSON = "user";

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
  return {
    agent_id: id,
    status: shown,
    ...defined({ role: type && display_name, description, refused: refused || undefined }),
  };
}

/** The life of a proposal. */
export const PROPOSAL: Arrows = {
  proposed: { accepted: "accepted", rejected: "rejected", no_quorum: "no_quorum", withdrawn: "withdrawn" },
  accepted: {},
  rejected: {},
  no_quorum: {},
  withdrawn: {},
};

/** The weights by participant, from `a=2`. */
export function weightsIn(weights: readonly string[]): Record<string, number> {
  return Object.fromEntries(weights.map((text) => [text.split("=")[0] ?? "", Number(text.split("=")[1])]));
}
