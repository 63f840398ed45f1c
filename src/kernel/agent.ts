import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { PayloadByType, PayloadType } from "../protocol/payload.ts";
import type { Exit } from "../protocol/record.ts";
import type { Refusal } from "../protocol/refusal.ts";
import type { Role } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { TurnStamp } from "./mode.ts";

/**
 * Whatever fills a seat: a command-line program, a model, a person, a script. `turn` never rejects and never throws: what goes
 * wrong is in the result. It must end within `kill_grace_s` after `signal` aborts, leaving no process behind.
 */
export interface Agent {
  turn(request: TurnRequest, context: TurnContext): Promise<TurnResult>;
}

/** The whole request as it goes on the wire (SPEC.md, `turn_request`), and who it is for. An agent that hands `artifacts_dir` on makes it. */
export interface TurnRequest {
  readonly session_id: string;
  /** When the request was recorded: its envelope's timestamp. */
  readonly at: Instant;
  readonly role: Role;
  readonly stamp: TurnStamp;
  readonly payload: PayloadByType["turn_request"];
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  /** A small integer unique among the turns running at once. */
  readonly slot: number;
  /** Directory for raw output, kept beside the log. */
  readonly output_directory: string;
}

export interface TurnContext {
  readonly signal: AbortSignal;
  /** Called once with the process that carries the turn, and awaited before it is given any work. */
  started(process: ProcessIdentity): Promise<void>;
  /** What the agent says before its answer, in order. */
  emit(event: TurnEvent): void;
}

/** Enough to find a process again after its parent died, in spite of reused pids. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Kernel start time in clock ticks, as text; empty where the platform has none. */
  readonly started: string;
}

export type TurnEvent =
  | { readonly kind: "envelope"; readonly payload_type: "artifact_ref" | "report"; readonly payload: JsonObject }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly excerpt: string }
  | { readonly kind: "duplicate"; readonly payload_type: PayloadType }
  | { readonly kind: "late"; readonly payload_type: PayloadType; readonly payload: JsonObject }
  | { readonly kind: "console"; readonly stream: "stdout" | "stderr"; readonly text: string };

export interface Answer {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** One turn's end: the answer with the exit that followed it, or the failure, with the answer if one had been given. */
export interface TurnResult {
  readonly answer?: Answer;
  readonly failure?: Failure;
  readonly exit?: Exit;
  readonly refused: readonly Refusal[];
}
