import { bareId } from "../../config/picked-option.ts";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import { wordName } from "../../protocol/word-name.ts";
import { latestOf } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";

interface KeptAnswer {
  readonly question_id: string;
  readonly text: string;
}

/** What was put to a session: in a person's words, and if it is a command which, and for which ticket. */
export interface KeptWord {
  readonly said: string;
  readonly command: string | undefined;
  readonly ticket_id: string | undefined;
}

/**
 * What people have said already to something that is asked, in words; undefined if nothing. It is kept until somebody runs the
 * session. Of a session that somebody runs, what is put is taken at once and nothing is kept.
 */
export function keptFor(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  if (reader.holder(session_id) !== undefined) return undefined;
  let kept: string | undefined;
  for (const { payload_type, payload } of wordsIn(reader, session_id))
    kept = saidTo(waiting, payload_type, payload) ?? kept;
  return kept;
}

/** A person's words on what a session asks. */
const WORDS: ReadonlySet<string> = new Set<PayloadType>(["clarification_response", "approval", "review"]);

/** What people have said to something that was asked with a record, in words, and the session has taken; undefined if nothing. */
export function takenFor(
  reader: StoreReader,
  session_id: string,
  waiting: Waiting,
  asked_with: number,
): string | undefined {
  const row = reader.session(session_id);
  let taken: string | undefined;
  for (const { source, payload_type, payload, record, integrity } of row.ok ? latestOf(reader, row.value, WORDS) : []) {
    const isWord = source === "user" && record.disposition === "applied" && integrity.sequence > asked_with;
    if (isWord) taken = saidTo(waiting, payload_type, payload) ?? taken;
  }
  return taken;
}

/** A cancel of the ticket that something is asked about, which is kept as well: then there is nothing to say to it any more. */
export function cancelFor(reader: StoreReader, session_id: string, waiting: Waiting): KeptWord | undefined {
  const ticket_id = "ticket_id" in waiting ? waiting.ticket_id : undefined;
  if (ticket_id === undefined) return undefined;
  return keptCommands(reader, session_id).find((word) => word.command === "cancel" && word.ticket_id === ticket_id);
}

/** What people have said that settles it, an answer or the end of its ticket. */
export function settledBy(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  return cancelFor(reader, session_id, waiting)?.said ?? keptFor(reader, session_id, waiting);
}

/** What else people have said to a session that nobody runs: it is heard when the session goes on. */
export function keptCommands(reader: StoreReader, session_id: string): KeptWord[] {
  return reader.holder(session_id) === undefined
    ? unheard(reader, session_id).filter(({ command }) => command !== undefined)
    : [];
}

/** All that was put to a session and is not heard yet; of one that is closed, what came too late. A stop or a pause is over with its scheduler. */
export function unheard(reader: StoreReader, session_id: string): KeptWord[] {
  return wordsIn(reader, session_id).flatMap(({ payload_type, payload }) => {
    const { command, ticket_id } = payload_type === "user_command" ? payload : {};
    if (command === "stop" || command === "pause") return [];
    const said = wordName(payload_type, payload);
    return [{ said, command: textIn(command), ticket_id: textIn(ticket_id) }];
  });
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Whoever wrote the row may have written anything. */
function wordsIn(reader: StoreReader, session_id: string): { payload_type: Json | undefined; payload: JsonObject }[] {
  return reader.inbox.pending(session_id).flatMap(({ body }) => {
    const { payload_type, payload } = objectOf(body);
    return isJsonObject(payload) ? [{ payload_type, payload }] : [];
  });
}

/** A person's first word on what waits for a decision ends the wait, so the session would refuse a second one. */
export function saidAlready(session_id: string, what: string, kept: string): Failure {
  const said = `${what} of ${session_id} has your word already, ${JSON.stringify(kept)}, which comes first.`;
  return failure("usage", said, { hint: `It takes effect with bosun resume ${session_id}.` });
}

/** Whoever wrote the row may have written anything, so nothing is relied on. */
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
