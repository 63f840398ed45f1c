import os from "node:os";
import type { Ledger, LedgerChild } from "../../kernel/ledger.ts";
import { childId } from "../../kernel/children.ts";
import { resolve } from "../../kernel/references.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { GENESIS } from "../../protocol/record.ts";
import { about } from "../../protocol/recording.ts";
import { keptRecord, lastReport } from "../../store/kept-record.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { SessionEnd, StopReason } from "../bus.ts";
import type { SessionContext } from "../context.ts";
import { prepareCopy } from "../copies/prepare.ts";
import type { FactInput } from "../facts.ts";

/** What the parent orders; the child inherits everything else. */
export type ChildOrder = Pick<LedgerChild, "mode" | "subject" | "input" | "budget">;

/** Resumes a child, or creates it from its order. Fails like `createSession` and `resumeSession`. */
export type TakeChild = (session_id: string, order: ChildOrder | undefined) => Promise<Fallible<ChildSession>>;

/** The part of a session that its parent uses. */
export interface ChildSession {
  readonly ledger: Ledger;
  readonly running: number;
  run(options: { readonly waitForPeople: boolean }): Promise<Fallible<SessionEnd>>;
  stop(reason: StopReason, message: string): void;
  submitFromPerson(input: FactInput): unknown;
}

const PARENT_CLOSED = "its parent session is closed";

/**
 * A child session in its parent's process, from the durable fact that it began to the fact of how it ended. A child that stops by itself (its
 * budget, its manager) is cancelled, and its parent goes on without it.
 */
export class Child {
  /** How the child left its parent's process. Never rejects. */
  readonly over: Promise<"waiting" | "ended">;
  readonly #session_id: string;
  readonly #parent: SessionContext;
  readonly #takeChild: TakeChild;
  readonly #waitForPeople: boolean;
  #session: ChildSession | undefined;
  #cancelled: string | undefined;
  #stopping = false;
  readonly #preparing = new AbortController();

  constructor(session_id: string, parent: SessionContext, takeChild: TakeChild, waitForPeople: boolean) {
    this.#session_id = session_id;
    this.#parent = parent;
    this.#takeChild = takeChild;
    this.#waitForPeople = waitForPeople;
    this.over = this.#live().catch((error: unknown) => {
      parent.broken(error);
      return "ended";
    });
  }

  /** The number of its running agents. */
  get running(): number {
    return this.#session?.running ?? 0;
  }

  /** Closes the child as cancelled. */
  cancel(reason: string): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    this.#command("cancel", reason);
  }

  /** Stops the child resumably; it is resumed with its parent. */
  stop(): void {
    this.#stopping = true;
    this.#preparing.abort();
    this.#session?.stop("signal", "its parent session stopped");
  }

  pauseLikeParent(): void {
    const paused = this.#parent.ledger.figures.paused === true;
    if (this.#session && (this.#session.ledger.figures.paused === true) !== paused)
      this.#command(paused ? "pause" : "resume");
  }

  /** Its entry in the parent's ledger; undefined once the parent has closed. */
  get #known(): LedgerChild | undefined {
    return this.#parent.ledger.children.get(childId(this.#session_id));
  }

  async #live(): Promise<"waiting" | "ended"> {
    const prepared = await prepareCopy(this.#parent, this.#known?.subject, this.#preparing.signal);
    if (!prepared.ok) {
      if (!this.#stopping) this.#parent.fail(prepared.error);
      return "ended";
    }
    for (;;) {
      const taken = await this.#takeChild(this.#session_id, this.#order());
      if (!taken.ok) {
        this.#notTaken(taken.error);
        return "ended";
      }
      const end = await this.#run(taken.value);
      if (!end.ok) {
        this.#parent.fail(end.error);
        return "ended";
      }
      if (end.value.kind === "closed") {
        this.#closed();
        return "ended";
      }
      // The cancel came too late: resume once more to close the child.
      if (this.#cancelled !== undefined) continue;
      if (this.#stopping) return "ended";
      const { reason, message } = end.value;
      if (reason === "waiting") return "waiting";
      // A person stopped the child; its parent stops with it.
      if (reason === "signal") {
        this.#parent.stop("signal", message);
        return "ended";
      }
      this.#cancelled = message;
    }
  }

  async #run(session: ChildSession): ReturnType<ChildSession["run"]> {
    this.#session = session;
    if (!session.ledger.figures.closed) this.#passOn();
    const running = session.run({ waitForPeople: this.#waitForPeople });
    if (this.#stopping) this.stop();
    const end = await running;
    this.#session = undefined;
    return end;
  }

  /** Passes on commands that the parent got before the child was resumed. */
  #passOn(): void {
    const { status, reason = "withdrawn" } = this.#known ?? { status: "withdrawn", reason: PARENT_CLOSED };
    if (status === "withdrawn") this.#cancelled ??= reason;
    this.pauseLikeParent();
    if (this.#cancelled !== undefined) this.#command("cancel", this.#cancelled);
  }

  #order(): ChildOrder | undefined {
    const child = this.#known;
    return child && { ...child, input: resolve(child.input, this.#parent.records) as JsonObject };
  }

  #command(command: "cancel" | "pause" | "resume", reason?: string): void {
    this.#session?.submitFromPerson({
      source: "user",
      payload_type: "user_command",
      payload: { command, ...defined({ reason }) },
      actor: { user: "scheduler", host: os.hostname(), via: "parent" },
    });
  }

  /** A child that can never begin has failed; all other failures are its parent's. */
  #notTaken(failure: Failure): void {
    if (failure.code === "usage") this.#ended(neverOpened(failure));
    else this.#parent.fail(failure);
  }

  #closed(): void {
    const row = this.#parent.store.session(this.#session_id);
    if (row.ok) this.#ended(closedChild(this.#parent.store, row.value));
    else this.#parent.fail(row.error);
  }

  #ended(end: ChildEnd): void {
    crashPoint("child_ended");
    if (!this.#known) return;
    const { subject } = this.#known;
    const payload = { session_id: this.#session_id, ...about(subject), ...end };
    this.#parent.submit({ source: "scheduler", payload_type: "session_finished", payload, subject });
  }
}

/** How a child session ended, for the `session_finished` fact of its parent. */
type ChildEnd = Pick<PayloadByType["session_finished"], "outcome" | "reason" | "result" | "usage" | "log">;

/** Reads from its own log how a closed child ended. */
function closedChild(store: Store, row: SessionRow): ChildEnd {
  const report = lastReport(store, row) as unknown as PayloadByType["final_report"];
  const { outcome, usage, result } = report;
  const reason = whyCancelled(store, row) ?? report.reason;
  return {
    outcome,
    ...defined({ reason, result }),
    usage,
    log: { records: row.last_sequence, head: row.head },
  };
}

/** The reason given in the command that cancelled the child; its report says only that it was cancelled. */
function whyCancelled(store: Store, { session_id, last_sequence }: SessionRow): string | undefined {
  for (let sequence = last_sequence; sequence > 0; sequence -= 1) {
    const { record, payload_type, payload } = keptRecord(store, session_id, sequence);
    if (record.kind !== "fact") continue;
    const { command, reason } = payload;
    return payload_type === "user_command" && command === "cancel" ? (reason as string | undefined) : undefined;
  }
  return undefined;
}

function neverOpened(failure: Failure): ChildEnd {
  return {
    outcome: "failed",
    reason: failure.message,
    usage: { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 },
    log: { records: 0, head: GENESIS },
  };
}
