import { isHeldAt, isHeldTooLong, stopFor } from "../kernel/holds.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Timers } from "./timers.ts";

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
 * Judges that; `forPeople` says whether somebody is there who could move what only a person can, `wants` whether a turn is offered that
 * a role could take, `childWaits` whether a child session has stopped for a person.
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
    return forPeople ? WAITS : { kind: "stops", with: { reason: "waiting", message: "a person must answer" } };
  }
  if (!first) return { kind: "stuck" };
  // A hold that has no end of its own may be ended by the person who is there, for a while; one that has is not waited for in vain.
  if (forPeople && held.some((hold) => hold.until === undefined && !isHeldTooLong(ledger, hold, now))) return WAITS;
  return { kind: "stops", with: stopFor(ledger, first, now) };
}
