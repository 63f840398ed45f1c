import { didYouMean } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { openedWith, valuesOf } from "../lookup/state.ts";

/** Whether there is something to release of a role. Failure `usage` for one that the session does not have or that is not held. */
export async function checkRelease(
  reader: StoreReader,
  { session_id }: SessionRow,
  role_id: string,
): Promise<Result<void, Failure>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  const holds = valuesOf(stored.value, "hold");
  // A rate spaces a role's turns by itself; there is nothing of it to let go.
  const held = new Set(holds.filter(({ limit }) => limit?.limit !== "turns_per_minute").map((hold) => hold.role_id));
  if (held.has(role_id)) return ok(undefined);
  const opened = openedWith(reader, session_id);
  const roles = (opened?.roles ?? []).map((role) => role.role_id);
  const quoted = JSON.stringify(role_id);
  const what = roles.includes(role_id)
    ? `The role ${quoted} of ${session_id} is not held.`
    : `The session ${session_id} has no role ${quoted}.${didYouMean(role_id, held.size > 0 ? held : roles)}`;
  const hint = held.size === 0 ? "No role is held." : `Held: ${[...held].join(", ")}.`;
  return err(failure("usage", what, { hint: `${hint} To go on: bosun resume ${session_id}.` }));
}
