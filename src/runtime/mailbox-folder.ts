import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ReadEngine } from "../kernel/engine.ts";
import { SELF } from "../kernel/kit/state.ts";
import type { About, Mailbox, MailRecord } from "../kernel/mailbox.ts";
import type { Change } from "../kernel/mode.ts";
import { type Lookup, resolve } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory, OWN, textIn } from "../lib/files.ts";
import { type JsonObject, parsedObject } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import type { Fallible } from "../protocol/failure.ts";

/** The mark of a session that was put aside, in its folder. */
export const ARCHIVED = "archived.json";

/** A file of the mailbox with its text. */
interface Filed {
  readonly path: string;
  /** Absent for a file that is to be removed. */
  readonly text?: string;
}

/** Writes the mailbox of a session: messages once, the other files whenever their text changes, all of them by rename. */
export class MailboxFolder {
  readonly directory: string;
  readonly mailbox: Mailbox<unknown>;
  readonly #engine: ReadEngine<unknown>;
  readonly #root: string;
  readonly #about: About;
  readonly #records: Lookup;
  readonly #texts = new Map<string, string>();

  /** The engine's mode has the mailbox. */
  constructor(
    home: string,
    engine: ReadEngine<unknown>,
    mailbox: Mailbox<unknown>,
    about: Omit<About, "archived">,
    records: Lookup,
  ) {
    this.mailbox = mailbox;
    this.#engine = engine;
    this.#root = join(home, mailbox.folder);
    this.directory = join(this.#root, about.session_id);
    this.#about = { ...about, archived: existsSync(join(this.directory, ARCHIVED)) };
    this.#records = records;
  }

  /** The files that records make, and those that changes of the state make anew; to be written once all that is committed. */
  prepare(records: readonly MailRecord[], changes: readonly Change[] | "all"): readonly Filed[] {
    const { state, mode } = this.#engine;
    const messages = records.flatMap((record, index) => {
      const message = this.mailbox.message(state, record, records[index + 1]);
      if (!message) return [];
      const { agent_id, message_type, content } = message;
      const name = messageName(record, agent_id, message_type);
      return [{ path: join(this.#about.session_id, "messages", name), text: textOf(content) }];
    });
    const isOf = (change: Change) => [SELF, mode.subjects].includes("put" in change ? change.put : change.drop);
    if (changes !== "all" && !changes.some(isOf)) return messages;
    const standing = Object.entries(this.mailbox.standing(state, this.#about)).map(([path, content]) =>
      content ? { path, text: textOf(resolve(content, this.#records) as JsonObject) } : { path },
    );
    const isNew = ({ path, text }: Filed) =>
      (text === undefined && changes === "all") || this.#texts.get(path) !== text;
    return [...messages, ...standing.filter(isNew)];
  }

  /** Writes files whose records are committed. Fails with `storage` or `storage_full`. */
  publish(files: readonly Filed[]): Fallible<void> {
    return attempt(
      this.#root,
      () => {
        for (const { path, text } of files) this.#write(path, text);
        const manifest = join(this.#about.session_id, "manifest.json");
        if (files.some(({ path }) => path === manifest)) this.#index();
        return ok(undefined);
      },
      "The mailbox",
    );
  }

  /** Writes what is missing: `records` gives those from a sequence on. With `all`, every message. */
  catchUp(records: (from: number) => Iterable<MailRecord>, all = false): Fallible<void> {
    return attempt(
      this.#root,
      () => {
        makeDirectory(join(this.directory, "inbox"));
        const missing = [...records(all ? 1 : lastMessage(this.directory) + 1)];
        return this.publish(this.prepare(missing, "all"));
      },
      "The mailbox",
    );
  }

  #write(path: string, text: string | undefined): void {
    const target = join(this.#root, path);
    if (text === undefined) {
      rmSync(target, { force: true });
      this.#texts.delete(path);
      return;
    }
    makeDirectory(dirname(target));
    const writing = join(dirname(target), `.${process.pid}.writing`);
    writeFileSync(writing, text, OWN);
    crashPoint("mail_written");
    renameSync(writing, target);
    this.#texts.set(path, text);
  }

  /** Lists all sessions of the folder anew until nothing changes: of those who write at once, the last has read what all wrote. */
  #index(): void {
    for (let text = this.#indexText(); this.#texts.get(INDEX) !== text; text = this.#indexText())
      this.#write(INDEX, text);
    this.#texts.delete(INDEX);
  }

  #indexText(): string {
    const { folder, indexed } = this.mailbox;
    const entries = readdirSync(this.#root, { withFileTypes: true }).flatMap((entry): JsonObject[] => {
      const manifest = entry.isDirectory() ? manifestIn(join(this.#root, entry.name)) : undefined;
      return manifest ? [Object.fromEntries(indexed.map((field) => [field, manifest[field] ?? null]))] : [];
    });
    return textOf({ [folder]: entries });
  }
}

const INDEX = "index.json";

/** `msg_<timestamp>_<agent_id>_<type>.json`: sorted by name they are in order, and no name holds a colon. */
function messageName({ sequence, record }: MailRecord, agent_id: string, type: string): string {
  const [date = "", time = ""] = record.received_at.split("T");
  const digits = `${time.replace("Z", "").replaceAll(/[:.]/g, "").padEnd(9, "0")}Z`;
  return `msg_${date.replaceAll("-", "")}T${digits}-${String(sequence).padStart(6, "0")}_${agent_id}_${type}.json`;
}

/** The sequence of the last message that is there; 0 for none. */
function lastMessage(directory: string): number {
  const messages = join(directory, "messages");
  if (!existsSync(messages)) return 0;
  const sequences = readdirSync(messages).map((name) => Number(/^msg_[^_]+-(\d+)_/.exec(name)?.[1] ?? 0));
  return sequences.reduce((last, one) => Math.max(last, one), 0);
}

/** The manifest of a session's folder; undefined if there is none that can be read. */
export function manifestIn(directory: string): JsonObject | undefined {
  return jsonIn(join(directory, "manifest.json"));
}

/** The object in a JSON file; undefined if there is none. */
export function jsonIn(file: string): JsonObject | undefined {
  return parsedObject(textIn(file) ?? "");
}

function textOf(content: JsonObject): string {
  // In the order that a record has, so that a rebuild writes the same.
  return `${JSON.stringify(JSON.parse(canonicalJson(content)), undefined, 2)}\n`;
}
