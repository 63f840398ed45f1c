import { bareId } from "../../config/picked-option.ts";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import { wordName } from "../../protocol/recording.ts";
import { latestOf } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";

interface KeptAnswer {
  readonly question_id: string;
  readonly text: string;
}

/** A message in the inbox of a session: in a person's words, and for a command its name and ticket. */
export interface KeptMessage {
  readonly said: string;
  readonly command: string | undefined;
  readonly ticket_id: string | undefined;
}

/**
 * The answer to something a session asks that is kept in its inbox until it runs again, in words; undefined if there is none. A running
 * session takes its messages at once, so nothing is kept.
 */
export function keptFor(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  if (reader.holder(session_id) !== undefined) return undefined;
  let kept: string | undefined;
  for (const { payload_type, payload } of messagesIn(reader, session_id))
    kept = saidTo(waiting, payload_type, payload) ?? kept;
  return kept;
}

/** The messages that answer what a session asks. */
const ANSWERS: ReadonlySet<string> = new Set<PayloadType>(["clarification_response", "approval", "review"]);

/** The answer that a session took to something it asked with record `asked_with`, in words; undefined if there is none. */
export function takenFor(
  reader: StoreReader,
  session_id: string,
  waiting: Waiting,
  asked_with: number,
): string | undefined {
  const row = reader.session(session_id);
  let taken: string | undefined;
  for (const { source, payload_type, payload, record, integrity } of row.ok
    ? latestOf(reader, row.value, ANSWERS)
    : []) {
    const isAnswer = source === "user" && record.disposition === "applied" && integrity.sequence > asked_with;
    if (isAnswer) taken = saidTo(waiting, payload_type, payload) ?? taken;
  }
  return taken;
}

/** The kept cancel of the ticket that something is asked about: then no answer is needed. */
export function cancelFor(reader: StoreReader, session_id: string, waiting: Waiting): KeptMessage | undefined {
  const ticket_id = "ticket_id" in waiting ? waiting.ticket_id : undefined;
  if (ticket_id === undefined) return undefined;
  return keptCommands(reader, session_id).find((word) => word.command === "cancel" && word.ticket_id === ticket_id);
}

/** The kept message that settles something a session asks: an answer, or a cancel of its ticket. */
export function settledBy(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  return cancelFor(reader, session_id, waiting)?.said ?? keptFor(reader, session_id, waiting);
}

/** The commands that are kept until a session runs again. */
export function keptCommands(reader: StoreReader, session_id: string): KeptMessage[] {
  return reader.holder(session_id) === undefined
    ? unheard(reader, session_id).filter(({ command }) => command !== undefined)
    : [];
}

/**
 * The messages that a session has not taken; for a closed one, those that came too late. A stop or a pause is void once its scheduler is
 * gone.
 */
export function unheard(reader: StoreReader, session_id: string): KeptMessage[] {
  return messagesIn(reader, session_id).flatMap(({ payload_type, payload }) => {
    const { command, ticket_id } = payload_type === "user_command" ? payload : {};
    if (command === "stop" || command === "pause") return [];
    const said = wordName(payload_type, payload);
    return [{ said, command: textIn(command), ticket_id: textIn(ticket_id) }];
  });
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Any process may have written the rows, so nothing in them is relied on. */
function messagesIn(
  reader: StoreReader,
  session_id: string,
): { payload_type: Json | undefined; payload: JsonObject }[] {
  return reader.inbox.pending(session_id).flatMap(({ body }) => {
    const { payload_type, payload } = objectOf(body);
    return isJsonObject(payload) ? [{ payload_type, payload }] : [];
  });
}

/** Why a second decision is refused: the kept one ends the wait, so the session would refuse another. */
export function saidAlready(session_id: string, what: string, kept: string): Failure {
  return failure("usage", `${what} of ${session_id} has a decision already: ${JSON.stringify(kept)}.`, {
    hint: `It takes effect with bosun resume ${session_id}.`,
  });
}

/** What a message says to something that is asked, in words; undefined if it is about something else. */
function saidTo(waiting: Waiting, payload_type: Json | undefined, payload: JsonObject): string | undefined {
  const { decision, ask_id, ticket_id, answers, status } = payload as Readonly<Record<string, unknown>>;
  switch (waiting.kind) {
    case "question": {
      if (payload_type !== "clarification_response" || !Array.isArray(answers)) return undefined;
      const bare = bareId(waiting);
      const own = (answers as KeptAnswer[]).findLast(
        (answer) => answer?.question_id === waiting.question_id || answer?.question_id === bare,
      );
      if (own) return wordsOf(own.text);
      const ofItsSet = answers.length === 0 || (answers as KeptAnswer[]).some((answer) => isOf(waiting.ask_id, answer));
      return status === "complete" && ofItsSet ? "no more questions" : undefined;
    }
    case "approval":
      return payload_type === "approval" && (ask_id === undefined || ask_id === waiting.ask_id)
        ? String(decision)
        : undefined;
    case "review":
      return payload_type === "review" && ticket_id === waiting.ticket_id ? String(decision) : undefined;
  }
}

function isOf(ask_id: string, answer: KeptAnswer | null): boolean {
  return String(answer?.question_id).startsWith(`${ask_id}.`);
}
