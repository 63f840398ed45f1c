import { type Instant, instant } from "../../src/protocol/timestamp.ts";
import { Heap, type HeapEntry } from "../../src/lib/heap.ts";
import { type Random, randomOf } from "./random.ts";

const MIDNIGHT = Date.UTC(2026, 0, 1);

/** The intervals at which a session polls the inbox and the clocks. A timer that sets itself again after one of them is a poll. */
const POLL_INTERVALS_MS: ReadonlySet<number> = new Set([150, 5000]);

interface Due extends HeapEntry {
  at: number;
  readonly chance: number;
  readonly order: number;
  readonly run: () => void;
  readonly interval: number;
  /** The number of events before it was set. */
  readonly since: number;
  heap: Heap<Due>;
}

/**
 * Virtual time: the next event happens at once, whenever it is due. The seed decides the order of events that are due together.
 * The wall clock is separate and can jump.
 */
export class VirtualTime {
  readonly #random: Random;
  readonly #events = new Heap<Due>(goesBefore);
  readonly #polls = new Heap<Due>(goesBefore);
  #order = 0;
  #happened = 0;
  #running: Due | undefined;
  /** The timer that the running poll has set for its next time. */
  #again: Due | undefined;
  /** Milliseconds since the beginning, without the time that the machine slept. */
  at = 0;
  #wall = MIDNIGHT;
  #slept = 0;

  constructor(seed: number) {
    this.#random = randomOf(seed, "order of events");
  }

  now(): Instant {
    return instant(this.#wall + this.at);
  }

  /** Milliseconds since the beginning, with the time that the machine slept. */
  get uptime(): number {
    return this.at + this.#slept;
  }

  /** Sets the wall clock. */
  jump(ms: number): void {
    this.#happened += 1;
    this.#wall += ms;
  }

  /** The machine sleeps: the clocks go on, and no event comes nearer. */
  sleep(ms: number): void {
    this.#happened += 1;
    this.#wall += ms;
    this.#slept += ms;
  }

  /** Runs something `delay_ms` from now. The returned function cancels it. */
  after(delay_ms: number, run: () => void): () => void {
    const isPoll = POLL_INTERVALS_MS.has(delay_ms) && this.#running?.interval === delay_ms;
    const due: Due = {
      at: this.at + Math.max(0, Math.round(delay_ms)),
      chance: this.#random.next(),
      order: this.#order++,
      run,
      interval: delay_ms,
      since: this.#happened,
      position: -1,
      heap: isPoll ? this.#polls : this.#events,
    };
    if (isPoll && this.#again) this.#countAsEvent(this.#again);
    if (isPoll) this.#again = due;
    due.heap.add(due);
    return () => remove(due);
  }

  /** Counts a timer as an event after all: a poll sets only one timer for its next time, the last one. */
  #countAsEvent(due: Due): void {
    if (due.position < 0) return;
    remove(due);
    due.heap = this.#events;
    due.heap.add(due);
  }

  /** Runs the next event. False if there is none. */
  step(): boolean {
    const event = this.#events.first();
    if (event) this.#skipPolls(event.at);
    const poll = this.#polls.first();
    if (!event && (!poll || poll.since === this.#happened)) return false;
    const next = !event || (poll && goesBefore(poll, event)) ? (poll as Due) : event;
    remove(next);
    this.at = Math.max(this.at, next.at);
    if (next === event) this.#happened += 1;
    this.#running = next;
    this.#again = undefined;
    next.run();
    this.#running = undefined;
    return true;
  }

  /** Skips polls that follow another poll without an event in between: they find nothing. */
  #skipPolls(until: number): void {
    for (let poll = this.#polls.first(); poll; poll = this.#polls.first()) {
      if (poll.since !== this.#happened || poll.at + poll.interval > until) return;
      this.#polls.remove(poll);
      poll.at += Math.floor((until - poll.at) / poll.interval) * poll.interval;
      this.#polls.add(poll);
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
