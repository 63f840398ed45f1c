import type { Change, Outcome } from "../../kernel/mode.ts";
import type { Json } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { DebatePhase, WorkingPhase } from "./debate.machine.ts";
import type { DebaterStatus } from "./debater.machine.ts";

/** Earlier tries of the same message. */
export interface Try {
  /** Number of times that the message was sent before, counting failed turns and refused answers. */
  readonly retries: number;
  /** Why the previous answer was refused; sent as `context.refused`. */
  readonly refused?: readonly Json[];
}

/** A turn that is offered or open. */
export interface OpenTurn extends Try {
  readonly turn_id: string;
}

/** A debater or the judge: it holds a turn, or waits until the same message is sent again, or neither. */
interface Asked {
  readonly turn?: OpenTurn;
  /** A debater waits for its back-off timer; the judge for that, or for the session to be resumed. */
  readonly put_again?: Try & { readonly waits_for: "timer" | "resume" };
}

/** One side of the debate. Its id is its role id. */
export interface Debater extends Asked {
  readonly id: string;
  readonly status: DebaterStatus;
  readonly since: Instant;
  /** The sequences of its opinions, one for each round from 1. */
  readonly opinions: readonly number[];
  /** Set if it said that its latest opinion has not changed. */
  readonly unchanged?: boolean;
  /** Why it waits or was dropped. */
  readonly reason?: string;
  /** The sequences of notes that a person sent to this debater alone. */
  readonly notes?: readonly number[];
}

export interface Judge extends Asked {
  readonly role_id: string;
  readonly type: RoleType;
}

/** When the arguing ends: after all rounds, or after a round in which no position changed. */
export type Until = "rounds" | "stable";

/** Why the arguing ended: all rounds were held, no position changed, or only one debater was left. */
export type ArguedBy = "rounds" | "stable" | "one_left";

/** The debate's own state. */
export interface Debate {
  readonly phase: DebatePhase;
  /** The phase that a stop interrupted. */
  readonly interrupted?: WorkingPhase;
  /** The sequence of the record that holds the topic. */
  readonly topic: number;
  /** Every debater, including dropped ones, in the order of the input. Rows may load in another order. */
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

/** The debate mode's state. `debate` is absent only if the opening was refused. */
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
