import type { Ledger, LedgerTurn } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import { Checks, type ChecksDoor, type ChecksParts } from "./checks.ts";
import type { Clock } from "./clock.ts";
import type { Admission, Dispatcher } from "./dispatcher.ts";
import { type LimitReached, limitReached } from "./limits.ts";
import { Timers } from "./timers.ts";
import { Turns, type TurnsDoor, type TurnsParts } from "./turns.ts";

export interface UnderWayParts extends TurnsParts, ChecksParts {
  readonly clock: Clock;
  readonly makeDispatcher: (isHeld: (role_id: string) => boolean) => Dispatcher;
}

export interface UnderWayDoor extends TurnsDoor, ChecksDoor {
  /** Something that touches the world: done when all that was decided before it is durable. */
  afterwards(effect: () => void): void;
  /** A timer is due, or a hold has ended. */
  wake(): void;
}

/** The commands that begin or end something here; the others are the session's own. */
type WorkCommand = Extract<
  Command,
  { do: "offer_turn" | "withdraw_turn" | "set_timer" | "run_checks" | "drop_checks" }
>;

/** What a session has under way: turns that are offered or running, checks and timers. Knows nothing of what any of it is about. */
export class UnderWay {
  readonly timers: Timers;
  readonly turns: Turns;
  readonly #parts: UnderWayParts;
  readonly #door: UnderWayDoor;
  readonly #dispatcher: Dispatcher;
  readonly #checks: Checks;

  constructor(parts: UnderWayParts, door: UnderWayDoor) {
    this.#parts = parts;
    this.#door = door;
    this.timers = new Timers(this.#ledger, parts.clock, () => door.wake());
    this.turns = new Turns(parts, door);
    this.#checks = new Checks(parts, door);
    this.#dispatcher = parts.makeDispatcher((role_id) => this.timers.isHeld(role_id));
    for (const turn of this.#ledger.turns.values()) if (turn.status === "offered") this.#dispatcher.offer(turn);
  }

  get #ledger(): Ledger {
    return this.#parts.engine.ledger;
  }

  /** Whether an agent or a check runs. */
  get isBusy(): boolean {
    return this.turns.count > 0 || this.#checks.count > 0;
  }

  /** Whether an agent or a check runs, or will as soon as its request is durable. */
  get isUnderWay(): boolean {
    return this.isBusy || this.#dispatcher.running > 0;
  }

  /** Goes on with what an earlier scheduler had begun. */
  begin(): void {
    for (const checks of this.#ledger.checks.values()) this.#checks.start(checks);
    this.timers.arm();
  }

  /** Whether a turn is offered that the role could take. */
  wants(role_id: string): boolean {
    return this.#dispatcher.wants(role_id);
  }

  carryOut(command: WorkCommand): void {
    switch (command.do) {
      case "offer_turn":
        this.offer(command.turn_id);
        return;
      case "withdraw_turn":
        if (this.#dispatcher.hasAdmitted(command.turn_id))
          this.#door.afterwards(() => this.turns.abort(command.turn_id, command.reason));
        else this.#dispatcher.end(command.turn_id);
        return;
      case "set_timer":
        this.#door.afterwards(() => this.timers.at(command.due_at));
        return;
      case "run_checks":
        this.#door.afterwards(() => this.#checks.start(command));
        return;
      case "drop_checks":
        this.#door.afterwards(() => this.#checks.abort(command.check_id));
    }
  }

  offer(turn_id: string): void {
    const turn = this.#ledger.turns.get(turn_id);
    if (turn) this.#dispatcher.offer(turn);
  }

  /** The turn's part in the dispatcher is over, whatever its result was; `before` is what the ledger said of it. */
  settle(before: LedgerTurn | undefined): void {
    if (!before) return;
    const after = this.#ledger.turns.get(before.turn_id);
    if (after?.status === "open") return;
    this.#dispatcher.end(before.turn_id);
    if (after) this.#dispatcher.offer(after);
  }

  /** A turn's agent or a check is gone: if the turn was withdrawn, its seat is free only now. */
  over(id: string): void {
    // One that was held has been offered again by now, and waits.
    if (this.#dispatcher.hasAdmitted(id) && this.#ledger.turns.get(id)?.status !== "open") this.#dispatcher.end(id);
  }

  /**
   * Every turn that may start now, or the limit that forbids the next one. Each one given counts as started. `begun` is the
   * monotonic clock's reading when the scheduler began.
   */
  *admissions(begun: number): Generator<Admission, LimitReached | undefined> {
    const { clock, config } = this.#parts;
    const awake_ms = clock.monotonic() - begun;
    for (let admission = this.#dispatcher.admit(); admission; admission = this.#dispatcher.admit()) {
      const limit = limitReached(this.#ledger.figures, config, awake_ms);
      if (limit) {
        this.#dispatcher.end(admission.turn.turn_id);
        this.#dispatcher.offer(admission.turn);
        return limit;
      }
      yield admission;
    }
    return undefined;
  }

  abortAll(): void {
    this.timers.stop();
    this.turns.abortAll();
    this.#checks.abortAll();
  }

  /** Settles when no agent and no check runs any more. */
  async idle(): Promise<void> {
    await Promise.all([this.turns.idle(), this.#checks.idle()]);
  }
}
