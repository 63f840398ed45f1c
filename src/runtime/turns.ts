import type { Agent, TurnEvent, TurnRequest } from "../kernel/agent.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Change, Mode, TurnStamp } from "../kernel/mode.ts";
import { isCut, resolve } from "../kernel/references.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { ok, type Result } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { type Failure, isOfStorage } from "../protocol/failure.ts";
import type { PayloadByType, ResolvedConfiguration } from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { type Room, roomOfRun, roomOfSession } from "./artifact-room.ts";
import { keepArtifact } from "./artifacts.ts";
import type { Bus } from "./bus.ts";
import type { Clock } from "./clock.ts";
import type { Admission } from "./dispatcher.ts";
import type { SessionPaths } from "./paths.ts";
import type { Note } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";
import { aboutOf, type FactInput } from "./facts.ts";
import { longerThanALine } from "./turn-request.ts";
import { factOf } from "./turn-result.ts";
import type { TroubleDoor } from "./trouble.ts";

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

export interface TurnsDoor extends TroubleDoor {
  readonly bus: Bus;
  submit(input: FactInput): unknown;
  note(note: Note): void;
  /** The turn's agent is gone, whatever it brought. */
  over(turn_id: string): void;
  /** Stores a value that is no fact; true when it is durable, false if it will never be. */
  keep(change: Change): Promise<boolean>;
}

interface Running {
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** A run whose agent is listened to. */
interface Heard {
  readonly request: TurnRequest;
  readonly signal: AbortSignal;
  readonly room: Room;
  /** It brought a file that was not waited for. */
  missed: boolean;
}

/** The turns that are being carried out: from the durable request to the fact of how each ended. */
export class Turns {
  readonly #parts: TurnsParts;
  readonly #door: TurnsDoor;
  readonly #running = new Map<string, Running>();
  /** For the files of the session; known as soon as one is brought. */
  #room: Room | undefined;
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

  /** Carries the turn out. Called when its request is durable. */
  start(admission: Admission, stamp: TurnStamp, recorded: JsonObject, at: Instant): void {
    if (this.#ending) return;
    const controller = new AbortController();
    const over = this.#carryOut(admission, stamp, recorded, at, controller.signal)
      .catch((error: unknown) => this.#door.broken(error))
      .finally(() => {
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
    if (!resolved.ok) return this.#door.fail(resolved.error);
    const payload = resolved.value as unknown as PayloadByType["turn_request"];
    const said = new Sequence();
    let hasProcess = false;
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
    const tooLong = isCut(recorded["message"]) ? longerThanALine(payload) : undefined;
    if (tooLong)
      return void this.#door.submit(factOf({ failure: tooLong, refused: [] }, request, this.#parts.engine.mode));
    const heard: Heard = { request, signal, room: roomOfRun(), missed: false };
    const result = await agentFor(role).turn(request, {
      signal,
      started: async (identity) => {
        hasProcess = true;
        crashPoint("turn_spawned");
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
        crashPoint("turn_pid_committed");
      },
      emit: (event) => said.then(() => this.#hear(event, heard)),
    });
    await said.end();
    if (result.failure && isOfStorage(result.failure)) return this.#door.fail(result.failure);
    crashPoint("answer_held");
    // A turn that was called off brings nothing, unless its answer was there already: what is done is done.
    // It counts only with the files that came before it, or as a late one: otherwise the turn stays open, to be done again.
    const isLess = heard.missed && this.#parts.engine.ledger.turns.has(stamp.turn_id);
    if (result.answer ? !isLess : !signal.aborted) this.#door.submit(factOf(result, request, this.#parts.engine.mode));
    if (hasProcess) void this.#door.keep({ drop: "process", id: stamp.turn_id });
  }

  /** What is said before the answer, one after the other. */
  async #hear(event: TurnEvent, heard: Heard): Promise<void> {
    crashPoint("turn_heard");
    const { stamp, role } = heard.request;
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
        await this.#keepArtifact(event.payload, heard);
        return;
      }
    }
  }

  async #keepArtifact(reference: JsonObject, heard: Heard): Promise<void> {
    const { request, signal, room: run } = heard;
    const { stamp, role } = request;
    const { paths } = this.#parts;
    const session = this.#roomOfSession();
    if (!session.ok) return this.#door.fail(session.error);
    const kept = await keepArtifact(reference, request, paths, { run, session: session.value, signal });
    if (!kept.ok && isOfStorage(kept.error)) return this.#door.fail(kept.error);
    if (!kept.ok && kept.error.code === "cancelled") {
      heard.missed = true;
      return;
    }
    if (!kept.ok) {
      const { message } = kept.error;
      this.#refused(stamp, { code: "validation_failed", message, details: { pointer: "/payload/uri" } });
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
  }

  #roomOfSession(): Result<Room, Failure> {
    if (this.#room) return ok(this.#room);
    const room = roomOfSession(this.#parts.paths.artifacts);
    if (room.ok) this.#room = room.value;
    return room;
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
