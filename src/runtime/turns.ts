import type { Agent, TurnEvent, TurnRequest, TurnResult } from "../kernel/agent.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Mode, TurnDraft, TurnStamp } from "../kernel/mode.ts";
import { resolve } from "../kernel/references.ts";
import type { JsonObject } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { type Failure, failure, WIRE_CODES, type WireCode } from "../protocol/failure.ts";
import {
  isNotice,
  type PayloadByType,
  type ResolvedConfiguration,
  type TypedPayload,
  type Usage,
} from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import { type Instant, milliseconds } from "../protocol/timestamp.ts";
import { inlineField, keepArtifact } from "./artifacts.ts";
import type { Bus } from "./bus.ts";
import type { Clock } from "./clock.ts";
import type { Admission } from "./dispatcher.ts";
import type { SessionPaths } from "./paths.ts";
import type { Note } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";
import type { FactInput } from "./facts.ts";

/** What carrying out turns needs of the session: its parts, and the door for what comes back. */
export interface TurnsParts {
  readonly session_id: string;
  readonly engine: { readonly mode: Pick<Mode<never>, "attached">; readonly ledger: Ledger };
  readonly records: SessionRecords;
  readonly clock: Clock;
  readonly paths: SessionPaths;
  readonly config: ResolvedConfiguration;
  readonly workspace: string;
  readonly agentFor: (role: Role) => Agent;
}

export interface TurnsDoor {
  readonly bus: Bus;
  submit(input: FactInput): unknown;
  note(note: Note): void;
  /** The turn's agent is gone, whatever it brought. */
  over(turn_id: string): void;
  keep(change: { put: string; id: string; value: JsonObject } | { drop: string; id: string }): Promise<boolean>;
}

interface Running {
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** Told to whoever takes a turn under a higher run. */
export const INTERRUPTED =
  "This turn was begun before and was interrupted, so its work may be half done: look before you repeat it.";

/** The turns that are being carried out: from the durable request to the fact of how each ended. */
export class Turns {
  readonly #parts: TurnsParts;
  readonly #door: TurnsDoor;
  readonly #running = new Map<string, Running>();
  #ending = false;

  constructor(parts: TurnsParts, door: TurnsDoor) {
    this.#parts = parts;
    this.#door = door;
  }

  get count(): number {
    return this.#running.size;
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((running) => running.over));
  }

  abort(turn_id: string, reason: string): void {
    this.#running.get(turn_id)?.controller.abort(reason);
  }

  /** Ends all that run; what was admitted and has not started yet stays open without having been begun. */
  abortAll(): void {
    this.#ending = true;
    for (const running of this.#running.values()) running.controller.abort("the session is stopping");
  }

  /** The limit that forbids another turn now, if there is one. Wall time counts from when the scheduler began its present run. */
  limitReached(now: Instant, begun: Instant): { readonly message: string; readonly details: JsonObject } | undefined {
    const { figures } = this.#parts.engine.ledger;
    const { turns, wall_s } = this.#limits();
    if (turns !== undefined && figures.turns >= turns) {
      return {
        message: `the limit of ${turns} turns is reached`,
        details: { limit: "turns", used: figures.turns, max: turns },
      };
    }
    const elapsed_s = (milliseconds(now) - milliseconds(begun)) / 1000;
    if (wall_s !== undefined && elapsed_s >= wall_s) {
      return {
        message: `the limit of ${wall_s} s is reached`,
        details: { limit: "wall_s", used: Math.floor(elapsed_s), max: wall_s },
      };
    }
    return undefined;
  }

  #limits(): { turns?: number; wall_s?: number } {
    return { ...this.#parts.config.budget, ...(this.#parts.engine.ledger.figures.limits as object | undefined) };
  }

  /** The request as it is recorded: the mode's draft, and what the runtime knows of role, limits and places. */
  requestPayload(draft: TurnDraft, { turn, role }: Admission): JsonObject {
    const { paths, workspace, config, engine } = this.#parts;
    const { turns } = this.#limits();
    const notes = Array.isArray(draft.context.notes) ? draft.context.notes : [];
    return {
      turn_id: turn.turn_id,
      role_id: role.role_id,
      expects: draft.expects,
      message: draft.message,
      context: turn.interrupted ? { ...draft.context, notes: [...notes, INTERRUPTED] } : draft.context,
      limits: {
        timeout_s: role.timeout_s ?? config.timeout_s,
        idle_timeout_s: role.idle_timeout_s ?? config.idle_timeout_s,
        ...(turns === undefined ? {} : { remaining_turns: Math.max(0, turns - engine.ledger.figures.turns - 1) }),
      },
      ...(draft.discuss === undefined ? {} : { discuss: draft.discuss }),
      workspace,
      artifacts_dir: paths.work(turn.subject),
    };
  }

  /** Carries the turn out. Called when its request is durable. */
  start(admission: Admission, stamp: TurnStamp, recorded: JsonObject, at: Instant): void {
    if (this.#ending) return;
    const controller = new AbortController();
    const over = this.#carryOut(admission, stamp, recorded, at, controller.signal).finally(() => {
      this.#running.delete(stamp.turn_id);
      this.#door.over(stamp.turn_id);
    });
    this.#running.set(stamp.turn_id, { controller, over });
  }

