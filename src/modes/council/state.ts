import type { Draft } from "../../kernel/kit/draft.ts";
import type { Seated } from "../../kernel/kit/seated.ts";
import type { Self, Subject, View } from "../../kernel/kit/state.ts";
import { type Choice, ruleText, type VotePolicy } from "../../kernel/kit/votes.ts";
import type { Seat } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";

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
  /** `a=2`. */
  readonly weights: readonly string[];
  readonly decides: "early" | "full";
}

/** Somebody who takes part, under its role id or the id that it has outside. Roles have a type. */
export interface Participant extends Subject, Partial<Seated> {
  /** The digest of the token by which it is known, from outside. */
  readonly key?: string;
  /** The proposal on which it was asked to vote last, if not to speak. */
  readonly asked?: string;
  /** Number of its acts that were refused. */
  readonly refused?: number;
  /** It leads or has called the council, and was not invited to vote. */
  readonly no_vote?: true;
}

/** The vote of a participant, and the record that says why. Without a vote it has declared not to give one. */
export interface Cast {
  readonly vote?: Choice;
  readonly reason?: number;
}

export interface Proposal {
  readonly id: string;
  /** The sequence of its record. */
  readonly at: number;
  readonly by: string;
  readonly status: string;
  /** While it is voted on: who can, and the votes so far. */
  readonly roll?: readonly string[];
  readonly votes?: Readonly<Record<string, Cast>>;
  /** Set while whoever leads decides a tie, and when a tie is voted on again. */
  readonly tied?: true;
  readonly again?: true;
  /** The sequence of its latest result. */
  readonly result?: number;
  /** The records that say why participants voted against the result. */
  readonly dissent?: readonly number[];
}

type Limits = Pick<CouncilInput, "facilitator" | "max_rounds" | "discussion_s" | "voting_s">;

/** The council's own value. */
export interface Council extends Self, VotePolicy, Limits {
  /** The session's seat: that of a facilitator who is a role. */
  readonly lead?: Seat;
  readonly creator: string;
  readonly goal?: Json;
  /** Number of rounds in which the roles were asked. */
  readonly round: number;
  /** What comes when nobody is asked: a round of the roles, a word of whoever leads, or nothing until somebody acts. */
  readonly next: "round" | "lead" | "wait";
  /** Whether a role said anything in the latest round. */
  readonly heard?: boolean;
  readonly agenda: readonly number[];
  readonly proposals: readonly Proposal[];
  /** The state that each `state_change` of whoever leads ended, by its sequence. */
  readonly left?: Readonly<Record<string, string>>;
  /** The sequence of the summary that closed it. */
  readonly summary?: number;
}

export type D = Draft<Council, Participant>;

export const ID = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

/** The local user, who may always lead. */
export const PERSON = "user";

/** Whether an id can be none of a participant: it is that of the local user, or of the mode itself. */
export const isReserved = (id: string | undefined): boolean => id === PERSON || id === "scheduler";

/** Whether somebody has joined and not left. */
export const isHere = ({ status }: Participant): boolean => ["joined", "asked", "voted"].includes(status);

export const isOpen = ({ status }: Proposal): boolean => status === "proposed";

/** The state of the council itself, whether its session runs or is stopped. */
export function stateOf({ phase, interrupted = phase }: Council): string {
  return phase === "waiting" || phase === "stopped" ? interrupted : phase;
}

/** The council as others see it (S1-12); texts are references to records. */
export function standingOf(session: View<Council, Participant>): JsonObject {
  const { opened, creator, facilitator, proposals, round, goal } = session.self;
  const { base, threshold, quorum, weights, veto, tie, early } = session.self;
  return {
    topic: from(opened, "/input/topic"),
    creator,
    ...defined({ goal, facilitator }),
    state: stateOf(session.self),
    round,
    protocol: { base, threshold, quorum, weights, veto, tie, early, rule: ruleText(session.self) },
    proposals: proposals.map(proposalOf),
    participants: session.all().map(memberOf),
  };
}

export function proposalOf({ id, at, by, status, tied, result }: Proposal): JsonObject {
  return {
    proposal_id: id,
    agent_id: by,
    title: from(at, "/title"),
    details: from(at, "/details"),
    status: tied ? "tied" : status,
    ...(result === undefined ? {} : { result: from(result) }),
  };
}

/** A participant as others see it (S1-14): who is being asked has joined. */
export function memberOf({ id, status, display_name: role, description, refused }: Participant): JsonObject {
  return { agent_id: id, status: status === "asked" ? "joined" : status, ...defined({ role, description, refused }) };
}
