import type { TurnEvent, TurnRequest } from "../../kernel/agent.ts";
import type { TurnStamp } from "../../kernel/mode.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { type Failure, isOfStorage } from "../../protocol/failure.ts";
import { type ArtifactQuota, runQuota, sessionQuota } from "./artifact-quota.ts";
import { keepArtifact } from "./artifacts.ts";
import { aboutOf } from "../facts.ts";
import type { SessionPaths } from "../paths.ts";
import type { SessionDoor } from "../door.ts";

/** A run whose agent is listened to. */
export interface Heard {
  readonly request: TurnRequest;
  readonly signal: AbortSignal;
  readonly room: ArtifactQuota;
  /** It brought a file that was not waited for. */
  missed: boolean;
}

/** What agents say before their answer: lines for whoever watches, messages that are refused, reports, files. */
export class TurnEventHandler {
  readonly #paths: SessionPaths;
  readonly #door: SessionDoor;
  /** For the files of the session; known as soon as one is brought. */
  #room: ArtifactQuota | undefined;

  constructor(paths: SessionPaths, door: SessionDoor) {
    this.#paths = paths;
    this.#door = door;
  }

  begin(request: TurnRequest, signal: AbortSignal): Heard {
    return { request, signal, room: runQuota(), missed: false };
  }

  /** Settles when all that it leads to is in the journal; a file is copied first. */
  async hear(event: TurnEvent, heard: Heard): Promise<void> {
    crashPoint("turn_heard");
    const { stamp, role } = heard.request;
    switch (event.kind) {
      case "console":
        this.#door.bus.emit({
          kind: "console",
          turn_id: stamp.turn_id,
          run: stamp.run,
          role_id: role.role_id,
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
    const session = this.#sessionQuota();
    if (!session.ok) return this.#door.fail(session.error);
    const kept = await keepArtifact(reference, request, this.#paths, { run, session: session.value, signal });
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

  #sessionQuota(): Result<ArtifactQuota, Failure> {
    if (this.#room) return ok(this.#room);
    const room = sessionQuota(this.#paths.artifacts);
    if (room.ok) this.#room = room.value;
    return room;
  }

  /** What the scheduler answers to a message that cannot stand. It goes into the record; the turn goes on. */
  #refused(turn: TurnStamp, payload: JsonObject): void {
    this.#door.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", turn });
  }
}
