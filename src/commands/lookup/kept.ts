import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { idsOf } from "../../protocol/question-ids.ts";
import { messageName } from "../../protocol/recording.ts";
import type { StoreReader } from "../../store/store.ts";
import type { OpenQuestion, Waiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";

/** A message in the inbox of a session: in a person's words; for a command, also its name and ticket. */
export interface KeptMessage {
  readonly said: string;
  readonly command: string | undefined;
  readonly ticket_id: string | undefined;
}

/**
 * The message, in words, that settles an ask and is kept in the session's inbox until it runs again: a cancel of its ticket, or an answer.
 * Undefined if there is none. A running session takes its messages at once, so nothing is kept.
 */
export function keptFor(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  if (reader.holder(session_id) !== undefined) return undefined;
  const ticket_id = "ticket_id" in waiting ? waiting.ticket_id : undefined;
  const isCancelled = (word: KeptMessage) => word.command === "cancel" && word.ticket_id === ticket_id;
  const cancelled = ticket_id === undefined ? undefined : unheard(reader, session_id).find(isCancelled);
  const answers = messagesIn(reader, session_id).map((message) => saidTo(waiting, message));
  return cancelled?.said ?? answers.findLast((said) => said !== undefined);
}

/** What a session needs a person for, and the message that settles it when the session is resumed, if there is one. */
export type Needed = Waiting & { readonly kept: string | undefined };

/** What no kept message settles. */
export function unsettled<N extends Needed>(needed: readonly N[]): N[] {
  return needed.filter(({ kept }) => kept === undefined);
}

/** The commands that are kept until a session runs again. */
export function keptCommands(reader: StoreReader, session_id: string): KeptMessage[] {
  return reader.holder(session_id) === undefined
    ? unheard(reader, session_id).filter(({ command }) => command !== undefined)
    : [];
}

/** The messages that a session has not taken; for a closed one, those that came too late. A stop or a pause is void once its scheduler is gone. */
export function unheard(reader: StoreReader, session_id: string): KeptMessage[] {
  return messagesIn(reader, session_id).flatMap(({ payload_type, payload }) => {
    const { command, ticket_id } = payload_type === "user_command" ? payload : {};
    if (command === "stop" || command === "pause") return [];
    const said = messageName(payload_type, payload);
    return [{ said, command: textIn(command), ticket_id: textIn(ticket_id) }];
  });
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

interface Message {
  readonly payload_type: Json | undefined;
  readonly payload: JsonObject;
}

/** Any process may have written the rows, so nothing in them is trusted. */
function messagesIn(reader: StoreReader, session_id: string): Message[] {
  return reader.inbox.pending(session_id).flatMap(({ body }) => {
    const { payload_type, payload } = objectOf(body);
    return isJsonObject(payload) ? [{ payload_type, payload }] : [];
  });
}

/** Why a second decision is refused: the kept one will end the wait, so the session would refuse another. */
export function saidAlready(session_id: string, what: string, kept: string): Failure {
  return failure("usage", `${what} of ${session_id} has a decision already: ${JSON.stringify(kept)}.`, {
    hint: `It takes effect with bosun resume ${session_id}.`,
  });
}

/** The answer in a message to an ask, in words; undefined if the message is about something else. */
function saidTo(waiting: Waiting, { payload_type, payload }: Message): string | undefined {
  switch (waiting.kind) {
    case "question":
      return payload_type === "clarification_response" ? answerTo(waiting, payload) : undefined;
    case "approval": {
      const isOwn = payload.ask_id === undefined || payload.ask_id === waiting.ask_id;
      return payload_type === "approval" && isOwn ? wordsOf(payload.decision) : undefined;
    }
    case "permission":
      return payload_type === "approval" && payload.ask_id === waiting.ask_id ? permissionWord(payload) : undefined;
    case "review": {
      const isOwn = payload.ticket_id === waiting.ticket_id;
      return payload_type === "review" && isOwn ? wordsOf(payload.decision) : undefined;
    }
  }
}

function permissionWord({ decision, scope }: JsonObject): string {
  if (decision !== "approved") return "deny";
  return scope === undefined || scope === "once" ? "allow" : `allow-${wordsOf(scope)}`;
}

function answerTo(question: OpenQuestion, { answers, status }: JsonObject): string | undefined {
  const given = listOf(answers).map(objectOf);
  const own = given.findLast(({ question_id }) => idsOf(question).includes(wordsOf(question_id)));
  if (own) return wordsOf(own.text);
  const prefix = `${question.ask_id}.`;
  const isOfItsSet = given.length === 0 || given.some(({ question_id }) => wordsOf(question_id).startsWith(prefix));
  return status === "complete" && isOfItsSet ? "no more questions" : undefined;
}
