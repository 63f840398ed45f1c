import { StorageError } from "../../store/storage-error.ts";
import type { StoreReader } from "../../store/store.ts";
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

/** What of it was not shown yet; remembers it in `shown`. */
export function notYetShown(children: readonly ChildWaiting[], shown: Set<string>): ChildWaiting[] {
  const isNew = (...what: readonly (string | undefined)[]) => {
    const key = JSON.stringify(what);
    return !shown.has(key) && shown.add(key).size > 0;
  };
  const news = children.map(({ session_id, waiting, holds }) => ({
    session_id,
    waiting: waiting.filter((one) => isNew(session_id, JSON.stringify(one))),
    holds: holds.filter(({ role_id, since }) => isNew(session_id, role_id, since)),
  }));
  return news.filter(({ waiting, holds }) => waiting.length + holds.length > 0);
}