  async #carryOut(
    { role, slot }: Admission,
    stamp: TurnStamp,
    recorded: JsonObject,
    at: Instant,
    signal: AbortSignal,
  ): Promise<void> {
    const { session_id, records, paths, config, agentFor } = this.#parts;
    const resolved = attempt(paths.folder, () => ok(resolve(recorded, records)), "A file for the agent");
    if (!resolved.ok) {
      const failed = failedPayload({ refused: [] }, stamp, resolved.error);
      this.#door.submit({
        source: "scheduler",
        payload_type: "turn_failed",
        payload: failed,
        ...aboutOf(stamp),
        turn: stamp,
      });
      return;
    }
    const payload = resolved.value as unknown as PayloadByType["turn_request"];
    const said = new Sequence();
    let process = false;
    const request: TurnRequest = {
      session_id,
      at,
      role,
      stamp,
      payload,
      timeout_ms: (role.timeout_s ?? config.timeout_s) * 1000,
      idle_timeout_ms: (role.idle_timeout_s ?? config.idle_timeout_s) * 1000,
      slot,
      output_directory: paths.output,
    };
    const result = await agentFor(role).turn(request, {
      signal,
      started: async (identity) => {
        process = true;
        const { turn_id, run } = stamp;
        this.#door.bus.emit({
          kind: "turn_started",
          turn_id,
          role_id: role.role_id,
          pid: identity.pid,
          ...aboutOf(stamp),
        });
        if (!(await this.#door.keep({ put: "process", id: turn_id, value: { ...identity, run } }))) {
          throw new Error("the process could not be put on record");
        }
      },
      emit: (event) => said.then(() => this.#hear(event, request)),
    });
    await said.end();
    // A turn that was called off brings nothing, unless its answer was there already: what is done is done.
    if (!signal.aborted || result.answer) this.#door.submit(await this.#factOf(result, request));
    if (process) void this.#door.keep({ drop: "process", id: stamp.turn_id });
  }

  async #factOf(result: TurnResult, request: TurnRequest): Promise<FactInput> {
    const { role, stamp, payload } = request;
    const { answer, exit } = result;
    const base = { subject: stamp.subject, turn: stamp, ...(exit ? { exit } : {}) };
    const usage = answer?.payload.usage as Usage | undefined;
    const called = answer && result.failure?.code === "cancelled" ? undefined : result.failure;
    const wrong = called ?? answerTrouble(result, payload.expects);
    if (!answer || wrong) {
      return {
        ...base,
        ...(usage ? { usage } : {}),
        source: "scheduler",
        payload_type: "turn_failed",
        payload: failedPayload(result, stamp, wrong),
      };
    }
    const inlined = inlineField(answer, this.#parts.engine.mode.attached?.[answer.payload_type], payload);
    if (!inlined.ok) {
      return {
        ...base,
        source: "scheduler",
        payload_type: "turn_failed",
        payload: failedPayload(result, stamp, inlined.error),
      };
    }
    return {
      ...base,
      ...(usage ? { usage } : {}),
      source: role.role_id,
      payload_type: answer.payload_type,
      payload: inlined.value,
    };
  }

  /** What is said before the answer, one after the other. */
  async #hear(event: TurnEvent, request: TurnRequest): Promise<void> {
    const { stamp, role } = request;
    switch (event.kind) {
      case "console":
        this.#door.bus.emit({
          kind: "console",
          turn_id: stamp.turn_id,
          stream: event.stream,
          text: event.text,
          ...aboutOf(stamp),
        });
        return;
      case "refused": {
        const { code, message, pointer, payload_type } = event.refusal;
        this.#refused(stamp, {
          code,
          message,
          details: { pointer, rule: payload_type },
          // Cut at a length, it may end in half a character, which no record can hold.
          metadata: { excerpt: event.excerpt.toWellFormed() },
        });
        return;
      }
      case "duplicate": {
        const payload = { code: "conflict", message: `"${event.payload_type}" came twice` };
        this.#door.note({ source: "scheduler", payload_type: "error", payload, disposition: "duplicate", turn: stamp });
        return;
      }
      case "late": {
        const { payload_type, payload } = event;
        this.#door.note({ source: role.role_id, payload_type, payload, disposition: "late", turn: stamp });
        return;
      }
      case "envelope": {
        if (event.payload_type === "report") {
          this.#door.submit({
            source: role.role_id,
            payload_type: "report",
            payload: event.payload,
            subject: stamp.subject,
            turn: stamp,
          });
          return;
        }
        const kept = await keepArtifact(event.payload, request.payload, this.#parts.paths);
        if (!kept.ok) {
          this.#refused(stamp, {
            code: "validation_failed",
            message: kept.error.message,
            details: { pointer: "/payload/uri" },
          });
          return;
        }
        const { payload, row } = kept.value;
        this.#door.submit({
          source: role.role_id,
          payload_type: "artifact_ref",
          payload,
          subject: stamp.subject,
          turn: stamp,
          artifact: { ...row, ...aboutOf(stamp) },
        });
        return;
      }
    }
  }

  /** What the scheduler answers to a message that cannot stand. It goes into the record; the turn goes on. */
  #refused(turn: TurnStamp, payload: JsonObject): void {
    this.#door.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", turn });
  }
}

