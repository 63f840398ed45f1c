import type { Change, Outcome } from "../../kernel/mode.ts";
import type { Json } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { DebatePhase, WorkingPhase } from "./debate.machine.ts";
import type { DebaterStatus } from "./debater.machine.ts";

/** How often the same message was put before, and what was wrong with the latest answer to it (`context.refused`). */
export interface Try {
  /** Tries beyond the first: failed turns and refused answers both count. */
  readonly retries: number;
  readonly refused?: readonly Json[];
}

/** The turn that somebody holds. */
export interface OpenTurn extends Try {
  readonly turn_id: string;
}

/** Whoever is asked holds a turn, or waits until the same message is put again, or neither. */
interface Asked {
  readonly turn?: OpenTurn;
  /** A debater's waits for its back-off timer; the judge's for that, or for the session to be resumed. */
  readonly put_again?: Try & { readonly waits_for: "timer" | "resume" };
}

/** One side of the debate; its id is the role's. Texts stand in the records. */
export interface Debater extends Asked {
  readonly id: string;
  readonly status: DebaterStatus;
  readonly since: Instant;
  /** The records of its opinions: one a round, from round 1, without gaps. */
  readonly opinions: readonly number[];
  /** It said of its latest opinion that this is the one of the round before. */
  readonly unchanged?: boolean;
  /** Why it waits or was dropped. */
  readonly reason?: string;
  /** What a person told this debater alone. */
  readonly notes?: readonly number[];
}

export interface Judge extends Asked {
  readonly role_id: string;
  readonly type: RoleType;
}

/** When the debaters have argued enough: after all rounds, or as soon as none of them changes its position in one. */
export type Until = "rounds" | "stable";

/** Why the debaters stopped: the rounds were over, nobody moved any more, or only one was left. */
export type ArguedBy = "rounds" | "stable" | "one_left";

/** What belongs to the debate and to no debater. */
export interface Debate {
  readonly phase: DebatePhase;
  /** The phase a stop interrupted. */
  readonly interrupted?: WorkingPhase;
  /** The record that holds the topic. */
  readonly topic: number;
  /** Every debater, also the dropped ones, in the order of the input: rows come back in another. */
  readonly order: readonly string[];
  readonly judge: Judge;
  readonly rounds: number;
  readonly until: Until;
  readonly round: number;
  readonly max_retries: number;
  readonly retry_backoff_ms: number;
  readonly notes: readonly number[];
  readonly argued_by?: ArguedBy;
  readonly verdict?: number;
  readonly ended?: { readonly outcome: Outcome; readonly reason?: string };
}

/** The debate mode's state in memory; `debate` is absent only where the opening could not stand. */
export interface DebateState {
  debate: Debate | undefined;
  readonly debaters: Map<string, Debater>;
}

export function empty(): DebateState {
  return { debate: undefined, debaters: new Map() };
}

export function apply(state: DebateState, change: Change): void {
  if ("drop" in change) throw new Error(`the debate mode drops nothing, so not ${change.drop} "${change.id}"`);
  switch (change.put) {
    case "debate":
      state.debate = change.value as unknown as Debate;
      return;
    case "debater":
      state.debaters.set(change.id, change.value as unknown as Debater);
      return;
    default:
      throw new Error(`the debate mode has no collection "${change.put}"`);
  }
}
