import { Child, type ChildParts } from "./child.ts";
import type { SessionDoor } from "../door.ts";

export interface ChildrenParts extends ChildParts {
  readonly session_id: string;
}

/** The child sessions of a session, each run beside it. What a session is told to do they are told, too: to pause, to stop, to close. */
export class Children {
  readonly #parts: ChildrenParts;
  readonly #door: SessionDoor;
  readonly #running = new Map<string, Child>();
  #waitForPeople = true;
  #begun = false;
  readonly #waiting = new Set<string>();
  #ending = false;

  constructor(parts: ChildrenParts, door: SessionDoor) {
    this.#parts = parts;
    this.#door = door;
  }

  get count(): number {
    return this.#running.size;
  }

  /** How many agents they run. */
  get running(): number {
    return [...this.#running.values()].reduce((sum, child) => sum + child.running, 0);
  }

  /** Whether one has stopped because a person must answer, and none was there. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether one was begun and has not ended, be it that it runs as soon as that is durable. */
  get isAnyBegun(): boolean {
    return [...this.#parts.engine.ledger.children.values()].some(({ status }) => status !== "offered");
  }

  /** Goes on with those that an earlier scheduler had begun. Those of a closed session are closed, and their files finished, too. */
  begin(waitForPeople: boolean): void {
    const { engine, session_id, store } = this.#parts;
    const { children, figures } = engine.ledger;
    this.#waitForPeople = waitForPeople;
    this.#begun = true;
    for (const { child, status } of children.values()) if (status !== "offered") this.start(child);
    if (!figures.closed) return;
    for (const left of store.sessions({ parent: session_id })) if (left.last_sequence > 0) this.#run(left.session_id);
  }

  /** Takes up those that have stopped and are still open: their parent has closed, and they with it. */
  closeLeft(): void {
    if (!this.#begun) return;
    const { session_id, store } = this.#parts;
    const left = store.sessions({ parent: session_id }).filter((row) => row.outcome === null && row.last_sequence > 0);
    for (const row of left) this.#run(row.session_id);
  }

  /** Runs one that was begun, when that is durable. What its parent has closed without meanwhile is not wanted any more. */
  start(child: string): void {
    if (!this.#ending && this.#parts.engine.ledger.children.has(child)) this.#run(this.idOf(child));
  }

  idOf(child: string): string {
    return `${this.#parts.session_id}.${child}`;
  }

  cancel(child: string, reason: string): void {
    const running = this.#running.get(this.idOf(child));
    if (running) running.cancel(reason);
    // It has stopped for a person, and is taken up once more to hear of it.
    else this.start(child);
  }

  /** Takes up those that have stopped for a person and were spoken to since: nobody else does while their parent runs. */
  hear(): void {
    if (this.#ending) return;
    for (const session_id of this.#waiting) {
      if (this.#parts.store.inbox.pending(session_id).length > 0) this.#run(session_id);
    }
  }

  pauseLikeParent(): void {
    for (const child of this.#running.values()) child.pauseLikeParent();
  }

  /** Ends them all: resumably, or for good if their parent is closed. */
  abortAll(): void {
    this.#ending = true;
    const isClosed = this.#parts.engine.ledger.figures.closed !== undefined;
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
    const door = { ...this.#door, waits: () => void this.#waiting.add(session_id) };
    const child = new Child(session_id, this.#parts, door, this.#waitForPeople);
    this.#running.set(session_id, child);
    void child.over.then(() => {
      this.#running.delete(session_id);
      this.#door.schedule();
    });
  }
}
