import type { SessionContext } from "../context.ts";
import { Child, type TakeChild } from "./child.ts";

/** The child sessions of a session, which run in its process. They pause, stop and close with it. */
export class Children {
  readonly #context: SessionContext;
  readonly #takeChild: TakeChild;
  readonly #running = new Map<string, Child>();
  #waitForPeople = true;
  #begun = false;
  readonly #waiting = new Set<string>();
  #ending = false;

  constructor(context: SessionContext, takeChild: TakeChild) {
    this.#context = context;
    this.#takeChild = takeChild;
  }

  get count(): number {
    return this.#running.size;
  }

  /** The number of their running agents. */
  get running(): number {
    return [...this.#running.values()].reduce((sum, child) => sum + child.running, 0);
  }

  /** Whether a child has stopped because a person must answer and none was there. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether a child has begun and not ended, including one that starts with the next commit. */
  get isAnyBegun(): boolean {
    return [...this.#context.ledger.children.values()].some(({ status }) => status !== "offered");
  }

  /** Continues an earlier scheduler's children. Those of a closed session are closed, and their files completed. */
  begin(waitForPeople: boolean): void {
    const { ledger, session_id, store } = this.#context;
    const { children, figures } = ledger;
    this.#waitForPeople = waitForPeople;
    this.#begun = true;
    for (const { child, status } of children.values()) if (status !== "offered") this.start(child);
    if (!figures.closed) return;
    for (const left of store.sessions({ parent: session_id })) if (left.last_sequence > 0) this.#run(left.session_id);
  }

  /** Resumes stopped children that are still open, to close them with their parent. */
  closeLeft(): void {
    if (!this.#begun) return;
    const { session_id, store } = this.#context;
    const left = store.sessions({ parent: session_id }).filter((row) => row.outcome === null && row.last_sequence > 0);
    for (const row of left) this.#run(row.session_id);
  }

  /** Runs a child whose start is durable, unless its parent has closed meanwhile. */
  start(child: string): void {
    if (!this.#ending && this.#context.ledger.children.has(child)) this.#run(this.idOf(child));
  }

  idOf(child: string): string {
    return `${this.#context.session_id}.${child}`;
  }

  cancel(child: string, reason: string): void {
    const running = this.#running.get(this.idOf(child));
    if (running) running.cancel(reason);
    // It has stopped for a person, and is resumed once more to be cancelled.
    else this.start(child);
  }

  /** Resumes children that stopped for a person and have got messages since. No other process can while the parent runs. */
  resumeAddressed(): void {
    if (this.#ending) return;
    for (const session_id of this.#waiting) {
      if (this.#context.store.inbox.pending(session_id).length > 0) this.#run(session_id);
    }
  }

  pauseLikeParent(): void {
    for (const child of this.#running.values()) child.pauseLikeParent();
  }

  /** Ends all children: resumably, or for good if the parent is closed. */
  abortAll(): void {
    this.#ending = true;
    const isClosed = this.#context.ledger.figures.closed !== undefined;
    for (const child of this.#running.values()) {
      if (isClosed) child.cancel("its parent session is closed");
      else child.stop();
    }
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ over }) => over));
  }

  #run(session_id: string): void {
    if (this.#running.has(session_id)) return;
    this.#waiting.delete(session_id);
    const child = new Child(session_id, this.#context, this.#takeChild, this.#waitForPeople);
    this.#running.set(session_id, child);
    void child.over.then((left) => {
      this.#running.delete(session_id);
      if (left === "waiting") this.#waiting.add(session_id);
      this.#context.schedule();
    });
  }
}
