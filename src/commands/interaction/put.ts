import { setTimeout as delay } from "node:timers/promises";
import { err, ok } from "../../lib/result.ts";
import { validateMessage } from "../../protocol/envelope.ts";
import { fails, type Failure, type Fallible, isOfStorage } from "../../protocol/failure.ts";
import type { Actor, UnsealedRecord } from "../../protocol/record.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import type { FactInput } from "../../runtime/facts.ts";
import { checkSession } from "../../runtime/replayed-state.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { Holder, SessionRow, Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { recordLines } from "../../ui/record-lines.ts";
import { localize, tellNext, wordsOf } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { actorHere } from "../context/program.ts";
import { loadMode } from "../../modes/index.ts";
import { whyClosed } from "../lookup/resolve.ts";
import { recordAt } from "../lookup/state.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { PermissionChoice } from "../../ui/permission-lines.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Waiting } from "../../ui/waiting.ts";

/** How long the command waits for the owner to take a message, in ms. The owner polls its inbox many times a second. */
const TAKEN_WITHIN_MS = 5_000;

/** How often the store is polled for changes, in ms. */
const LOOK_EVERY_MS = 20;

export type Put = { readonly session_id: string; readonly message: PersonMessage } & Outcome;

export type Outcome =
  /** The record that it turned into is unknown if a process of an earlier version took it. */
  | { readonly took: "taken"; readonly record: UnsealedRecord | undefined; readonly sequence: number | undefined }
  /** The session has no owner. */
  | { readonly took: "waits"; readonly inbox_id: number }
  /** The owner has not taken it yet, or the store could not be read to find out (`trouble`). */
  | { readonly took: "late"; readonly inbox_id: number; readonly trouble?: Failure };

/**
 * Puts a person's message into a session's inbox and waits until the owner, if there is one, takes it. Fails with `usage` for a malformed
 * message, or like `outcomeOf`. Throws a `StorageError` for an approval of what was changed.
 */
export async function putMessage(
  store: Store,
  row: SessionRow,
  message: PersonMessage,
  actor: Actor = actorHere(),
): Promise<Fallible<Put>> {
  const { payload_type, payload } = message;
  // Nothing else may wait for a later owner, which could only refuse it.
  const valid = validateMessage(payload_type, payload);
  if (!valid.ok) {
    const what = `This message is not valid: ${valid.error.message}`;
    return fails("usage", what, { hint: "See bosun help." });
  }
  if (payload_type === "approval") await checkSession(store, row, await loadMode(row.mode));
  const id = await store.inbox.put(row.session_id, { payload_type, payload }, actor);
  if (!id.ok) return id;
  const inbox_id = id.value;
  const outcome = await catchStorage(() => outcomeOf(store, row, inbox_id, AbortSignal.timeout(TAKEN_WITHIN_MS)));
  if (outcome.ok) return ok({ session_id: row.session_id, message, ...outcome.value });
  // The message is kept, even if the store cannot be read any more: a failure would make the person send it again.
  const { error: trouble } = outcome;
  return isOfStorage(trouble) ? ok({ session_id: row.session_id, message, took: "late", inbox_id, trouble }) : outcome;
}

/**
 * The outcome of a message in the inbox: waits for the owner, if there is one, until `over`. Fails with the session's reason if it refused the
 * message, or `usage` if it closed before it could take it. Throws a `StorageError`.
 */
export async function outcomeOf(
  store: Store,
  row: SessionRow,
  inbox_id: number,
  over: AbortSignal,
): Promise<Fallible<Outcome>> {
  const { session_id } = row;
  for (;;) {
    // Read the owner before the inbox: an owner that took the message may be gone right after.
    const isOwned = ownerOf(store, row) !== undefined;
    const taken = store.inbox.outcome(session_id, inbox_id);
    if (taken?.refusal) {
      const { message, hint = `See bosun status ${session_id}.` } = taken.refusal;
      return err({ ...taken.refusal, message: `${message.replace(/^./, (first) => first.toUpperCase())}.`, hint });
    }
    if (taken) {
      const { sequence } = taken;
      return ok({ took: "taken", record: recordAt(store, session_id, sequence ?? 0), sequence });
    }
    if (!isOwned) {
      const now = store.session(session_id);
      const closed = now.ok ? whyClosed(store, now.value) : now.error;
      return closed ? err(closed) : ok({ took: "waits", inbox_id });
    }
    if (over.aborted) return ok({ took: "late", inbox_id });
    await delay(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => {});
  }
}

