import { findProcess } from "../../agents/processes.ts";
import type { ProcessIdentity } from "../../kernel/agent.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { StoreReader } from "../../store/store.ts";

/** How often it is looked whether a worker's program runs, in ms: much less than any of them lives. */
const LOOK_EVERY_MS = 5;

/**
 * The point at which the demo kills its scheduler: one ticket is done, and the worker of another has just begun. One that began
 * earlier may be about to end, and then nothing would be left to be taken care of.
 */
export interface KillPoint {
  record(record: UnsealedRecord): void;
  /** Looks no more. */
  over(): void;
}

/** Waits for that point in a session's records and calls `strike` there, once. */
export function watchForKillPoint(reader: Pick<StoreReader, "value">, strike: () => void): KillPoint {
  let any_done = false;
  const at_work = new Set<string>();
  const look = (session_id: string) => {
    if (![...at_work].some((turn_id) => runs(reader, session_id, turn_id))) return;
    over();
    strike();
  };
  let timer: NodeJS.Timeout | undefined;
  const over = () => clearInterval(timer);
  return {
    record({ session_id, payload_type, payload, record }) {
      timer ??= setInterval(() => look(session_id), LOOK_EVERY_MS);
      const { turn_id } = record;
      if (record.effects?.some(({ to }) => to === "done")) any_done = true;
      if (turn_id === undefined) return;
      if (payload_type === "turn_request" && any_done && asksForWork(payload)) at_work.add(turn_id);
      else if (payload_type === "turn_failed" || (payload_type === "report" && payload.status !== "progress"))
        at_work.delete(turn_id);
    },
    over,
  };
}

function asksForWork(request: JsonObject): boolean {
  return (request.message as JsonObject | undefined)?.payload_type === "instruction";
}

/** Whether the turn's program is there at this moment: its identity is stored before it is given anything to do. */
function runs(reader: Pick<StoreReader, "value">, session_id: string, turn_id: string): boolean {
  const identity = reader.value(session_id, "process", turn_id);
  return identity !== undefined && findProcess(identity as unknown as ProcessIdentity) === "alive";
}
