import { StorageError } from "../../store/storage-error.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Reporter } from "../../ui/reporter.ts";
import type { ChildWaiting } from "../../ui/waiting.ts";
import { unsettled } from "../interaction/kept.ts";
import { neededOf } from "../lookup/asks.ts";

/** What the open child sessions of a session need a person for, from their stored state. Throws a `StorageError`. */
export async function waitingChildren(reader: StoreReader, parent: string): Promise<ChildWaiting[]> {
  const all: ChildWaiting[] = [];
  for (const { session_id, state } of reader.sessions({ parent })) {
    if (state === "closed") continue;
    const needed = await neededOf(reader, session_id);
    if (!needed.ok) throw new StorageError(needed.error);
    const { waiting: asked, holds } = needed.value;
    const waiting = unsettled(reader, session_id, asked);
    if (asked.length + holds.length > 0) all.push({ session_id, waiting, holds });
  }
  return all;
}

/** Shows once what each child session waits for. A command answers it, because a prompt belongs to one session. */
export class ChildrenWatch {
  readonly #reader: StoreReader;
  readonly #session_id: string;
  readonly #reporter: Reporter;
  readonly #shown = new Set<string>();

  constructor(reader: StoreReader, session_id: string, reporter: Reporter) {
    this.#reader = reader;
    this.#session_id = session_id;
    this.#reporter = reporter;
  }

  async look(): Promise<void> {
    this.tell(await waitingChildren(this.#reader, this.#session_id));
  }

  tell(children: readonly ChildWaiting[]): void {
    for (const { session_id, waiting, holds } of children) {
      const news = waiting.filter((one) => this.#isNew(session_id, JSON.stringify(one)));
      const held = holds.filter(({ role_id, since }) => this.#isNew(session_id, role_id, since));
      if (news.length + held.length > 0) this.#reporter.childWaits({ session_id, waiting: news, holds: held });
    }
  }

  #isNew(...what: readonly (string | undefined)[]): boolean {
    const key = JSON.stringify(what);
    return !this.#shown.has(key) && this.#shown.add(key) !== undefined;
  }
}
