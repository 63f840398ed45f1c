import type { LedgerTurn } from "../../kernel/ledger.ts";
import { type Seat, suits } from "../../kernel/mode.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Seats } from "./seats.ts";
import { TurnQueue } from "./turn-queue.ts";

/** A turn that may start now: who takes it, and the small number that is its own while it runs. */
export interface Admission {
  readonly turn: LedgerTurn;
  readonly role: Role;
  readonly slot: number;
}

interface Running {
  readonly role: Role;
  readonly slot: number;
  /** Where a seat had been kept for the subject, the turn sits in that one. */
  readonly inReserved: boolean;
}

/**
 * Which offered turn starts next, and who takes it: by priority, and within the seats that are free or kept for subjects that were
 * promised one. Knows seats and subjects, not what the turns are about.
 */
export class Dispatcher {
  readonly #seats: Seats;
  readonly #queue = new TurnQueue();
  readonly #turns = new Map<string, LedgerTurn>();
  readonly #running = new Map<string, Running>();
  readonly #slots = new Set<number>();
  readonly #runningBySubject = new Set<string>();
  readonly #parked = new Map<string, LedgerTurn>();
  /** Seats kept for a subject, and how many of its turns still want them. */
  readonly #reserved = new Map<string, { role: Role; wanted: number }>();
  readonly #wanting = new Set<string>();
  /** Turns whose seat is kept for them already. */
  readonly #seated: LedgerTurn[] = [];

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Whether the turn was admitted and has not ended: its agent runs, or will as soon as its request is durable. */
  hasAdmitted(turn_id: string): boolean {
    return this.#running.has(turn_id);
  }

  /** A subject's next turn waits until nothing runs for it any more, so that no two agents ever work on one thing. */
  offer(turn: LedgerTurn): void {
    this.#turns.set(turn.turn_id, turn);
    if (turn.subject !== undefined && this.#runningBySubject.has(turn.subject)) {
      this.#parked.set(turn.subject, turn);
      return;
    }
    const reserved = turn.subject === undefined ? undefined : this.#reserved.get(turn.subject);
    if (reserved && suits(reserved.role, turn.seat) && reserved.role.role_id !== turn.seat.rather_not) {
      this.#want(turn, reserved);
      this.#seated.push(turn);
      return;
    }
    this.#queue.add(turn);
  }

  /** The turn ended, or is no longer wanted: its seat is free. */
  end(turn_id: string): void {
    const turn = this.#turns.get(turn_id);
    if (!turn) return;
    this.#turns.delete(turn_id);
    const running = this.#running.get(turn_id);
    if (running) {
      this.#running.delete(turn_id);
      this.#slots.delete(running.slot);
      if (!running.inReserved) this.#seats.free(running.role);
      if (turn.subject !== undefined) this.#unpark(turn.subject);
    } else if (turn.subject !== undefined && this.#parked.get(turn.subject) === turn) {
      this.#parked.delete(turn.subject);
    } else {
      const at = this.#seated.indexOf(turn);
      if (at >= 0) this.#seated.splice(at, 1);
      else this.#queue.remove(turn_id);
    }
    if (this.#wanting.delete(turn_id) && turn.subject !== undefined) this.#release(turn.subject);
  }

  /** The next turn that may start, or nothing. Whoever gets one tells `end` when it is over. */
  admit(): Admission | undefined {
    for (const [at, seated] of this.#seated.entries()) {
      const reserved = this.#reserved.get(seated.subject ?? "");
      if (!reserved || !this.#isSeated(reserved, seated.seat)) continue;
      this.#seated.splice(at, 1);
      return this.#start(seated, reserved.role, true);
    }
    const turn = this.#queue.take((first) => this.#fits(first));
    if (!turn) return undefined;
    const role = this.#seats.pick(turn.seat);
    if (!role) throw new Error(`turn ${turn.turn_id} was taken for a seat that nobody can take`);
    this.#seats.take(role);
    if (turn.reserve && turn.subject !== undefined) this.#reserve(turn, turn.reserve, turn.subject);
    return this.#start(turn, role, false);
  }

  /** Whether a turn waits to be given, or for the seat that is to be kept for its subject, that the role could take. */
  wants(role_id: string): boolean {
    const role = this.#seats.roles.find((one) => one.role_id === role_id);
    if (!role) return false;
    for (const { turn_id, seat, reserve } of this.#turns.values()) {
      if (this.#running.has(turn_id)) continue;
      if (suits(role, seat) || (reserve && suits(role, reserve))) return true;
    }
    return false;
  }

  #unpark(subject: string): void {
    this.#runningBySubject.delete(subject);
    const parked = this.#parked.get(subject);
    if (!parked) return;
    this.#parked.delete(subject);
    this.offer(parked);
  }

  #reserve(turn: LedgerTurn, seat: Seat, subject: string): void {
    let reserved = this.#reserved.get(subject);
    if (!reserved) {
      const role = this.#seats.pick(seat);
      if (!role) throw new Error(`turn ${turn.turn_id} was taken without its reserved seat`);
      this.#seats.take(role);
      reserved = { role, wanted: 0 };
      this.#reserved.set(subject, reserved);
    }
    this.#want(turn, reserved);
  }

  /** Whether a kept seat can be taken now; one whose role has been held since goes over to another that is free. */
  #isSeated(reserved: { role: Role }, seat: Seat): boolean {
    const { role } = reserved;
    if (!this.#seats.isHeld(role.role_id)) return true;
    this.#seats.free(role);
    reserved.role = this.#seats.pick(seat) ?? role;
    this.#seats.take(reserved.role);
    return reserved.role !== role;
  }

  #want(turn: LedgerTurn, reserved: { wanted: number }): void {
    reserved.wanted += 1;
    this.#wanting.add(turn.turn_id);
  }

  #start(turn: LedgerTurn, role: Role, inReserved: boolean): Admission {
    let slot = 1;
    while (this.#slots.has(slot)) slot += 1;
    this.#slots.add(slot);
    this.#running.set(turn.turn_id, { role, slot, inReserved });
    if (turn.subject !== undefined) this.#runningBySubject.add(turn.subject);
    return { turn, role, slot };
  }

  #fits({ seat, reserve }: LedgerTurn): boolean {
    return this.#seats.pick(seat) !== undefined && (!reserve || this.#seats.pick(reserve) !== undefined);
  }

  #release(subject: string): void {
    const reserved = this.#reserved.get(subject);
    if (!reserved) return;
    reserved.wanted -= 1;
    if (reserved.wanted > 0) return;
    this.#reserved.delete(subject);
    this.#seats.free(reserved.role);
  }
}
