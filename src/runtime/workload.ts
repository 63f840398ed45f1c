import type { Ledger, LedgerTurn } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import type { Role } from "../protocol/roles.ts";
import { Children, type ChildrenParts } from "./children/children.ts";
import { Checks, type ChecksParts } from "./checks.ts";
import type { SessionDoor } from "./door.ts";
import { type Admission, Dispatcher } from "./admission/dispatcher.ts";
import { Seats } from "./admission/seats.ts";
import { Timers } from "./time/timers.ts";
import { Turns, type TurnsParts } from "./turns/turns.ts";

export interface WorkloadParts extends TurnsParts, ChecksParts, ChildrenParts {
  readonly roles: readonly Role[];
}

interface UnderWayDoor extends SessionDoor {
  /** A timer is due, or a hold has ended. */
  wake(): void;
}

/** The commands that begin or end something here; the others are the session's own. */
type WorkCommand = Extract<
  Command,
  {
    do:
      | "offer_turn"
      | "withdraw_turn"
      | "set_timer"
      | "run_checks"
      | "drop_checks"
      | "open_session"
      | "withdraw_session";
  }
>;

/** What a session has under way: turns that are offered or running, checks, child sessions and timers. Knows nothing of what any of it is about. */
export class Workload {
  readonly timers: Timers;
  readonly turns: Turns;
  readonly children: Children;
  readonly #parts: WorkloadParts;
  readonly #door: UnderWayDoor;
  readonly #dispatcher: Dispatcher;
  readonly #checks: Checks;
  /** Offered turns whose subject's checks were called off and are not gone yet. */
  readonly #behindChecks = new Set<string>();

  constructor(parts: WorkloadParts, door: UnderWayDoor) {
    this.#parts = parts;
    this.#door = door;
    this.timers = new Timers(this.#ledger, parts.clock, () => door.wake());
    const over = (id: string) => {
      this.#over(id);
      door.schedule();
    };
    this.turns = new Turns(parts, { ...door, over });
    this.#checks = new Checks(parts, { ...door, over });
    this.children = new Children(parts, door);
    const { max_workers } = parts.config;
    const capacity = { worker: max_workers, participant: max_workers, manager: Number.POSITIVE_INFINITY };
    const seats = new Seats(parts.roles, capacity, (role_id) => this.timers.isHeld(role_id));
    this.#dispatcher = new Dispatcher(seats);
    for (const turn of this.#ledger.turns.values()) if (turn.status === "offered") this.#dispatcher.offer(turn);
  }

  get #ledger(): Ledger {
    return this.#parts.engine.ledger;
  }

  /** How many agents run, those of child sessions among them. */
  get running(): number {
    return this.turns.count + this.children.running;
  }

  /** Whether an agent, a check or a child session runs. */
  get isBusy(): boolean {
    return this.turns.count > 0 || this.#checks.count > 0 || this.children.count > 0;
  }

  /** Whether one runs, or will as soon as its request is durable. */
  get isUnderWay(): boolean {
    return this.isBusy || this.#dispatcher.running > 0 || this.children.isAnyBegun;
  }

  /** Goes on with what an earlier scheduler had begun. */
  begin(waitForPeople: boolean): void {
    this.children.begin(waitForPeople);
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
        return;
      case "open_session":
        // Begun like a turn, when the limits allow.
        return;
      case "withdraw_session":
        this.#door.afterwards(() => this.children.cancel(command.child, command.reason));
    }
  }

  /** Nobody is to change what a check still looks at, nor to be disturbed by one. */
  offer(turn_id: string): void {
    const turn = this.#ledger.turns.get(turn_id);
    if (!turn) return;
    if (turn.subject !== undefined && this.#checks.areUnderWay(turn.subject)) this.#behindChecks.add(turn_id);
    else this.#dispatcher.offer(turn);
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
  #over(id: string): void {
    // One that was held has been offered again by now, and waits.
    if (this.#dispatcher.hasAdmitted(id) && this.#ledger.turns.get(id)?.status !== "open") this.#dispatcher.end(id);
    const waiting = [...this.#behindChecks];
    this.#behindChecks.clear();
    for (const turn_id of waiting) this.offer(turn_id);
  }

  /** The next turn that may start now, which counts as started from here on. */
  admit(): Admission | undefined {
    return this.#dispatcher.admit();
  }

  /** The turn does not start after all, and waits as before. */
  putBack(turn: LedgerTurn): void {
    this.#dispatcher.end(turn.turn_id);
    this.#dispatcher.offer(turn);
  }

  abortAll(): void {
    this.timers.stop();
    this.turns.abortAll();
    this.#checks.abortAll();
    this.children.abortAll();
  }

  /** Ends all of a session that has closed: what an earlier stop left open of its children, too. */
  closeAll(): void {
    this.abortAll();
    this.children.closeLeft();
  }

  /** Settles when no agent, no check and no child session runs any more. */
  async idle(): Promise<void> {
    await Promise.all([this.turns.idle(), this.#checks.idle(), this.children.idle()]);
  }
}
