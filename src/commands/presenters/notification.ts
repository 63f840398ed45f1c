import { ok } from "../../lib/result.ts";
import { recordedEnd } from "../../runtime/exit.ts";
import type { Notification, ReadableSession } from "../../runtime/notifications.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeJson, safeText } from "../../ui/display.ts";
import { headline } from "../../ui/ending.ts";
import { commandFor, holdSentence, linesFor, oneOfEachAccount, releasesOf, type Waiting } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import { waitingFor } from "../lookup/view.ts";
import { answersTo, buildEnding, snapshotOf } from "./ending.ts";

/**
 * The input of the `notify` program, one line of JSON: what the reporters would show, and the next commands, which call `program`. Undefined
 * if the questions are answered by now.
 */
export function notificationFor(
  program: string,
  home: string,
  store: StoreReader,
  session: ReadableSession,
  { event, asks, holds, again }: Notification,
): string | undefined {
  const { session_id } = session;
  const about =
    event === "question"
      ? aboutQuestions(program, store, session_id, asks)
      : event === "hold"
        ? aboutHolds(session_id, holds)
        : aboutEnd(program, home, store, session);
  if (about === undefined) return undefined;
  const { message, next, ...more } = about;
  const said = { message: message.join("\n"), ...more, next: next.map((command) => localize({ program }, command)) };
  return safeJson({ event, session_id, home, ...said, ...(again ? { again } : {}) });
}

function aboutQuestions(program: string, store: StoreReader, session_id: string, asks: Notification["asks"]) {
  const questions = asks.flatMap((ask) => waitingFor(store, session_id, ask));
  if (questions.length === 0) return undefined;
  const message = [`${session_id} needs a person:`, ...questions.flatMap((one) => needLines(program, session_id, one))];
  return { message, questions, next: answersTo(session_id, questions) };
}

/** What is needed, and the command that provides it, because a notification may be all that a person sees. */
function needLines(program: string, session_id: string, waiting: Waiting): string[] {
  const [sentence, ...details] = linesFor(waiting, { program });
  const command = localize({ program }, commandFor(session_id, waiting));
  return [sentence, ...[...details, command].map((line) => `  ${line}`)];
}

function aboutHolds(session_id: string, holds: Notification["holds"]) {
  const first = oneOfEachAccount(holds);
  const unending = first.filter(({ until }) => until === undefined);
  return {
    message: first.map((hold) => `${session_id}: ${holdSentence(hold)}`),
    holds,
    next: [...releasesOf(session_id, unending), `bosun status ${session_id}`],
  };
}

/** Without child sessions, which notify by themselves. */
function aboutEnd(program: string, home: string, store: StoreReader, session: ReadableSession) {
  const value = recordedEnd(session.ledger.figures);
  if (value === undefined) return undefined;
  const { session_id } = session;
  const ending = buildEnding(home, snapshotOf(store, session), { end: ok(value) });
  const { state, outcome, waiting: questions, report, log, next } = ending;
  const message = [
    headline(ending),
    localize({ program }, safeText(ending.message ?? "")),
    ...questions.flatMap((one) => needLines(program, session_id, one)),
  ].filter(Boolean);
  const { kind, reason } = value;
  return { message, state, outcome, reason, ...(kind === "closed" ? {} : { questions }), report, log, next };
}
