import { crashPoint } from "../lib/crash-point.ts";
import { type JsonObject, objectOf } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { Actor } from "../protocol/record.ts";
import { subjectIn } from "../protocol/recording.ts";
import type { InboxRow } from "../store/store.ts";
import type { Children } from "./children/children.ts";
import type { SessionContext } from "./context.ts";
import { DropBox } from "./drop-box.ts";

/** Poll interval for new rows, in ms. A poll costs one pragma. */
const LOOK_EVERY_MS = 150;

/** Submits the messages that people and other processes put into the session's inbox. */
export class InboxWatch {
  readonly #context: SessionContext;
  readonly #children: Children;
  /** The last submitted row, which may not be committed as taken yet. */
  #last = 0;
  #version = -1;
  #cancel: (() => void) | undefined;
  readonly #drops: DropBox | undefined;

  constructor(context: SessionContext, children: Children) {
    this.#context = context;
    this.#children = children;
    this.#drops = context.mailbox && new DropBox(context, context.mailbox);
  }

  start(): void {
    this.#look(() => this.#take());
    this.#drops?.start();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#drops?.stop();
  }

  #arm(): void {
    this.#cancel = this.#context.clock.after(LOOK_EVERY_MS, () => {
      this.#look(() => {
        const version = this.#context.store.version();
        if (version !== this.#version) this.#take();
        this.#version = version;
        this.#children.resumeAddressed();
      });
    });
  }

  #look(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#context.broken(error);
      return;
    }
    this.#arm();
  }

  #take(): void {
    const { store, session_id, lease } = this.#context;
    const news = store.inbox.pending(session_id).filter((row) => row.id > this.#last);
    this.#last = news.at(-1)?.id ?? this.#last;
    for (const row of orderInboxRows(news)) {
      crashPoint("inbox_read");
      // A row may hold anything. One that is not a person's message is refused, and still counts as taken.
      const body = row.body as { payload_type?: PayloadType; payload?: JsonObject } | null;
      const overtaken = row.id > lease.put_before ? undefined : lease.reopened ? "closed" : "taken_up";
      this.#context.submitFromPerson({
        source: "user",
        payload_type: body?.payload_type ?? ("nothing" as PayloadType),
        payload: body?.payload ?? {},
        actor: actorIn(row.actor),
        taken: row.id,
        overtaken,
      });
    }
  }
}

/** The forms that a record allows (`acting person` in the schemas). */
const PARTICIPANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The row's actor, as the row claims; undefined if a record cannot hold it. */
function actorIn(value: unknown): Actor | undefined {
  const { user, host, via, participant, key } = (value ?? {}) as Readonly<Record<keyof Actor, unknown>>;
  const isName = (name: unknown, most = 256): name is string =>
    typeof name === "string" && name.isWellFormed() && name.length <= most;
  const fits = (text: unknown, form: RegExp): text is string => typeof text === "string" && form.test(text);
  // Whoever claims to be somebody is not the local user, even under an id that nobody can have.
  const claimed = fits(participant, PARTICIPANT) ? participant : "nobody";
  const known = participant === undefined ? {} : { participant: claimed, ...(fits(key, DIGEST) ? { key } : {}) };
  return isName(user) && isName(host) && isName(via, 64) ? { user, host, via, ...known } : undefined;
}

/**
 * Sorts waiting messages into the order in which they are taken: as put, but a `retry` before messages about other subjects, since one of
 * those may end the last open subject and so close the session before the retry.
 */
function orderInboxRows(rows: readonly InboxRow[]): InboxRow[] {
  const ordered: InboxRow[] = [];
  for (const row of rows) {
    const before = isRetry(row) ? ordered.findLastIndex((other) => !mayWait(other, row)) + 1 : ordered.length;
    ordered.splice(before, 0, row);
  }
  return ordered;
}

/** Whether a message can be taken after a later retry. */
function mayWait(other: InboxRow, retry: InboxRow): boolean {
  const subject = subjectIn(payloadOf(other));
  return subject !== undefined && subject !== subjectIn(payloadOf(retry)) && !isRetry(other);
}

function isRetry(row: InboxRow): boolean {
  return payloadOf(row).command === "retry";
}

/** A row may hold anything. */
function payloadOf({ body }: InboxRow): JsonObject {
  return objectOf(objectOf(body).payload);
}
