import type { JsonObject } from "../../src/lib/json.ts";
import type { Ticket } from "../../src/modes/schedule/state.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import type { World } from "./world.ts";

/** Failures that are no attempts, or that nothing follows. */
const NO_ATTEMPT = new Set(["rate_limited", "authentication", "trust", "unavailable", "cancelled", "budget_exhausted"]);

/** Records about a ticket between two failures of its worker that leave them in a row. */
const IN_A_ROW = new Set(["turn_request", "timer_fired", "turn_failed"]);

/** The latest failure of each ticket, as long as nothing else happened to the ticket. */
const failures = new WeakMap<World, Map<string, string>>();

/** By turn: the attempt of its run that an outage ended. */
const lost = new WeakMap<World, Map<string, unknown>>();

/** Checks that an outage moves no ticket, and that the turn that it ended is given again in the same attempt. */
function checkOutage(
  world: World,
  session_id: string,
  payload_type: string,
  payload: JsonObject,
  record: JsonObject,
): void {
  const turns = lost.get(world) ?? new Map<string, unknown>();
  lost.set(world, turns);
  const turn = JSON.stringify([session_id, record["turn_id"]]);
  if (payload_type === "turn_request" && turns.has(turn)) {
    const seen = JSON.stringify([turn, record["attempt"], turns.get(turn)]);
    if (record["attempt"] !== turns.get(turn)) world.violated("an outage spends no attempt", seen);
    turns.delete(turn);
  }
  if (payload_type !== "turn_failed" || payload["code"] !== "unavailable" || record["disposition"] !== "applied")
    return;
  if (record["effects"] !== undefined) world.violated("an outage moves no ticket", turn);
  turns.set(turn, record["attempt"]);
}

/** Checks that no ticket has more attempts than allowed, and that a worker that fails twice in the same way is not simply tried again. */
export function checkAttempts(world: World, { session_id }: Lease, { changes, records }: Commit): void {
  const rows = new Map<string, Ticket>();
  for (const change of changes) {
    if (!("put" in change) || change.put !== "ticket") continue;
    const ticket = change.value as unknown as Ticket;
    rows.set(change.id, ticket);
    const attempts = ticket.attempt - (ticket.attempts_before ?? 0);
    const most = world.scenario.config.max_attempts;
    if (attempts > most) world.violated("no more attempts than max_attempts", `${change.id}: ${attempts} of ${most}`);
  }
  const seen = failures.get(world) ?? new Map<string, string>();
  failures.set(world, seen);
  for (const { line } of records) {
    const { payload_type, payload, record } = JSON.parse(line) as { payload_type: string } & Record<
      "payload" | "record",
      JsonObject
    >;
    checkOutage(world, session_id, payload_type, payload, record);
    const id = record["ticket_id"];
    if (typeof id !== "string" || record["disposition"] !== "applied") continue;
    const key = `${session_id} ${id}`;
    if (!IN_A_ROW.has(payload_type)) seen.delete(key);
    const stopped = JSON.stringify(record["effects"] ?? []).includes('"work_stopped"');
    if (payload_type !== "turn_failed" || !stopped || NO_ATTEMPT.has(payload["code"] as string)) continue;
    const { code, message, details, refused } = payload;
    const failure = JSON.stringify([code, message, details, refused]);
    const isRetried = rows.get(id)?.waits_for?.startsWith("retry:") === true;
    if (seen.get(key) === failure && isRetried) {
      world.violated("a worker that fails the same way twice is not tried again", `${id}: ${failure}`);
    }
    seen.set(key, failure);
  }
}
