import { setTimeout as delay } from "node:timers/promises";
import { canonicalJson } from "../../lib/canonical.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { recordsOf } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { Holder, SessionRow, Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { recordLines } from "../../ui/record-lines.ts";
import { localize, tellNext } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { actorHere } from "../context/program.ts";
import { whyClosed } from "../lookup/resolve.ts";
import { recordAt } from "../lookup/state.ts";
import { validateMessage, type PersonMessage } from "./person-message.ts";

/** How long the owner has to take a word before the command stops looking, in ms; it looks at its inbox many times a second. */
const TAKEN_WITHIN_MS = 5_000;

/** How often the store is asked whether anything has changed, in ms. */
const LOOK_EVERY_MS = 20;

/** What became of a word: its owner took it, nobody runs the session, its owner takes long, or nobody can tell. */
export type Put =
  | { readonly took: "taken"; readonly record: LogRecord | undefined }
  | { readonly took: "waits"; readonly inbox_id: number }
  | { readonly took: "late"; readonly inbox_id: number }
  /** It is kept, and then the store could not be read any more. */
  | { readonly took: "unseen"; readonly inbox_id: number; readonly trouble: Failure };

/**
 * Puts a person's word into a session's inbox and, where somebody runs the session, waits until they took it. Failures: `usage`
 * for a word that cannot stand, `stale` or the session's own reason where its owner refuses it.
 */
export async function putMessage(store: Store, row: SessionRow, word: PersonMessage): Promise<Result<Put, Failure>> {
  const { session_id } = row;
  const wrong = validateMessage(word);
  if (wrong) return err(wrong);
  const id = await store.inbox.put(session_id, { payload_type: word.payload_type, payload: word.payload }, actorHere());
  if (!id.ok) return id;
  const inbox_id = id.value;
  const looked = await catchStorage(async (): Promise<Result<Put, Failure>> => {
    const took = await taken(store, row, inbox_id);
    if (took !== "taken") return ok({ took, inbox_id });
    const refused = whyRefused(store, row, word);
    return refused ? err(refused) : ok({ took, record: recordOfWord(store, row, word) });
  });
  return !looked.ok && isOfStorage(looked.error) ? ok({ took: "unseen", inbox_id, trouble: looked.error }) : looked;
}

/** The same, and says what came of it: what it did and what `holds` from now on, or that it waits, and how the session goes on. */
export async function putToOwner(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  word: PersonMessage,
  holds?: string,
): Promise<Result<number, Failure>> {
  const put = await putMessage(store, row, word);
  return put.ok ? tellPut(context, store, row, put.value, holds) : put;
}

/** What came of a word that was put, in words. */
export async function tellPut(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  value: Put,
  holds?: string,
): Promise<Result<number, Failure>> {
  const { session_id } = row;
  const { out } = context.terminal;
  if (value.took === "waits") {
    // It came too late for a session that was about to close; whoever has a ticket tried again will refuse it.
    const closed = await catchStorage(async () => {
      const now = store.session(session_id);
      return now.ok ? ok(whyClosed(store, now.value)) : now;
    });
    if (closed.ok && closed.value) return err(closed.value);
    out.line(`Kept for ${session_id}, which nobody runs now. It takes effect with:`);
    out.line(`  ${localize(out, `bosun resume ${session_id}`)}`);
    if (!closed.ok) context.terminal.err.line(safeLine(closed.error.message));
    return ok(EXIT_DONE);
  }
  if (value.took !== "taken") {
    out.line(untaken(session_id, value));
    if (value.took === "unseen") context.terminal.err.line(safeLine(value.trouble.message));
    tellNext(out, `bosun status ${session_id}`);
    return ok(EXIT_DONE);
  }
  const { record } = value;
  out.line(`${session_id} took it.`);
  for (const line of record ? recordLines(record) : []) {
    if (record?.record.effects) out.line(`  ${safeLine(line.ticket ?? "-")} ${safeLine(line.text)}`);
  }
  if (holds !== undefined) out.line(holds);
  tellNext(out, `bosun status ${session_id}`);
  return ok(EXIT_DONE);
}

/** What becomes of a word whose owner is there, and is not known to have taken it. */
export function untaken(session_id: string, { took }: Extract<Put, { took: "late" | "unseen" }>): string {
  const why = took === "late" ? "its owner has not taken it yet" : "what its owner made of it cannot be seen";
  return `Kept for ${session_id}; ${why}.`;
}

/** Why the owner refused a word that they took since the session was at this row; undefined if they did not. */
export function whyRefused(reader: StoreReader, row: SessionRow, word: PersonMessage): Failure | undefined {
  const record = recordOfWord(reader, row, word);
  return record?.record.disposition === "refused"
    ? refusalAfter(reader, row.session_id, record.integrity.sequence)
    : undefined;
}

/** Who takes a session's words: who runs it, or its parent, which takes up a child that waits when somebody speaks to it. */
export function ownerOf(reader: StoreReader, { session_id, parent }: SessionRow): Holder | undefined {
  return reader.holder(session_id) ?? (parent === null ? undefined : reader.holder(parent));
}

/** Whether the owner took it within a while; `waits` if there is no owner, or none any more. */
async function taken(store: Store, row: SessionRow, id: number): Promise<"taken" | "waits" | "late"> {
  const { session_id } = row;
  const until = performance.now() + TAKEN_WITHIN_MS;
  let version: number | undefined;
  for (;;) {
    // Asked before the inbox: what its last owner took is taken, be that gone by now.
    const isOwned = ownerOf(store, row) !== undefined;
    const now = store.version();
    if (now !== version && !store.inbox.pending(session_id).some((one) => one.id === id)) return "taken";
    version = now;
    if (!isOwned) return "waits";
    if (performance.now() > until) return "late";
    await delay(LOOK_EVERY_MS);
  }
}

/** The record that the word became: the newest of its type from a person, after those that were there. */
function recordOfWord(reader: StoreReader, row: SessionRow, word: PersonMessage): LogRecord | undefined {
  let found: LogRecord | undefined;
  const said = canonicalJson(word.payload);
  for (const record of recordsOf(reader, row.session_id, row.last_sequence + 1)) {
    const mine = record.source === "user" && record.payload_type === word.payload_type;
    if (mine && canonicalJson(record.payload) === said) found = record;
  }
  return found;
}

/** Why the rules refused it stands in the record after it. */
function refusalAfter(reader: StoreReader, session_id: string, sequence: number): Failure {
  const next = recordAt(reader, session_id, sequence + 1);
  const { message, resolution_hint, code } = next?.payload_type === "error" ? next.payload : {};
  const why = typeof message === "string" ? message : "it does not fit what the session waits for";
  return failure(code === "invalid_plan" ? "invalid_plan" : "stale", `${session_id} refused it: ${why}.`, {
    hint: typeof resolution_hint === "string" ? resolution_hint : `See bosun status ${session_id}.`,
  });
}
