import { setTimeout as delay } from "node:timers/promises";
import { canonicalJson } from "../../lib/canonical.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { checkSession } from "../../runtime/replayed-state.ts";
import { recordsOf } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { Holder, SessionRow, Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { recordLines } from "../../ui/record-lines.ts";
import { localize, tellNext, wordsOf } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { actorHere } from "../context/program.ts";
import { loadMode } from "../lookup/modes.ts";
import { whyClosed } from "../lookup/resolve.ts";
import { recordAt } from "../lookup/state.ts";
import { validateMessage, type PersonMessage } from "./person-message.ts";

/** How long the command waits for the owner to take a message, in ms. The owner polls its inbox many times a second. */
const TAKEN_WITHIN_MS = 5_000;

/** How often the store is polled for changes, in ms. */
const LOOK_EVERY_MS = 20;

/** The outcome of a message in the inbox. */
export type Put =
  | { readonly took: "taken"; readonly record: LogRecord | undefined }
  /** The session has no owner. */
  | { readonly took: "waits"; readonly inbox_id: number }
  /** The owner has not taken it yet, or the store could not be read to find out (`trouble`). */
  | { readonly took: "late"; readonly inbox_id: number; readonly trouble?: Failure };

/**
 * Puts a person's message into a session's inbox and waits until the owner, if there is one, takes it. Failures: `usage` for a malformed
 * message, `stale` or the session's own reason if the owner refuses it. Throws a `StorageError` for an approval of what was changed.
 */
export async function putMessage(store: Store, row: SessionRow, message: PersonMessage): Promise<Result<Put, Failure>> {
  const { session_id } = row;
  const wrong = validateMessage(message);
  if (wrong) return err(wrong);
  const { payload_type, payload } = message;
  if (payload_type === "approval") await checkSession(store, row, await loadMode(row.mode));
  const id = await store.inbox.put(session_id, { payload_type, payload }, actorHere());
  if (!id.ok) return id;
  const inbox_id = id.value;
  const outcome = await catchStorage(async (): Promise<Result<Put, Failure>> => {
    const took = await waitForOwner(store, row, inbox_id);
    if (took !== "taken") return ok({ took, inbox_id });
    const record = recordOf(store, row, message);
    const refused = refusalOf(store, record);
    return refused ? err(refused) : ok({ took, record });
  });
  return !outcome.ok && isOfStorage(outcome.error) ? ok({ took: "late", inbox_id, trouble: outcome.error }) : outcome;
}

/** Waits until the owner takes a late message, or until `over`. Returns the reason if it was refused. Throws a `StorageError`. */
export async function lateRefusal(
  store: Store,
  row: SessionRow,
  message: PersonMessage,
  inbox_id: number,
  over: AbortSignal,
): Promise<Failure | undefined> {
  while (!over.aborted && isPending(store, row, inbox_id))
    await delay(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => {});
  return refusalOf(store, recordOf(store, row, message));
}

/** Puts a message and reports its outcome: what it changed and what `holds` from now on; or that it waits, and what to type next. */
export async function putToOwner(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  message: PersonMessage,
  holds?: string,
): Promise<Result<number, Failure>> {
  const put = await putMessage(store, row, message);
  return put.ok ? tellPut(context, store, row, message, put.value, holds) : put;
}

/** Reports the outcome of a message. `usage` if the session closed before it could take it. */
export async function tellPut(
  { terminal: { out, err: messages } }: CommandContext,
  store: Store,
  row: SessionRow,
  message: PersonMessage,
  put: Put,
  holds?: string,
): Promise<Result<number, Failure>> {
  const { session_id } = row;
  if (put.took === "waits") {
    const closed = await catchStorage(async () => {
      const now = store.session(session_id);
      return now.ok ? ok(whyClosed(store, now.value)) : now;
    });
    if (closed.ok && closed.value) return err(closed.value);
    out.line(`Kept for ${session_id}, which is not running. It takes effect with:`);
    out.line(`  ${localize(out, `bosun resume ${session_id}`)}`);
    if (!closed.ok) messages.line(safeLine(closed.error.message));
    return ok(EXIT_DONE);
  }
  if (put.took === "taken") {
    out.line(doneSentence(message));
    const { record } = put;
    if (record?.record.effects)
      for (const line of recordLines(record)) out.line(`  ${safeLine(line.ticket ?? "-")} ${safeLine(line.text)}`);
    if (holds !== undefined) out.line(holds);
  } else {
    out.line(untaken(session_id, put));
    if (put.trouble !== undefined) messages.line(safeLine(put.trouble.message));
  }
  tellNext(out, `bosun status ${session_id}`);
  return ok(EXIT_DONE);
}

/** Says that there is an owner, but that it is not known to have taken a message. */
export function untaken(session_id: string, { trouble }: Extract<Put, { took: "late" }>): string {
  const why = trouble === undefined ? "its scheduler has not taken it yet" : "its outcome cannot be read";
  return `Kept for ${session_id}; ${why}.`;
}

const DONE_COMMANDS: Readonly<Record<string, string>> = {
  cancel: "Cancelled.",
  limits: "Limits changed.",
  pause: "Paused.",
  release: "Released.",
  resume: "Resumed.",
  retry: "Retry begun.",
  tell: "Note sent.",
};

function doneSentence({ payload_type, payload }: PersonMessage): string {
  if (payload_type === "user_command") return DONE_COMMANDS[wordsOf(payload.command)] ?? "Done.";
  if (payload_type === "clarification_response") return "Answer taken.";
  if (payload.scope !== undefined) return "Allowed.";
  switch (payload.decision) {
    case "approved":
      return "Approved.";
    case "rejected":
      return "Rejected.";
    default:
      return "Sent back.";
  }
}

/** The process that takes a session's messages: its owner, or its parent's, which continues a waiting child when a message arrives. */
export function ownerOf(reader: StoreReader, { session_id, parent }: SessionRow): Holder | undefined {
  return reader.holder(session_id) ?? (parent === null ? undefined : reader.holder(parent));
}

async function waitForOwner(store: Store, row: SessionRow, inbox_id: number): Promise<"taken" | "waits" | "late"> {
  const until = performance.now() + TAKEN_WITHIN_MS;
  let version: number | undefined;
  for (;;) {
    // Read the owner before the inbox: an owner that took the message may be gone right after.
    const isOwned = ownerOf(store, row) !== undefined;
    const now = store.version();
    if (now !== version && !isPending(store, row, inbox_id)) return "taken";
    version = now;
    if (!isOwned) return "waits";
    if (performance.now() > until) return "late";
    await delay(LOOK_EVERY_MS);
  }
}

function isPending(store: Store, { session_id }: SessionRow, inbox_id: number): boolean {
  return store.inbox.pending(session_id).some(({ id }) => id === inbox_id);
}

/** The record that the message became: the newest one with its content, from a person, after the records of `row`. */
function recordOf(reader: StoreReader, row: SessionRow, message: PersonMessage): LogRecord | undefined {
  let found: LogRecord | undefined;
  const content = canonicalJson(message.payload);
  for (const record of recordsOf(reader, row.session_id, row.last_sequence + 1)) {
    const mayBe = record.source === "user" && record.payload_type === message.payload_type;
    if (mayBe && canonicalJson(record.payload) === content) found = record;
  }
  return found;
}

/** Why the rules refused a message, from the next record; undefined if they did not. */
function refusalOf(reader: StoreReader, refused: LogRecord | undefined): Failure | undefined {
  if (refused?.record.disposition !== "refused") return undefined;
  const { session_id, integrity } = refused;
  const next = recordAt(reader, session_id, integrity.sequence + 1);
  const { message, resolution_hint, code } = next?.payload_type === "error" ? next.payload : {};
  const why = typeof message === "string" ? message : "it does not fit what the session waits for";
  return failure(code === "invalid_plan" ? "invalid_plan" : "stale", `${session_id} refused it: ${why}.`, {
    hint: typeof resolution_hint === "string" ? resolution_hint : `See bosun status ${session_id}.`,
  });
}
