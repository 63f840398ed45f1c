import {
  type FSWatcher,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { hash } from "node:crypto";
import os from "node:os";
import { join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory, OWN } from "../lib/files.ts";
import { type JsonObject, parsedObject } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { fails, type Failure, type Fallible } from "../protocol/failure.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import type { SessionContext } from "./context.ts";
import type { MailboxFolder } from "./mailbox-folder.ts";

/** The most bytes of a dropped file. No longer message is valid. */
const MAX_BYTES = 1_000_000;

/** How long a file that is no JSON may still be written, in ms. */
const WRITTEN_MS = 1_000;

/** How a record names the file that it came from: its name and its content, by a digest. */
const VIA = "inbox:";

/** Who put a file there that does not say it. */
const SOMEBODY = { user: "unknown", host: os.hostname(), via: "inbox" };

/** Takes in the files that any program puts into the `inbox/` of a session's mailbox. One that is refused goes to `rejected/`, with the reason. */
export class DropBox {
  readonly #context: SessionContext;
  readonly #mailbox: MailboxFolder;
  readonly #inbox: string;
  /** The files that are taken in, until they are durable and gone. */
  readonly #taking = new Set<string>();
  /** What earlier schedulers took of the files that were there at the start. */
  #taken: ReadonlySet<string> | undefined;
  #watcher: FSWatcher | undefined;
  #again: (() => void) | undefined;

  constructor(context: SessionContext, mailbox: MailboxFolder) {
    this.#context = context;
    this.#mailbox = mailbox;
    this.#inbox = join(mailbox.directory, "inbox");
  }

  start(): void {
    const started = attempt(this.#inbox, () => {
      makeDirectory(this.#inbox);
      this.#watcher = watch(this.#inbox, () => this.#look());
      // A folder that is deleted is watched no more; the next scheduler makes it again.
      this.#watcher.on("error", () => this.stop());
      return ok(undefined);
    });
    if (started.ok) this.#look();
    else this.#context.fail(started.error);
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#again?.();
  }

  #look(): void {
    // What a closed session has not taken stays.
    if (!this.#watcher || this.#context.ledger.figures.closed) return;
    const looked = attempt(this.#inbox, () => {
      for (const name of this.#waiting()) this.#take(name);
      return ok(undefined);
    });
    if (!looked.ok) this.#context.fail(looked.error);
  }

  /** The files that are not taken yet, in the order in which they were put there. */
  #waiting(): string[] {
    const names = readdirSync(this.#inbox).filter(
      (name) => name.endsWith(".json") && !name.startsWith(".") && !this.#taking.has(name),
    );
    if (names.length < 2) return names;
    const at = new Map(
      names.map((name) => [name, lstatSync(join(this.#inbox, name), { throwIfNoEntry: false })?.mtimeMs ?? 0]),
    );
    return names.toSorted((a, b) => (at.get(a) ?? 0) - (at.get(b) ?? 0) || (a < b ? -1 : 1));
  }

  #take(name: string): void {
    const read = this.#read(name);
    if (read === "later") return this.#lookLater();
    this.#taking.add(name);
    crashPoint("drop_read");
    if (!read.ok) return this.#refuse(name, {}, read.error);
    const { content, via } = read.value;
    if (this.#wasTaken(via)) return this.#done(name);
    const received = this.#mailbox.mailbox.received(content, this.#context.clock.now());
    if (!received.ok) return this.#refuse(name, content, received.error);
    const { participant, key, ...said } = received.value;
    const known = { participant, ...(key === undefined ? {} : { key }) };
    const actor = { user: participant, host: os.hostname(), via, ...known };
    const refusal = this.#context.submitFromPerson({ source: "user", ...said, actor });
    this.#context.afterCommit(() => (refusal ? this.#reject(name, content, refusal) : this.#done(name)));
    this.#context.schedule();
  }

  /** Records that a file says nothing that a session could decide on. */
  #refuse(name: string, content: JsonObject, why: Failure): void {
    const { code, message, hint } = why;
    const payload = { code, message: `${name}: ${message}`, ...(hint === undefined ? {} : { resolution_hint: hint }) };
    this.#context.note({
      source: "scheduler",
      payload_type: "error",
      payload,
      disposition: "refused",
      actor: SOMEBODY,
    });
    this.#context.afterCommit(() => this.#reject(name, content, why));
  }

  /** Another program may still write the file. */
  #lookLater(): void {
    this.#again?.();
    this.#again = this.#context.clock.after(WRITTEN_MS, () => {
      this.#again = undefined;
      this.#look();
    });
  }

  #read(name: string): Fallible<{ readonly content: JsonObject; readonly via: string }> | "later" {
    const path = join(this.#inbox, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (!file) return "later";
    const isWritten = Math.abs(milliseconds(this.#context.clock.now()) - file.mtimeMs) > WRITTEN_MS;
    if (!file.isFile()) return fails("validation_failed", "it is no file", { hint: "put a JSON file there" });
    if (file.size > MAX_BYTES)
      return fails("validation_failed", `it has ${file.size} bytes`, { hint: `the most are ${MAX_BYTES}` });
    const text = readFileSync(path, "utf8");
    const content = parsedObject(text);
    if (content) return ok({ content, via: VIA + hash("sha256", `${name}\n${text}`).slice(0, 40) });
    return isWritten
      ? fails("validation_failed", "it is no JSON object", { hint: "write one, and rename it into place" })
      : "later";
  }

  /** Whether an earlier scheduler took a file in and died before it removed it. Only then the records are read. */
  #wasTaken(via: string): boolean {
    const { store, session_id } = this.#context;
    this.#taken ??= new Set(
      Array.from(store.records(session_id, 1), (line) => (JSON.parse(line) as UnsealedRecord).record.actor?.via ?? ""),
    );
    return this.#taken.has(via);
  }

  #done(name: string): void {
    this.#move(name, () => rmSync(join(this.#inbox, name), { force: true, recursive: true }));
  }

  /** The reason stands beside what was sent, without its token. */
  #reject(name: string, sent: JsonObject, { code, message, hint }: Failure): void {
    const content = Object.fromEntries(Object.entries(sent).filter(([field]) => field !== "token"));
    this.#move(name, () => {
      const rejected = join(this.#mailbox.directory, "rejected");
      makeDirectory(rejected);
      const error = { code, message, ...(hint === undefined ? {} : { allowed: hint }) };
      writeFileSync(join(rejected, ".writing"), `${JSON.stringify({ ...content, error }, undefined, 2)}\n`, OWN);
      renameSync(join(rejected, ".writing"), join(rejected, name));
      rmSync(join(this.#inbox, name), { force: true, recursive: true });
    });
  }

  #move(name: string, move: () => void): void {
    const moved = attempt(this.#inbox, () => ok(move()));
    this.#taking.delete(name);
    if (!moved.ok) this.#context.fail(moved.error);
  }
}
