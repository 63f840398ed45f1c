import type { JsonObject } from "../lib/json.ts";
import type { Withholder } from "../lib/withholder.ts";
import type { Failure } from "../protocol/failure.ts";
import type { PayloadByType, PayloadType } from "../protocol/payload.ts";
import type { Conversation, Exit } from "../protocol/record.ts";
import type { Refusal } from "../protocol/refusal.ts";
import type { Role } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { FactHeader, TurnStamp } from "./mode.ts";

/**
 * Fills a seat and takes turns: a command-line program, a model, a person or a script. `turn` MUST NOT throw or reject: a failure is part of the
 * result. It MUST end within `kill_grace_s` after `context.signal` aborts, and leave no process behind.
 */
export interface Agent {
  turn(request: TurnRequest, context: TurnContext): Promise<TurnResult>;
}

/** One turn for an agent: the request as sent on the wire (SPEC.md, `turn_request`), and what the agent needs to run it. */
export interface TurnRequest {
  readonly session_id: string;
  /** The name of the session's mode. Absent outside a session. */
  readonly mode?: string;
  /** When the request was recorded: the timestamp of its envelope. */
  readonly at: Instant;
  readonly role: Role;
  /** All roles of the session. Absent outside a session. */
  readonly crew?: readonly Role[];
  /** Set if no person can answer while the session runs: what needs one stops it. */
  readonly unattended?: boolean;
  readonly stamp: TurnStamp;
  /** An agent that passes `payload.artifacts_dir` on must create that directory. */
  readonly payload: PayloadByType["turn_request"];
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  /** A small integer, unique among the turns that run at the same time. */
  readonly slot: number;
  /** The directory for the agent's raw output, beside the log. */
  readonly output_directory: string;
  /** The program's own conversation that this turn continues: itself, or a copy of it (`fork`). If absent, the turn starts a new one. */
  readonly conversation?: Conversation & { readonly how: "resume" | "fork" };
}

/** A permission that a program requests during a turn. */
export interface PermissionRequest {
  /** The action in one line: `run: npm publish`, `write: /etc/hosts`. */
  readonly action: string;
  /** The whole command, patch or arguments. */
  readonly details?: string;
  /** The program's reason. */
  readonly why?: string;
}

export interface Permission {
  readonly granted: boolean;
  /** The person's notes, or why nobody was asked. */
  readonly notes?: string;
}

export interface TurnContext {
  /** Aborts when the turn must end. */
  readonly signal: AbortSignal;
  /**
   * Records that the turn runs, and its process if it has one. MUST be awaited before the process gets any work, so that a crash cannot orphan it.
   * Called again for each further process, of which the last is on record.
   */
  started(process?: ProcessIdentity): Promise<void>;
  /** Reports what the agent sends before its answer, in order. */
  emit(event: TurnEvent): void;
  /** Withholds the session's secrets from text that is shown or kept. */
  readonly secrets: Withholder;
  /** Requests a permission while the agent waits. Never rejects: the permission is denied when the turn ends or nobody may be asked. */
  permit(request: PermissionRequest): Promise<Permission>;
  /** Takes a person's notes from now on while the turn runs, with `undefined` none any more: they come with the next turn. Absent outside a session. */
  hear?(take: ((note: string) => void) | undefined): void;
}

/** Identifies a process after its parent has died, even if the pid is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The kernel's start time in clock ticks, as text; empty on platforms without one. */
  readonly started: string;
}

/**
 * - `envelope`: an artifact, or a progress report.
 * - `refused`: a line that is not a valid envelope, or that the role has no right to send.
 * - `duplicate`: a second answer, which is ignored.
 * - `late`: an answer after the turn has ended.
 * - `console`: text that is not meant for the scheduler.
 * - `conversation`: the id of the program's conversation, as soon as it is known, so that a crash does not lose it.
 */
export type TurnEvent =
  | { readonly kind: "envelope"; readonly payload_type: "artifact_ref" | "report"; readonly payload: JsonObject }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly excerpt: string }
  | { readonly kind: "duplicate"; readonly payload_type: PayloadType }
  | { readonly kind: "late"; readonly payload_type: PayloadType; readonly payload: JsonObject }
  | { readonly kind: "console"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "conversation"; readonly id: string };

export interface Answer {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** How a turn ended: with an answer or a failure, and what its fact tells besides. A failed turn may have answered first. */
export interface TurnResult extends Pick<FactHeader, "usage" | "conversation" | "quota" | "changed_files" | "work"> {
  readonly answer?: Answer;
  readonly failure?: Failure;
  readonly exit?: Exit;
  readonly refused: readonly Refusal[];
}
