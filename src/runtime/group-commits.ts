import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Clock } from "./time/clock.ts";
import type { Journal } from "./journal.ts";
import type { TroubleDoor } from "./door.ts";

interface GroupCommitsDoor extends TroubleDoor {
  /** Before each commit: what may begin now is put into it. */
  prepare(): void;
  commit(): Promise<Result<void, Failure>>;
  /** Nothing is left to write, and nothing has come up that could lead to more. */
  rest(): void;
}

/**
 * When a session commits: one turn of the event loop after something was put into its journal, with all that came in until then, and
 * never twice at once. So a single fact is durable soon, and under load hundreds are one transaction.
 */
export class GroupCommits {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #door: GroupCommitsDoor;
  #scheduled = false;
  #flushing = false;
  /** While a commit was under way something happened after which more may start, though it left nothing to write. */
  #wanted = false;
  #over = false;

  constructor(clock: Clock, journal: Journal, door: GroupCommitsDoor) {
    this.#clock = clock;
    this.#journal = journal;
    this.#door = door;
  }

  /** There is something to write, or something may start. */
  schedule(): void {
    if (this.#flushing) this.#wanted = true;
    if (this.#scheduled || this.#flushing || this.#over) return;
    this.#scheduled = true;
    this.#clock.soon(() => {
      this.#scheduled = false;
      this.#flush().catch((error: unknown) => this.#door.broken(error));
    });
  }

  /** No more commits. */
  end(): void {
    this.#over = true;
  }

  async #flush(): Promise<void> {
    if (this.#over) return;
    this.#flushing = true;
    this.#door.prepare();
    this.#wanted = false;
    if (!this.#journal.isEmpty) {
      const committed = await this.#door.commit();
      if (!committed.ok) return this.#door.fail(committed.error);
    }
    this.#flushing = false;
    if (!this.#journal.isEmpty || this.#wanted) this.schedule();
    else if (!this.#over) this.#door.rest();
  }
}
