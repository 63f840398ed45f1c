import { isHeldAt, isHeldTooLong, stopFor } from "../kernel/holds.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { SessionDoor } from "./door.ts";
import { type LimitReached, limitsOf, outOfTime } from "./admission/limits.ts";
import type { Clock } from "./time/clock.ts";
import type { Timers } from "./time/timers.ts";
import type { Workload } from "./workload.ts";

interface RestingParts {
  readonly engine: { readonly ledger: Ledger };
  readonly config: ResolvedConfiguration;
  readonly clock: Clock;
}

/** What a session does when nothing is left to write: what goes on is waited for, and where nothing does the session ends. */
export class IdlePolicy {
  readonly #parts: RestingParts;
  readonly #work: Workload;
  readonly #door: SessionDoor;
  #stuck = false;
  /** Takes back the alarm for the end of the session's time. */
  #cancel: (() => void) | undefined;

  constructor(parts: RestingParts, work: Workload, door: SessionDoor) {
    this.#parts = parts;
    this.#work = work;
    this.#door = door;
  }

  /** `begun` is the monotonic clock's reading when the scheduler began, `forPeople` whether somebody is there who is waited for. */
  look(begun: number, forPeople: boolean): void {
    const { timers, children } = this.#work;
    timers.arm();
    if (this.#work.isBusy) return;
    const { engine, clock } = this.#parts;
    const wants = (role_id: string) => this.#work.wants(role_id);
    const rest = restOf(engine.ledger, timers, clock.now(), forPeople, wants, children.isWaiting);
    // When the session's time is up there is nothing left to wait for. A pause is a person's to end, also that of a child.
    const late = rest.kind === "waits" && !engine.ledger.figures.paused ? this.#late(begun) : undefined;
    if (late) this.#door.stop("limit", late.message, late.details);
    else if (rest.kind === "stops") {
      const { reason, message, limit } = rest.with;
      this.#door.stop(reason, message, { ...limit });
    } else if (rest.kind === "stuck") {
      if (this.#stuck) throw new Error("the mode neither goes on nor finishes after no_progress");
      this.#stuck = true;
      const payload = { reason: "no_progress", message: "nothing is open and nothing is finished" };
      this.#door.submit({ source: "scheduler", payload_type: "session_stopped", payload });
    }
  }

  /** The limit, if the session's time is up; if it is not, makes sure to look again when it is. Where a turn is given it is looked at anyway. */
  #late(begun: number): LimitReached | undefined {
    const { engine, config, clock } = this.#parts;
    this.stop();
    const { wall_s } = limitsOf(engine.ledger.figures, config);
    if (wall_s === undefined) return undefined;
    const awake_ms = clock.monotonic() - begun;
    const late = outOfTime(awake_ms, wall_s);
    if (!late) this.#cancel = clock.after(wall_s * 1000 - awake_ms, () => this.#door.schedule());
    return late;
  }

  stop(): void {
    this.#cancel?.();
  }
}

/** What a session comes to that has nothing left to write and nobody at work. */
export type Rest =
  /** Something will wake it, or somebody may. */
  | { readonly kind: "waits" }
  /** Nothing is open and nothing is finished, which no mode may let happen. */
  | { readonly kind: "stuck" }
  | {
      readonly kind: "stops";
      readonly with: Pick<Extract<Command, { do: "stop_session" }>, "reason" | "message" | "limit">;
    };

const WAITS: Rest = { kind: "waits" };

/**
 * Judges that. `forPeople`: somebody is there who could move what only a person can. `wants`: whether a turn is offered that the
 * role could take. `childWaits`: a child session has stopped for a person.
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
  // Of a role that the session does not want it makes no difference whether it is held.
  const standing = [...ledger.holds.values()].filter((hold) => isHeldAt(hold, now) && wants(hold.role_id));
  const held = standing.filter(({ limit }) => limit === undefined);
  const spent = standing.filter(({ limit }) => limit !== undefined);
  // Rows come back in another order: of several spent budgets always the same one is named.
  const [first = spent.toSorted((a, b) => (a.role_id < b.role_id ? -1 : 1))[0]] = held;
  if (ledger.asks.size > 0 || childWaits) {
    const message = ledger.asks.size > 0 ? "a person must answer" : "a child session waits for a person";
    return forPeople ? WAITS : { kind: "stops", with: { reason: "waiting", message } };
  }
  if (!first) return { kind: "stuck" };
  // The person who is there may end a hold that has no end of its own, for a while. One that has an end, but too late, nobody waits for.
  if (forPeople && held.some((hold) => hold.until === undefined && !isHeldTooLong(ledger, hold, now))) return WAITS;
  return { kind: "stops", with: stopFor(ledger, first, now) };
}
