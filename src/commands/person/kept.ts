import { bareId } from "../../config/picked-option.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";
import { latestOf } from "../session/state.ts";

interface KeptAnswer {
  readonly question_id: string;
  readonly text: string;
}

/**
 * What people have said already to something that is asked, in words; undefined if nothing. It is kept until somebody runs the
 * session. Of a session that somebody runs, what is put is taken at once and nothing is kept.
 */
export function keptFor(reader: StoreReader, session_id: string, waiting: Waiting): string | undefined {
  if (reader.holder(session_id) !== undefined) return undefined;
  let kept: string | undefined;
  for (const { body } of reader.inbox.pending(session_id)) {
    // Whoever wrote the row may have written anything, `null` too.
    const word = body as { payload_type?: string; payload?: Readonly<Record<string, unknown>> } | null;
    const { payload_type, payload } = word ?? {};
    if (payload) kept = saidTo(waiting, payload_type, payload) ?? kept;
  }
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

/** A person's first word on what waits for a decision ends the wait, so the session would refuse a second one. */
export function saidAlready(session_id: string, what: string, kept: string): Failure {
  const said = `${what} of ${session_id} has your word already, ${JSON.stringify(kept)}, which comes first.`;
  return failure("usage", said, { hint: `It takes effect with bosun resume ${session_id}.` });
}

/** Whoever wrote the row may have written anything, so nothing is relied on. */
function saidTo(
  waiting: Waiting,
  payload_type: string | undefined,
  payload: Readonly<Record<string, unknown>>,
): string | undefined {
  const { decision, ask_id, ticket_id, answers, status } = payload;
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
