import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { Mailbox, MailRecord } from "../kernel/mailbox.ts";
import { type JsonObject, textOf } from "../lib/json.ts";
import { readPlainFile, recordFile, recordIn } from "../log/reader.ts";
import { readerOf } from "../modes/index.ts";
import { MAX_RECORD_BYTES } from "../protocol/limits.ts";
import { sessionPaths } from "./paths.ts";

/**
 * The records of a session from a sequence on, as they are published, until it is closed or `signal` is aborted. The system tells of new files, so
 * nothing is polled. Any process that can read the log folder may follow it.
 */
export async function* followRecords(
  home: string,
  session_id: string,
  from = 1,
  signal?: AbortSignal,
): AsyncGenerator<MailRecord> {
  const folder = sessionPaths(home, session_id).log;
  const names = new Map<number, string>();
  const add = (name: string) => {
    const file = recordFile(name);
    if (file && file.sequence >= from) names.set(file.sequence, name);
  };
  const list = () => readdirSync(folder).forEach(add);
  let news = Promise.withResolvers<void>();
  const wake = () => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const watcher = watch(folder, (_, name) => {
    if (name === null) list();
    else add(name);
    wake();
  });
  watcher.on("error", wake);
  signal?.addEventListener("abort", wake);
  try {
    list();
    for (let sequence = from; ; ) {
      if (signal?.aborted === true) return;
      const changed = news.promise;
      const name = names.get(sequence);
      const record = name === undefined ? null : recordIn(readPlainFile(join(folder, name), MAX_RECORD_BYTES));
      if (record === null) {
        await changed;
        continue;
      }
      names.delete(sequence);
      yield { ...record, sequence };
      if (record.payload_type === "session_closed") return;
      sequence += 1;
    }
  } finally {
    watcher.close();
    signal?.removeEventListener("abort", wake);
  }
}

/** What happens in a session whose mode has a mailbox, as its events, from a record on. Ends like `followRecords`. */
export async function* subscribe(
  home: string,
  session_id: string,
  from = 1,
  signal?: AbortSignal,
): AsyncGenerator<JsonObject> {
  let mailbox: Mailbox<unknown> | undefined;
  for await (const record of followRecords(home, session_id, 1, signal)) {
    if (record.sequence === 1) mailbox = readerOf(textOf(record.payload["mode"]))?.mailbox;
    if (record.sequence >= from) yield* mailbox?.events(record) ?? [];
  }
}
