import type { Agent, ProcessIdentity, TurnRequest } from "../../kernel/agent.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import type { Mode, TurnStamp } from "../../kernel/mode.ts";
import { isCut, resolve } from "../../kernel/references.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { isOfStorage } from "../../protocol/failure.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { TurnAbout } from "../bus.ts";
import type { Admission } from "../admission/dispatcher.ts";
import type { SessionPaths } from "../paths.ts";
import type { SessionRecords } from "../records.ts";
import type { SessionDoor } from "../door.ts";
import { aboutOf } from "../facts.ts";
import { TurnEventHandler } from "./turn-events.ts";
import { longerThanALine } from "../admission/turn-request.ts";
import { factOf } from "./turn-result.ts";

export interface TurnsParts {
  readonly session_id: string;
  readonly engine: { readonly mode: Pick<Mode<never>, "attached">; readonly ledger: Ledger };
  readonly records: SessionRecords;
  readonly paths: SessionPaths;
  readonly config: ResolvedConfiguration;
  readonly agentFor: (role: Role) => Agent;
}

interface TurnsDoor extends SessionDoor {
  /** The turn's agent is gone, whatever it brought. */
  over(turn_id: string): void;
}

interface Running {
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** The turns that are being carried out: from the durable request to the fact of how each ended. */
export class Turns {
  readonly #parts: TurnsParts;
  readonly #door: TurnsDoor;
  readonly #running = new Map<string, Running>();
  readonly #hearing: TurnEventHandler;
  #ending = false;

  constructor(parts: TurnsParts, door: TurnsDoor) {
    this.#parts = parts;
    this.#door = door;
    this.#hearing = new TurnEventHandler(parts.paths, door);
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
    let said: Promise<void> = Promise.resolve();
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
    if (tooLong) {
      this.#tellStarted(request);
      this.#door.submit(factOf({ failure: tooLong, refused: [] }, request, this.#parts.engine.mode));
      return this.#ended(request, false);
    }
    const heard = this.#hearing.begin(request, signal);
    const result = await agentFor(role).turn(request, {
      signal,
      started: (identity) => {
        hasProcess = true;
        return this.#started(identity, request);
      },
      emit: (event) => {
        // One after the other. What one throws is told at once, and not only when the turn has ended.
        said = said.then(() => this.#hearing.hear(event, heard)).catch((error: unknown) => this.#door.broken(error));
      },
    });
    await said;
    if (result.failure && isOfStorage(result.failure)) return this.#door.fail(result.failure);
    crashPoint("answer_held");
    // A turn that was called off brings nothing, unless its answer was there already: what is done is done. An answer counts only
    // with the files that came before it. Without them the turn stays open and is done again; if it is not open, the answer is late.
    const isLess = heard.missed && this.#parts.engine.ledger.turns.has(stamp.turn_id);
    if (!hasProcess) this.#tellStarted(request);
    if (result.answer ? !isLess : !signal.aborted) this.#door.submit(factOf(result, request, this.#parts.engine.mode));
    this.#ended(request, hasProcess);
  }

  /** Comes back when it is on record which process the turn has. */
  async #started(identity: ProcessIdentity, request: TurnRequest): Promise<void> {
    crashPoint("turn_spawned");
    const { turn_id, run } = request.stamp;
    this.#tellStarted(request, identity.pid);
    if (!(await this.#door.keep({ put: "process", id: turn_id, value: { ...identity, run } }))) {
      throw new Error("the process could not be put on record");
    }
    crashPoint("turn_pid_committed");
  }

  #tellStarted(request: TurnRequest, pid?: number): void {
    this.#door.bus.emit({ kind: "turn_started", ...eventAbout(request), ...(pid === undefined ? {} : { pid }) });
  }

  /** Tells that the agent is gone, after the record of the turn's end. */
  #ended(request: TurnRequest, hasProcess: boolean): void {
    const { turn_id } = request.stamp;
    const recorded = hasProcess
      ? this.#door.keep({ drop: "process", id: turn_id })
      : new Promise<void>((resolve) => this.#door.afterwards(resolve));
    recorded
      .then(() => this.#door.bus.emit({ kind: "turn_ended", ...eventAbout(request) }))
      .catch((error: unknown) => this.#door.broken(error));
  }
}

function eventAbout({ role, stamp }: TurnRequest): TurnAbout {
  return { turn_id: stamp.turn_id, run: stamp.run, role_id: role.role_id, ...aboutOf(stamp) };
}
