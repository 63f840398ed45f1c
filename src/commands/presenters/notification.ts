import { ok } from "../../lib/result.ts";
import { recordedEnd } from "../../runtime/exit.ts";
import type { ReadableSession, Notification } from "../../runtime/notifications.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeJson, safeText } from "../../ui/display.ts";
import { headline } from "../../ui/ending.ts";
import { holdSentence, oneOfEachAccount, releasesOf, sentenceFor } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import { waitingFor } from "../lookup/asks.ts";
import { buildEnding, snapshotOf } from "./ending.ts";
import { answersTo } from "./next.ts";

/**
 * The input of the `notify` program, one line of JSON: what the reporters would show, and the next commands, as `program` is called. Undefined
 * if the questions are answered by now.
 */
export function notificationFor(
  program: string,
  home: string,
  store: StoreReader,
  session: ReadableSession,
  notification: Notification,
): string | undefined {
  const { event, again } = notification;
  const { session_id } = session;
  const notice = noticeFor(program, home, store, session, notification);
  if (notice === undefined) return undefined;
  const next = notice.next.map((command) => localize({ program }, command));
  return safeJson({ event, session_id, home, ...notice, next, ...(again ? { again } : {}) });
}

interface Notice {
  /** For people, safe for a terminal. */
  readonly message: string;
  /** Commands, the most useful first. */
  readonly next: readonly string[];
  /** The subject, for programs. */
  readonly [about: string]: unknown;
}

function noticeFor(
  program: string,
  home: string,
  store: StoreReader,
  session: ReadableSession,
  notification: Notification,
): Notice | undefined {
  switch (notification.event) {
    case "question":
      return questions(store, session, notification);
    case "hold":
      return holds(session, notification);
    case "stopped":
    case "closed":
      return left(program, home, store, session);
  }
}

function questions(store: StoreReader, { session_id }: ReadableSession, { asks }: Notification): Notice | undefined {
  const waiting = asks.flatMap((ask) => waitingFor(store, session_id, ask));
  if (waiting.length === 0) return undefined;
  const message = [`${session_id} needs a person:`, ...waiting.map(sentenceFor)].join("\n");
  return { message, questions: waiting, next: answersTo(session_id, waiting) };
}

function holds({ session_id }: ReadableSession, { holds: held }: Notification): Notice {
  const first = oneOfEachAccount(held);
  const message = first.map((hold) => `${session_id}: ${holdSentence(hold)}`).join("\n");
  const unending = first.filter(({ until }) => until === undefined);
  const next = [...releasesOf(session_id, unending), `bosun status ${session_id}`];
  return { message, holds: held, next };
}

function left(program: string, home: string, store: StoreReader, session: ReadableSession): Notice | undefined {
  const value = recordedEnd(session.ledger.figures);
  if (value === undefined) return undefined;
  // Child sessions notify by themselves.
  const ending = buildEnding(home, snapshotOf(store, session), { end: ok(value) });
  const { state, outcome, waiting, report, log, next } = ending;
  const message = [
    headline(ending),
    ...(ending.message === undefined ? [] : [localize({ program }, safeText(ending.message))]),
    ...waiting.map(sentenceFor),
  ];
  const { reason } = value;
  const more = { state, outcome, reason, ...(value.kind === "closed" ? {} : { questions: waiting }), report, log };
  return { message: message.join("\n"), ...more, next };
}
