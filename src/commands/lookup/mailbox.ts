import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, listOf, textOf } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { failure, fails, type Fallible } from "../../protocol/failure.ts";
import { MailboxFolder, jsonIn, manifestIn } from "../../runtime/mailbox-folder.ts";
import { SessionRecords } from "../../runtime/records.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { measuredRecord } from "../../store/kept-record.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { trashOf } from "../../store/trash.ts";
import { MODES, readerOf } from "../../modes/index.ts";
import type { CommandContext } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { allHomes } from "./homes.ts";
import { engineOf } from "./modes.ts";

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

/** The manifests of all homes of this user, that of the current directory first: of open ones, or `all`; of those in which `as` takes part. */
export function manifestsOf(
  context: CommandContext,
  { all, as }: { readonly all: boolean; readonly as: string | undefined },
): Fallible<JsonObject[]> {
  const homes = allHomes(context);
  if (!homes.ok) return homes;
  const found = homes.value.flatMap((home) => manifestsIn(home).map((manifest): JsonObject => ({ ...manifest, home })));
  const isWanted = ({ state, participants }: JsonObject) =>
    (all || !["closed", "archived"].includes(textOf(state))) && (as === undefined || listOf(participants).includes(as));
  return ok(found.filter(isWanted));
}

/** What the mailbox says of its session and of each participant. */
export function aboutMailbox(directory: string): Fallible<JsonObject> {
  const manifest = manifestIn(directory);
  const participants = listOf(jsonIn(join(directory, "participants.json"))?.["participants"]);
  if (manifest) return ok({ ...manifest, participants, directory });
  return fails("not_found", `There is no manifest in ${directory}.`, { hint: "bosun rebuild writes it again." });
}

function manifestsIn(home: string): JsonObject[] {
  const folders = new Set(Array.from(MODES.values(), ({ reader }) => reader.mailbox?.folder ?? []).flat());
  const gone = new Set(trashOf(home).map(({ session_id }) => session_id));
  return [...folders].flatMap((folder) => {
    const root = join(home, folder);
    const names = existsSync(root) ? readdirSync(root).toSorted() : [];
    return names.flatMap((name) => {
      const manifest = gone.has(name) ? undefined : manifestIn(join(root, name));
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
