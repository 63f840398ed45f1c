import { isHeldAt, isHeldTooLong, stopFor } from "../kernel/holds.ts";
import { waitsForOutsiders } from "../kernel/kit/holder.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { type LimitReached, limitsOf, outOfTime } from "./admission/limits.ts";
import type { SessionContext } from "./context.ts";
import type { Timers } from "./time/timers.ts";
import type { Workload } from "./workload.ts";

/** Decides whether a session with nothing left to write stops, or waits for what runs or will wake it. */
export class IdlePolicy {
  readonly #context: SessionContext;
  readonly #workload: Workload;
  readonly #wallTime: WallTime;
  #stuck = false;

  constructor(context: SessionContext, workload: Workload) {
    this.#context = context;
    this.#workload = workload;
    this.#wallTime = new WallTime(context);
  }

  /** `began` is the reading of the monotonic clock when the scheduler began. `forPeople`: a person may still answer. */
  look(began: number, forPeople: boolean): void {
    const { timers, children } = this.#workload;
    timers.arm();
    const { ledger, clock } = this.#context;
    // Only a person ends a pause.
    const late = ledger.figures.paused ? undefined : this.#wallTime.look(began);
    // No person is there to give the permissions that agents wait for: their turns end with the session, and are repeated.
    const isWaiting = !forPeople && this.#workload.onlyWaits;
    if (this.#workload.isBusy && !isWaiting) {
      if (late?.graceIsOver) this.#context.stop("limit", late.message, late.details);
      return;
    }
    const wants = (role_id: string) => this.#workload.wants(role_id);
    const rest = restOf(ledger, timers, clock.now(), forPeople, wants, children.isWaiting);
    if (rest.kind === "waits" && late) this.#context.stop("limit", late.message, late.details);
    else if (rest.kind === "stops") {
      const { reason, message, limit } = rest.with;
      this.#context.stop(reason, message, { ...limit });
    } else if (rest.kind === "stuck") {
      if (this.#stuck) throw new Error("the mode neither goes on nor finishes after no_progress");
      this.#stuck = true;
      const payload = { reason: "no_progress", message: "nothing is open and nothing is finished" };
      this.#context.submit({ source: "scheduler", payload_type: "session_stopped", payload });
    }
  }

  stop(): void {
    this.#wallTime.stop();
  }
}

/** The verdict on a session with nothing to write and nothing running. */
export type Rest =
  /** A timer will wake it, or a person may. */
  | { readonly kind: "waits" }
  /** Nothing is open and nothing is finished: a bug of the mode. */
  | { readonly kind: "stuck" }
  | {
      readonly kind: "stops";
      readonly with: Pick<Extract<Command, { do: "stop_session" }>, "reason" | "message" | "limit">;
    };

const WAITS: Rest = { kind: "waits" };

/**
 * `forPeople`: a person may still act. `wants`: whether a turn is offered that the role could take. `childWaits`: a
 * child session has stopped for a person.
 */
export function restOf(
  ledger: Ledger,
  timers: Timers,
  now: Instant,
  forPeople: boolean,
  wants: (role_id: string) => boolean,
  childWaits: boolean,
): Rest {
  if (ledger.figures.paused || timers.willWake(wants)) return WAITS;
  // Holds of roles that no offered turn needs do not count.
  const standing = [...ledger.holds.values()].filter((hold) => isHeldAt(hold, now) && wants(hold.role_id));
  const held = standing.filter(({ limit }) => limit === undefined);
  const spent = standing.filter(({ limit }) => limit !== undefined);
  // Rows are read back in any order; sorting always selects the same spent budget.
  const [first = spent.toSorted((a, b) => (a.role_id < b.role_id ? -1 : 1))[0]] = held;
  if (ledger.asks.size > 0 || childWaits) {
    const message = ledger.asks.size > 0 ? "a person must answer" : "a child session waits for a person";
    return forPeople ? WAITS : { kind: "stops", with: { reason: "waiting", message } };
  }
  if (!first && waitsForOutsiders(ledger))
    return forPeople ? WAITS : { kind: "stops", with: { reason: "waiting", message: "those who take part must act" } };
  if (!first) return { kind: "stuck" };
  // A person may release a hold without an end. Do not wait for a hold that ends too late.
  if (forPeople && held.some((hold) => hold.until === undefined && !isHeldTooLong(ledger, hold, now))) return WAITS;
  return { kind: "stops", with: stopFor(ledger, first, now) };
}

/** The session's time is up. Turns in flight have `kill_grace_s` to answer. */
interface TimeUp extends LimitReached {
  readonly graceIsOver: boolean;
}

/** Wakes the session when its wall time is up, and when the grace after it is over. */
class WallTime {
  readonly #context: SessionContext;
  /** When the alarm goes off, in awake ms. */
  #next: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** The limit, if the time is up. `began` is the reading of the monotonic clock when the scheduler began. */
  look(began: number): TimeUp | undefined {
    const { ledger, config, clock } = this.#context;
    const { wall_s } = limitsOf(ledger.figures, config);
    const awake_ms = clock.monotonic() - began;
    const ends = wall_s === undefined ? [] : [wall_s * 1000, (wall_s + config.kill_grace_s) * 1000];
    this.#ringAt(
      ends.find((end) => awake_ms < end),
      awake_ms,
    );
    const limit = wall_s === undefined ? undefined : outOfTime(awake_ms, wall_s);
    return limit && { ...limit, graceIsOver: this.#next === undefined };
  }

  stop(): void {
    this.#cancel?.();
    this.#next = undefined;
  }

  /** Called whenever the session rests, mostly for the alarm that is already set. */
  #ringAt(next: number | undefined, awake_ms: number): void {
    if (next === this.#next) return;
    this.stop();
    this.#next = next;
    if (next === undefined) return;
    this.#cancel = this.#context.clock.after(next - awake_ms, () => {
      this.#next = undefined;
      this.#context.schedule();
    });
  }
}
