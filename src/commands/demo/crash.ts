import { findProcess } from "../../agents/processes.ts";
import type { ProcessIdentity } from "../../kernel/agent.ts";
import type { LedgerChecks, LedgerTurn } from "../../kernel/ledger.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { RecordedEffect, UnsealedRecord } from "../../protocol/record.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Crash } from "./events.ts";

/** What to do about a promise that was not kept. */
export const REPORT_IT = "This is a bug of Bosun's. Please report it with the log folder of the session.";

/** What was there when the scheduler died: to be held against what is there in the end. */
export interface Wreck {
  readonly told: Crash;
  readonly processes: readonly ProcessIdentity[];
  /** Every record as it was stored, byte for byte. */
  readonly lines: readonly string[];
}

/** A program that a session has started; `id` is that of its turn or of its check. */
interface Started {
  readonly id: string;
  readonly identity: ProcessIdentity;
}

/** The programs of which the session has not recorded that they ended. */
async function startedPrograms(reader: StoreReader, session_id: string): Promise<Started[]> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return [];
  return [...stored.value.rows("process")].map(({ id, value }) => ({
    id,
    identity: value as unknown as ProcessIdentity,
  }));
}

/** Those of them that still run. */
export async function livingPrograms(reader: StoreReader, session_id: string): Promise<Started[]> {
  const started = await startedPrograms(reader, session_id);
  return started.filter(({ identity }) => findProcess(identity) === "alive");
}

/** Looks at what a killed scheduler left: its agents may have died with it, in a sandbox, or live on. */
export async function lookAtWreck(reader: StoreReader, session_id: string, pid: number): Promise<Wreck> {
  const started = await startedPrograms(reader, session_id);
  const lines = [...reader.records(session_id, 1)];
  const left = started.map(({ id, identity }) => {
    const turn = reader.value(session_id, "turn", id) as LedgerTurn | undefined;
    const check = reader.value(session_id, "check", id) as LedgerChecks | undefined;
    return { who: turn?.role_id ?? "a check", ticket_id: (turn ?? check)?.subject ?? null, pid: identity.pid };
  });
  return {
    told: { pid, records: lines.length, done: finished(recordsOf(lines)), left },
    processes: started.map(({ identity }) => identity),
    lines,
  };
}

/** How many of the programs that were at work are no more. */
export function endedSince({ processes }: Wreck): number {
  return processes.filter((identity) => findProcess(identity) === "gone").length;
}

/** A whole session in figures. */
interface Whole {
  readonly tickets: number;
  /** How often a check sent work back. */
  readonly sent_back: number;
}

/**
 * Holds the whole session against what was there when its scheduler died: every record of then is there unchanged, every ticket
 * of the plan was done once, and none that was done then was begun again. Failure `verification_failed` for what is not so.
 */
export function nothingLostOrDoubled(
  reader: Pick<StoreReader, "record" | "records">,
  session_id: string,
  { told, lines }: Pick<Wreck, "told" | "lines">,
): Result<Whole, Failure> {
  const changed = lines.findIndex((line, index) => reader.record(session_id, index + 1) !== line);
  if (changed !== -1) return err(broken(`record ${changed + 1} is not what it was before`));
  const records = recordsOf(reader.records(session_id, 1));
  const again = records
    .slice(lines.length)
    .find(({ payload_type, record }) => payload_type === "turn_request" && told.done.includes(record.ticket_id ?? ""));
  if (again) return err(broken(`the ticket ${again.record.ticket_id} was begun again, which was done before`));
  const done = finished(records);
  const twice = done.find((ticket_id, index) => done.indexOf(ticket_id) !== index);
  if (twice !== undefined) return err(broken(`the ticket ${twice} was done twice`));
  const plan = records.findLast(({ payload_type }) => payload_type === "plan")?.payload.tasks as { task_id: string }[];
  const lost = plan.find(({ task_id }) => !done.includes(task_id));
  if (lost) return err(broken(`the ticket ${lost.task_id} was never done`));
  const sent_back = effectsOf(records).filter(({ event }) => event === "changes_requested").length;
  return ok({ tickets: done.length, sent_back });
}

function finished(records: readonly UnsealedRecord[]): string[] {
  return effectsOf(records).flatMap(({ to, ticket_id }) => (to === "done" ? [ticket_id] : []));
}

function effectsOf(records: readonly UnsealedRecord[]): RecordedEffect[] {
  return records.flatMap(({ record }) => record.effects ?? []);
}

function recordsOf(lines: Iterable<string>): UnsealedRecord[] {
  return [...lines].map((line) => JSON.parse(line) as UnsealedRecord);
}

function broken(what: string): Failure {
  return failure("verification_failed", `After the scheduler was killed, ${what}.`, { hint: REPORT_IT });
}
