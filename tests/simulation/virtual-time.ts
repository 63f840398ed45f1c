import { type Instant, instant } from "../../src/protocol/timestamp.ts";
import { Heap, type HeapEntry } from "../../src/lib/heap.ts";
import { type Random, randomOf } from "./random.ts";

const MIDNIGHT = Date.UTC(2026, 0, 1);

/** The paces at which a session looks at the inbox and at the clocks: what sets itself again so is such a look. */
const PACES: ReadonlySet<number> = new Set([150, 5000]);

interface Due extends HeapEntry {
  at: number;
  readonly chance: number;
  readonly order: number;
  readonly run: () => void;
  readonly pace: number;
  /** How many events there had been when it was set. */
  readonly since: number;
  heap: Heap<Due>;
}

/**
 * Time in which nothing waits: the next event happens at once, whenever it is due. Of events that are due together the seed says
 * which is first. The wall clock is apart from it and can jump.
 */
export class VirtualTime {
  readonly #random: Random;
  readonly #events = new Heap<Due>(goesBefore);
  readonly #looks = new Heap<Due>(goesBefore);
  #order = 0;
  #happened = 0;
  #running: Due | undefined;
  /** What the look that is running has set for its own pace: itself, and that comes last. */
  #again: Due | undefined;
  /** Milliseconds since the beginning; stands still while the machine sleeps. */
  at = 0;
  #wall = MIDNIGHT;
  #slept = 0;

  constructor(seed: number) {
    this.#random = randomOf(seed, "order of events");
  }

  now(): Instant {
    return instant(this.#wall + this.at);
  }

  /** Since the machine was started, its sleep included. */
  get uptime(): number {
    return this.at + this.#slept;
  }

  /** The wall clock is set. */
  jump(ms: number): void {
    this.#happened += 1;
    this.#wall += ms;
  }

  /** The machine sleeps: time passes, and no event comes nearer. */
  sleep(ms: number): void {
    this.#happened += 1;
    this.#wall += ms;
    this.#slept += ms;
  }

  /** Something that happens `delay_ms` from now; the returned function takes it back. */
  after(delay_ms: number, run: () => void): () => void {
    const isLook = PACES.has(delay_ms) && this.#running?.pace === delay_ms;
    const due: Due = {
      at: this.at + Math.max(0, Math.round(delay_ms)),
      chance: this.#random.next(),
      order: this.#order++,
      run,
      pace: delay_ms,
      since: this.#happened,
      position: -1,
      heap: isLook ? this.#looks : this.#events,
    };
    if (isLook && this.#again) this.#isNoLook(this.#again);
    if (isLook) this.#again = due;
    due.heap.add(due);
    return () => remove(due);
  }

  /** An alarm that a look has set may be just as far away. */
  #isNoLook(due: Due): void {
    if (due.position < 0) return;
    remove(due);
    due.heap = this.#events;
    due.heap.add(due);
  }

  /** Makes the next event happen. False if none will ever be. */
  step(): boolean {
    const event = this.#events.first();
    if (event) this.#skipLooks(event.at);
    const look = this.#looks.first();
    if (!event && (!look || look.since === this.#happened)) return false;
    const next = !event || (look && goesBefore(look, event)) ? (look as Due) : event;
    remove(next);
    this.at = Math.max(this.at, next.at);
    if (next === event) this.#happened += 1;
    this.#running = next;
    this.#again = undefined;
    next.run();
    this.#running = undefined;
    return true;
  }

  /** A look that follows another with nothing in between finds nothing, so time passes over it. */
  #skipLooks(until: number): void {
    for (let look = this.#looks.first(); look; look = this.#looks.first()) {
      if (look.since !== this.#happened || look.at + look.pace > until) return;
      this.#looks.remove(look);
      look.at += Math.floor((until - look.at) / look.pace) * look.pace;
      this.#looks.add(look);
    }
  }
}

function remove(due: Due): void {
  if (due.position < 0) return;
  due.heap.remove(due);
  due.position = -1;
}

function goesBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && (a.chance < b.chance || (a.chance === b.chance && a.order < b.order)));
}
