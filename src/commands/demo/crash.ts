import { findProcess } from "../../agents/processes.ts";
import type { ProcessIdentity } from "../../kernel/agent.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Crash } from "./events.ts";

/** What was there when the scheduler died: to be held against what is there in the end. */
export interface Wreck {
  readonly told: Crash;
  readonly processes: readonly ProcessIdentity[];
  /** Every record as it was stored, byte for byte. */
  readonly lines: readonly string[];
}

/** A stored record with its number. */
export interface NumberedRecord {
  readonly sequence: number;
  readonly record: UnsealedRecord;
}

/** Every record of a session from one on. */
export function recordsFrom(reader: StoreReader, session_id: string, from: number): NumberedRecord[] {
  return [...reader.records(session_id, from)].map((line, index) => ({
    sequence: from + index,
    record: JSON.parse(line) as UnsealedRecord,
  }));
}

/** The programs of agents that the session knows of and that still run. */
export async function livingAgents(
  reader: StoreReader,
  session_id: string,
): Promise<{ turn_id: string; identity: ProcessIdentity }[]> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return [];
  return [...stored.value.rows("process")]
    .map(({ id, value }) => ({ turn_id: id, identity: value as unknown as ProcessIdentity }))
    .filter(({ identity }) => findProcess(identity) === "alive");
}

/** Looks at what a killed scheduler left. */
export async function lookAtWreck(reader: StoreReader, session_id: string, pid: number): Promise<Wreck> {
  const living = await livingAgents(reader, session_id);
  const lines = [...reader.records(session_id, 1)];
  const records = recordsFrom(reader, session_id, 1).map(({ record }) => record);
  const left = living.map(({ turn_id, identity }) => {
    const asked = records.findLast(
      (record) => record.payload_type === "turn_request" && record.record.turn_id === turn_id,
    );
    return { role_id: asked?.target ?? "?", ticket_id: asked?.record.ticket_id ?? null, pid: identity.pid };
  });
  return {
    told: { pid, records: lines.length, done: finished(records), left },
    processes: living.map(({ identity }) => identity),
    lines,
  };
}

/** How many of the programs that a scheduler left are no more. */
export function endedSince({ processes }: Wreck): number {
  return processes.filter((identity) => findProcess(identity) === "gone").length;
}

/**
 * Holds the whole session against what was there when its scheduler died: every record of then is there unchanged, every ticket
 * was done once, and none that was done then was begun again. Failure `verification_failed` for what is not so.
 */
export function nothingLostOrDoubled(
  reader: StoreReader,
  session_id: string,
  { told, lines }: Wreck,
): Result<{ tickets: number }, Failure> {
  const changed = lines.findIndex((line, index) => reader.record(session_id, index + 1) !== line);
  if (changed !== -1) return err(broken(`record ${changed + 1} is not what it was before the scheduler was killed`));
  const later = recordsFrom(reader, session_id, lines.length + 1).map(({ record }) => record);
  const again = later.find(
    ({ payload_type, record }) => payload_type === "turn_request" && told.done.includes(record.ticket_id ?? ""),
  );
  if (again)
    return err(
      broken(`the ticket ${again.record.ticket_id} was done before the scheduler was killed, and was begun again`),
    );
  const all = [...told.done, ...finished(later)];
  const twice = all.find((ticket_id, index) => all.indexOf(ticket_id) !== index);
  if (twice !== undefined) return err(broken(`the ticket ${twice} was done twice`));
  const planned = lines
    .map((line) => JSON.parse(line) as UnsealedRecord)
    .findLast(({ payload_type }) => payload_type === "plan");
  const tasks = Array.isArray(planned?.payload.tasks) ? (planned.payload.tasks as { task_id: string }[]) : [];
  const lost = tasks.find(({ task_id }) => !all.includes(task_id));
  if (lost) return err(broken(`the ticket ${lost.task_id} was never done`));
  return ok({ tickets: all.length });
}

function finished(records: readonly UnsealedRecord[]): string[] {
  return records.flatMap(({ record }) =>
    (record.effects ?? []).filter(({ to }) => to === "done").map(({ ticket_id }) => ticket_id),
  );
}

function broken(what: string): Failure {
  return failure("verification_failed", `After the scheduler was killed, ${what}.`, {
    hint: "This is a bug of Bosun's. Please report it with the log folder of the session.",
  });
}
