import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { failure, type Fallible } from "../../protocol/failure.ts";
import { MailboxFolder, jsonIn, manifestIn } from "../../runtime/mailbox-folder.ts";
import { SessionRecords } from "../../runtime/records.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { measuredRecord } from "../../store/kept-record.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { MODES, readerOf } from "../../modes/index.ts";
import type { OpenHome } from "../context/home.ts";
import { engineOf } from "./modes.ts";

/** Which messages are wanted. */
export interface Filter {
  readonly type?: string;
  readonly agent?: string;
  /** A message_id, or a time: later ones are wanted. */
  readonly since?: string;
}

/** The folder of a session's mailbox. Fails with `usage` for a session whose mode has none. */
export function mailboxOf(home: string, { session_id, mode }: SessionRow): Fallible<string> {
  const folder = readerOf(mode)?.mailbox?.folder;
  if (folder !== undefined) return ok(join(home, folder, session_id));
  return err(failure("usage", `${session_id} is a ${mode}, which has no mailbox.`, { hint: "bosun status shows it." }));
}

const NAME = /^msg_(\d{8}T\d{9}Z)-(\d+)_(.+)_(error|[a-z]+(?:_[a-z]+)?)\.json$/;

/** The messages of a mailbox that a filter lets through, in order. Only their files are read. */
export function* messagesIn(directory: string, filter: Filter): Generator<JsonObject> {
  const { since = "" } = filter;
  const folder = join(directory, "messages");
  const after = Number(/^m(\d+)$/.exec(since)?.[1] ?? 0);
  const later = after > 0 ? "" : since.replaceAll(/[-:.]/g, "").replace(/Z$/, "");
  for (const name of existsSync(folder) ? readdirSync(folder).toSorted() : []) {
    const found = NAME.exec(name);
    if (!found || !isWanted(name, found, filter)) continue;
    const [, time = "", sequence = ""] = found;
    if (Number(sequence) <= after || time.slice(0, later.length) < later) continue;
    const message = jsonIn(join(folder, name));
    if (message) yield message;
  }
}

/** Ids and types may both hold an underscore. */
function isWanted(name: string, [, time = "", sequence = ""]: RegExpExecArray, { type, agent }: Filter): boolean {
  if (type !== undefined && !name.endsWith(`_${type}.json`)) return false;
  return agent === undefined || name.startsWith(`msg_${time}-${sequence}_${agent}_`);
}

/** The manifests of all mailboxes of a home. */
export function manifestsIn(home: string): JsonObject[] {
  const folders = new Set(Array.from(MODES.values(), ({ reader }) => reader.mailbox?.folder ?? []).flat());
  return [...folders].flatMap((folder) => {
    const root = join(home, folder);
    const names = existsSync(root) ? readdirSync(root).toSorted() : [];
    return names.flatMap((name) => {
      const manifest = manifestIn(join(root, name));
      return manifest ? [manifest] : [];
    });
  });
}

/** Writes the files of a closed session's mailbox again that tell its state. */
export async function rewriteMailbox({ home, store }: OpenHome<StoreReader>, row: SessionRow): Promise<Fallible<void>> {
  const engine = await engineOf(store, row);
  if (!engine.ok) return engine;
  const { mode, state, ledger } = engine.value;
  if (!mode.mailbox) return ok(undefined);
  const { session_id } = row;
  const records = new SessionRecords(
    (sequence) => measuredRecord(store, session_id, sequence),
    sessionPaths(home, session_id).folder,
  );
  const opened_at = measuredRecord(store, session_id, 1).record.timestamp;
  const folder = new MailboxFolder(home, { mode, state, ledger }, mode.mailbox, { session_id, opened_at }, records);
  return folder.publish(folder.prepare([], "all"));
}