/** Runs what it is given one after the other. */
class Sequence {
  #last: Promise<void> = Promise.resolve();

  then(work: () => Promise<void>): void {
    this.#last = this.#last.then(work);
  }

  end(): Promise<void> {
    return this.#last;
  }
}

function aboutOf(stamp: TurnStamp): { subject?: string } {
  return stamp.subject === undefined ? {} : { subject: stamp.subject };
}

/** An agent in this process can answer with anything; one behind the wire was held to `expects` already. */
function answerTrouble({ answer }: TurnResult, expects: readonly string[]): Failure | undefined {
  if (!answer) return failure("no_answer", "The turn ended without an answer.");
  if (isNotice(answer as TypedPayload))
    return failure("no_answer", "The turn ended with a notice in the place of an answer.");
  if (expects.includes(answer.payload_type)) return undefined;
  return failure(
    "not_permitted",
    `"${answer.payload_type}" does not answer this turn, which expects ${expects.join(", ")}.`,
  );
}

function failedPayload(result: TurnResult, stamp: TurnStamp, wrong: Failure | undefined): JsonObject {
  const code: WireCode = WIRE_CODES.find((known) => known === wrong?.code) ?? "agent_failed";
  const retry_at =
    result.answer?.payload_type === "error"
      ? (result.answer.payload.details as JsonObject | undefined)?.retry_at
      : undefined;
  const details = { ...wrong?.details, ...(retry_at === undefined ? {} : { retry_at }) };
  return {
    turn_id: stamp.turn_id,
    code,
    message: wrong?.message ?? "The turn failed.",
    ...(wrong?.hint === undefined ? {} : { resolution_hint: wrong.hint }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    refused: result.refused,
    ...(result.answer ? { answer: { payload_type: result.answer.payload_type, payload: result.answer.payload } } : {}),
  };
}
