import type { LedgerTurn } from "../../kernel/ledger.ts";
import { type Seat, suits } from "../../kernel/mode.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Seats } from "./seats.ts";
import { TurnQueue } from "./turn-queue.ts";

/** A turn that may start now, the role that takes it, and a small number that is unique among running turns. */
export interface Admission {
  readonly turn: LedgerTurn;
  readonly role: Role;
  readonly slot: number;
}

interface SeatedTurn {
  readonly role: Role;
  readonly slot: number;
  /** Whether the turn sits in the seat reserved for its subject. */
  readonly inReserved: boolean;
  /** Whether it waits for a person, so that others may use its seat. */
  readonly waits?: boolean;
}

/** Chooses the next turn and its role: by priority, in a free seat or in one reserved for the turn's subject. */
export class Dispatcher {
  readonly #seats: Seats;
  readonly #queue = new TurnQueue();
  readonly #turns = new Map<string, LedgerTurn>();
  readonly #running = new Map<string, SeatedTurn>();
  readonly #slots = new Set<number>();
  readonly #runningBySubject = new Set<string>();
  readonly #parked = new Map<string, LedgerTurn>();
  /** By subject: the role of its reserved seat, and the number of its turns that still want it. */
  readonly #reserved = new Map<string, { role: Role; wanted: number }>();
  readonly #wanting = new Set<string>();
  /** Turns that wait for the reserved seat of their subject. */
  readonly #seated: LedgerTurn[] = [];

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Whether the turn was admitted and has not ended: its agent runs, or starts once the request is durable. */
  hasAdmitted(turn_id: string): boolean {
    return this.#running.has(turn_id);
  }

  /** Queues a turn. It waits while another turn of its subject runs, so no two agents work on one subject. */
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

  /** Frees the seat of a turn that ended, or drops one that is no longer wanted. Ignores unknown ids. */
  end(turn_id: string): void {
    const turn = this.#turns.get(turn_id);
    if (!turn) return;
    this.proceed(turn_id);
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

  /** Lends out the seat of a turn that waits for a person, unless its role may have no other turn meanwhile. */
  lend(turn_id: string): void {
    const running = this.#running.get(turn_id);
    if (!running || running.waits || !this.#seats.hasSeveral(running.role)) return;
    this.#seats.free(running.role);
    this.#running.set(turn_id, { ...running, waits: true });
  }

  /** Continues the turn in its seat, even if another has it now. */
  proceed(turn_id: string): void {
    const running = this.#running.get(turn_id);
    if (!running?.waits) return;
    this.#seats.take(running.role);
    this.#running.set(turn_id, { ...running, waits: false });
  }

  /** Takes the next turn that may start. The caller must call `end` when it is over. */
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
    if (!role) throw new Error(`turn ${turn.turn_id} was taken for a seat that no role can take`);
    this.#seats.take(role);
    if (turn.reserve && turn.subject !== undefined) this.#reserve(turn, turn.reserve, turn.subject);
    return this.#start(turn, role, false);
  }

  /** Whether a waiting turn could use the role, for itself or for the seat it reserves. */
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

  /** Whether a reserved seat can be taken now. If its role is held, the reservation moves to another free role. */
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
