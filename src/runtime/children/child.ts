import os from "node:os";
import type { Ledger, LedgerChild } from "../../kernel/ledger.ts";
import { childId } from "../../kernel/children.ts";
import { resolve } from "../../kernel/references.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Budget } from "../../protocol/payload.ts";
import { about } from "../../protocol/recording.ts";
import type { Store } from "../../store/store.ts";
import type { SessionEnd, StopReason } from "../bus.ts";
import { type ChildEnd, closedChild, neverOpened } from "./child-end.ts";
import type { FactInput } from "../facts.ts";
import type { SessionRecords } from "../records.ts";
import type { SessionDoor } from "../door.ts";
import type { TurnsParts } from "../turns/turns.ts";

/** A child session as its parent wants it; the rest it has of its parent. */
export interface ChildOrder {
  readonly mode: string;
  readonly subject?: string;
  readonly input: JsonObject;
  readonly budget: Budget;
}

/** Takes a child up where it was left, or begins it by its order. Failures as `createSession` and `resumeSession`. */
export type TakeChild = (session_id: string, order: ChildOrder | undefined) => Promise<Result<ChildSession, Failure>>;

/** As much of a session as its parent moves. */
export interface ChildSession {
  readonly ledger: Ledger;
  readonly running: number;
  run(options: { readonly waitForPeople: boolean }): Promise<Result<SessionEnd, Failure>>;
  stop(reason: StopReason, message: string): void;
  submitFromPerson(input: FactInput): unknown;
}

export interface ChildParts {
  readonly engine: TurnsParts["engine"];
  readonly records: SessionRecords;
  readonly store: Store;
  readonly takeChild: TakeChild;
}

/** What a child may do with its parent. */
interface ChildDoor extends SessionDoor {
  /** Only a person could move it, and none was there. */
  waits(): void;
}

const PARENT_CLOSED = "its parent session is closed";

/**
 * One child session while it is run in its parent's process: from the durable fact that it was begun to the fact of how it ended.
 * One whose budget is used up, or that has no manager any more, is cancelled, and its parent goes on without it.
 */
export class Child {
  readonly over: Promise<void>;
  readonly #session_id: string;
  readonly #parts: ChildParts;
  readonly #door: ChildDoor;
  readonly #waitForPeople: boolean;
  #session: ChildSession | undefined;
  #cancelled: string | undefined;
  #stopping = false;

  constructor(session_id: string, parts: ChildParts, door: ChildDoor, waitForPeople: boolean) {
    this.#session_id = session_id;
    this.#parts = parts;
    this.#door = door;
    this.#waitForPeople = waitForPeople;
    this.over = this.#live().catch((error: unknown) => door.broken(error));
  }

  /** How many agents it runs. */
  get running(): number {
    return this.#session?.running ?? 0;
  }

  /** Closes it as cancelled. */
  cancel(reason: string): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    this.#say("cancel", reason);
  }

  /** Leaves it as it is, to be taken up with its parent. */
  stop(): void {
    this.#stopping = true;
    this.#session?.stop("signal", "its parent session stopped");
  }

  /** Has it begin no more turns, or begin turns again, as its parent does. */
  pauseLikeParent(): void {
    const paused = this.#parts.engine.ledger.figures.paused === true;
    if (this.#session && (this.#session.ledger.figures.paused === true) !== paused)
      this.#say(paused ? "pause" : "resume");
  }

  /** What its parent knows of it; nothing any more if that has closed. */
  get #known(): LedgerChild | undefined {
    return this.#parts.engine.ledger.children.get(childId(this.#session_id));
  }

  async #live(): Promise<void> {
    for (;;) {
      const taken = await this.#parts.takeChild(this.#session_id, this.#order());
      if (!taken.ok) return this.#notTaken(taken.error);
      const end = await this.#run(taken.value);
      if (!end.ok) return this.#door.fail(end.error);
      if (end.value.kind === "closed") return this.#closed();
      // Told too late to close, it is taken up once more for that.
      if (this.#cancelled !== undefined) continue;
      if (this.#stopping) return;
      const { reason, message } = end.value;
      if (reason === "waiting") return this.#door.waits();
      // Somebody had it stopped, and its parent stops with it.
      if (reason === "signal") return this.#door.stop("signal", message);
      this.#cancelled = message;
    }
  }

  async #run(session: ChildSession): ReturnType<ChildSession["run"]> {
    this.#session = session;
    if (!session.ledger.figures.closed) this.#tell();
    const running = session.run({ waitForPeople: this.#waitForPeople });
    if (this.#stopping) this.stop();
    const end = await running;
    this.#session = undefined;
    return end;
  }

  /** What it was not told yet, before it goes on. */
  #tell(): void {
    const { status, reason = "withdrawn" } = this.#known ?? { status: "withdrawn", reason: PARENT_CLOSED };
    if (status === "withdrawn") this.#cancelled ??= reason;
    this.pauseLikeParent();
    if (this.#cancelled !== undefined) this.#say("cancel", this.#cancelled);
  }

  #order(): ChildOrder | undefined {
    const child = this.#known;
    if (!child) return undefined;
    const { mode, subject, input, budget } = child;
    return {
      mode,
      ...(subject === undefined ? {} : { subject }),
      input: resolve(input, this.#parts.records) as JsonObject,
      budget,
    };
  }

  #say(command: "cancel" | "pause" | "resume", reason?: string): void {
    this.#session?.submitFromPerson({
      source: "user",
      payload_type: "user_command",
      payload: { command, ...(reason === undefined ? {} : { reason }) },
      actor: { user: "scheduler", host: os.hostname(), via: "parent" },
    });
  }

  /** What can never be begun has failed; all else that keeps it from being taken up is its parent's trouble. */
  #notTaken(failure: Failure): void {
    if (failure.code === "usage") this.#ended(neverOpened(failure));
    else this.#door.fail(failure);
  }

  #closed(): void {
    const row = this.#parts.store.session(this.#session_id);
    if (row.ok) this.#ended(closedChild(this.#parts.store, row.value));
    else this.#door.fail(row.error);
  }

  #ended(end: ChildEnd): void {
    crashPoint("child_ended");
    if (!this.#known) return;
    const { subject } = this.#known;
    const payload = { session_id: this.#session_id, ...about(subject), ...end };
    this.#door.submit({ source: "scheduler", payload_type: "session_finished", payload, subject });
  }
}
