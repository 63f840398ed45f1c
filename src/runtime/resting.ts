import { stopFor } from "../kernel/holds.ts";
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

/** Judges that; `forPeople` says whether somebody is there who could move what only a person can. */
export function restOf(ledger: Ledger, timers: Timers, now: Instant, forPeople: boolean): Rest {
  if (ledger.figures.paused || timers.willWake) return WAITS;
  const held = [...ledger.holds.values()].filter((hold) => timers.isHeld(hold.role_id));
  const [first] = held;
  if (ledger.asks.size > 0) {
    return forPeople ? WAITS : { kind: "stops", with: { reason: "waiting", message: "a person must answer" } };
  }
  if (!first) return { kind: "stuck" };
  // A hold that has no end of its own may be ended by the person who is there; one that has is not waited for in vain.
  if (forPeople && held.some((hold) => hold.until === undefined)) return WAITS;
  return { kind: "stops", with: stopFor(ledger, first, now) };
}