/** Puts a message and reports its outcome: what it changed, or that it waits, and what to type next. */
export async function putToOwner(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  message: PersonMessage,
): Promise<Exit> {
  const put = await putMessage(store, row, message);
  return put.ok ? ok(tellPut(context, put.value)) : put;
}

/** Reports the outcome of a message: what it changed, and what `holds` from now on. */
export function tellPut({ terminal: { out, err: messages } }: CommandContext, put: Put, holds?: string): number {
  const { session_id, message } = put;
  if (put.took === "waits") {
    out.line(`Kept for ${session_id}, which is not running. It takes effect with:`);
    out.line(`  ${localize(out, `bosun resume ${session_id}`)}`);
    return EXIT_DONE;
  }
  if (put.took === "taken") {
    const { record } = put;
    out.line(record ? doneSentence(message.payload) : `${session_id} took it; its log says what became of it.`);
    if (record?.record.effects)
      for (const line of recordLines(record)) out.line(`  ${safeLine(line.ticket ?? "-")} ${safeLine(line.text)}`);
    if (holds !== undefined) out.line(holds);
  } else {
    out.line(untaken(put));
    if (put.trouble !== undefined) messages.line(safeLine(put.trouble.message));
  }
  tellNext(out, `bosun status ${session_id}`);
  return EXIT_DONE;
}

/** Says that there is an owner, but that it is not known to have taken a message. */
export function untaken({ session_id, trouble }: Extract<Put, { took: "late" }>): string {
  const why = trouble === undefined ? "its scheduler has not taken it yet" : "its outcome cannot be read";
  return `Kept for ${session_id}; ${why}.`;
}

/** What was done, by the command or the decision of a message. */
const DONE: Readonly<Record<string, string>> = {
  cancel: "Cancelled.",
  limits: "Limits changed.",
  pause: "Paused.",
  release: "Released.",
  resume: "Resumed.",
  retry: "Retry begun.",
  tell: "Note sent.",
  approved: "Approved.",
  rejected: "Rejected.",
  changes_requested: "Sent back.",
};

function doneSentence({ command, decision, scope }: JsonObject): string {
  return scope === undefined ? (DONE[wordsOf(command ?? decision)] ?? "Answer taken.") : "Allowed.";
}

/** The process that takes a session's messages: its owner, or its parent's, which continues a waiting child when a message arrives. */
export function ownerOf(reader: StoreReader, { session_id, parent }: SessionRow): Holder | undefined {
  return reader.holder(session_id) ?? (parent === null ? undefined : reader.holder(parent));
}

/** What a person sends to a session: an answer, a decision or a command. */
export interface PersonMessage extends Pick<FactInput, "work" | "changed_files"> {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** A command to a session or to one of its tickets. */
export function commandMessage(payload: JsonObject): PersonMessage {
  return { payload_type: "user_command", payload };
}

/** Answers to questions of one ask; `complete` leaves the rest of its questions to the manager. */
export function answersMessage(
  answers: readonly { readonly question_id: string; readonly text: string }[],
  status: "answered" | "complete" = "answered",
): PersonMessage {
  return { payload_type: "clarification_response", payload: { answers: answers.map((one) => ({ ...one })), status } };
}

export type Decidable = Extract<Waiting, { kind: "approval" | "review" }>;

/** A decision on the work on a ticket, or on a plan or a result, with words for who made it. */
export function decisionMessage(about: Decidable, decision: string, words?: string): PersonMessage {
  if (about.kind === "approval") {
    const notes = words === undefined ? {} : { notes: words };
    return { payload_type: "approval", payload: { decision, ask_id: about.ask_id, ...notes } };
  }
  const requested = words === undefined ? {} : { requested_changes: [words] };
  return { payload_type: "review", payload: { decision, ticket_id: about.ticket_id, ...requested } };
}

/** A decision on a permission, with words for the program. */
export function permissionMessage(ask_id: string, choice: PermissionChoice, notes = ""): PersonMessage {
  const scope = choice === "allow" ? "once" : choice.replace("allow-", "");
  const decision = choice === "deny" ? { decision: "rejected" } : { decision: "approved", scope };
  return { payload_type: "approval", payload: { ...decision, ask_id, ...(notes === "" ? {} : { notes }) } };
}

/** Resumes a paused session, or a stopped child session. */
export const GO_ON = commandMessage({ command: "resume" });

/** Why a message was refused, and what to do. */
export type Refusal = Pick<Failure, "message" | "hint">;
