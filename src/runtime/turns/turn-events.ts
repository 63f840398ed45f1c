import type { TurnEvent, TurnRequest } from "../../kernel/agent.ts";
import type { TurnStamp } from "../../kernel/mode.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { type Fallible, isOfStorage } from "../../protocol/failure.ts";
import { type ArtifactQuota, keepArtifact, MAX_RUN_BYTES, sessionQuota } from "./artifacts.ts";
import { isConversationId } from "./reported.ts";
import type { TurnAbout } from "../bus.ts";
import type { SessionContext } from "../context.ts";
import type { Note } from "../recordings.ts";

const EXCERPT_CHARACTERS = 2_048;

/** A run whose agent's events are handled. */
export interface ListenedRun {
  readonly request: TurnRequest;
  readonly signal: AbortSignal;
  readonly quota: ArtifactQuota;
  /** Whether one of its files was not copied, because the run was cancelled. */
  missed: boolean;
  /** Whether the id of its program's conversation is stored, which it is until the turn has ended. */
  conversing: boolean;
}

export function eventAbout({ role, stamp: { turn_id, run, subject } }: TurnRequest): TurnAbout {
  return { turn_id, run, role_id: role.role_id, ...defined({ subject }) };
}

/** Handles what agents send before their answer: console lines, refused messages, progress reports, files. */
export class TurnEventHandler {
  readonly #context: SessionContext;
  /** The session's quota, measured with the first file. */
  #quota: Fallible<ArtifactQuota> | undefined;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  begin(request: TurnRequest, signal: AbortSignal): ListenedRun {
    return { request, signal, quota: { left: MAX_RUN_BYTES }, missed: false, conversing: false };
  }

  /** Resolves once everything that follows from the event is in the journal. A file is copied first. */
  async handle(event: TurnEvent, run: ListenedRun): Promise<void> {
    crashPoint("turn_heard");
    const { stamp, role } = run.request;
    const { secrets } = this.#context;
    switch (event.kind) {
      case "console":
        this.#context.bus.emit({ ...event, ...eventAbout(run.request) });
        return;
      case "conversation":
        if (!isConversationId(event.id)) return;
        run.conversing = true;
        await this.#context.keep({ put: "conversing", id: stamp.turn_id, value: { id: event.id } });
        return;
      case "refused": {
        const { code, message, pointer, payload_type } = event.refusal;
        // The cut may have split a character, and no record can hold half of one.
        const excerpt = secrets.text(event.excerpt).slice(0, EXCERPT_CHARACTERS).toWellFormed();
        const details = { pointer, rule: payload_type };
        return this.#noteError(stamp, "refused", { code, message, details, metadata: { excerpt } });
      }
      case "duplicate": {
        const payload = { code: "conflict", message: `"${event.payload_type}" came twice` };
        return this.#noteError(stamp, "duplicate", payload);
      }
      case "late": {
        const { payload_type, payload } = event;
        this.#context.note({ source: role.role_id, payload_type, payload, disposition: "late", turn: stamp });
        return;
      }
      case "envelope": {
        const { payload_type, payload } = event;
        if (payload_type === "artifact_ref") return this.#keepArtifact(payload, run);
        const { subject } = stamp;
        this.#context.submit({ source: role.role_id, payload_type, payload, subject, turn: stamp });
        return;
      }
    }
  }

  async #keepArtifact(reference: JsonObject, run: ListenedRun): Promise<void> {
    const { request, signal, quota } = run;
    const { stamp, role } = request;
    const { paths } = this.#context;
    const session = (this.#quota ??= sessionQuota(paths.artifacts));
    if (!session.ok) return this.#context.fail(session.error);
    const limits = { run: quota, session: session.value, signal };
    const kept = await keepArtifact(reference, request, paths, limits);
    if (!kept.ok) {
      if (isOfStorage(kept.error)) return this.#context.fail(kept.error);
      const { code, message } = kept.error;
      const details = { pointer: "/payload/uri" };
      if (code === "cancelled") run.missed = true;
      else this.#noteError(stamp, "refused", { code: "validation_failed", message, details });
      return;
    }
    const { payload, row } = kept.value;
    this.#context.submit({
      source: role.role_id,
      payload_type: "artifact_ref",
      payload,
      subject: stamp.subject,
      turn: stamp,
      artifact: { ...row, ...defined({ subject: stamp.subject }) },
    });
  }

  /** Records what is wrong with a message; the turn goes on. */
  #noteError(turn: TurnStamp, disposition: Note["disposition"], payload: JsonObject): void {
    this.#context.note({ source: "scheduler", payload_type: "error", payload, disposition, turn });
  }
}
