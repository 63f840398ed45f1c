import { type Presentation, statusesOf } from "../../kernel/presentation.ts";
import { join } from "node:path";
import { type Listing, listFolder, recordIn, readFolder, type RecordFile, readPlainFile } from "../../log/reader.ts";
import { MAX_RECORD_BYTES } from "../../protocol/limits.ts";
import type { LogRecord } from "../../protocol/record.ts";
import type { Retell } from "../../runtime/retelling.ts";
import { resolverOf } from "../../runtime/records.ts";
import type { SessionModel } from "../model/model.ts";
import { RecordFormatter } from "../record-formatter.ts";
import { BRIEF } from "../record-event.ts";
import { type StoryLine, storyOf } from "../tui/stories.ts";
import type { TimeRange } from "./moment.ts";
import type { ShownRecord } from "./shown-record.ts";
import { States } from "./states.ts";
import { type Entry, entryOf, isComplete, type Tape } from "./tape.ts";

export interface ReadFile {
  /** Undefined if the file holds no record. */
  readonly record: LogRecord | undefined;
  /** Null if the file cannot be read. */
  readonly bytes: Buffer | null;
}

/** Maximum number of records that the latest events, or a ticket's story, are built from. */
const RECORDS_TOLD = 60;

/** After a record of these types, a session stops writing. */
const ENDS: ReadonlySet<string> = new Set(["session_closed", "session_stopped"]);

/** A log folder being played. It keeps an `Entry` for each record, and reads the record again to show it. */
export class Recording {
  /** How the session's mode shows its subjects. Set it before the records are read on. */
  presentation: Presentation | undefined;
  readonly #folder: string;
  readonly #retell: Retell;
  #files: readonly RecordFile[];
  #tape: Tape;
  readonly #entries: Entry[] = [];
  readonly #states: States;
  #resolved: (record: LogRecord) => LogRecord;

  /** `grows`: whether a session still writes to the folder. */
  constructor(folder: string, listing: Listing, grows: boolean, retell: Retell) {
    this.#retell = retell;
    this.#folder = folder;
    this.#files = listing.files;
    this.#tape = this.#tapeOf(grows);
    this.#resolved = resolverOf(folder, listing);
    this.#states = new States((place) => this.read(place).record);
  }

  get tape(): Tape {
    return this.#tape;
  }

  #tapeOf(grows: boolean): Tape {
    return { sequences: this.#files.map(({ sequence }) => sequence), entries: this.#entries, grows };
  }

  /** Checks for new records of the session. */
  lookAgain(): void {
    if (!this.#tape.grows) return;
    const listed = listFolder(this.#folder);
    const last = this.#files.at(-1)?.sequence ?? 0;
    const more = listed.ok ? listed.value.files.filter(({ sequence }) => sequence > last) : [];
    if (more.length === 0) return;
    this.#files = [...this.#files, ...more];
    this.#resolved = resolverOf(this.#folder, { files: this.#files, foreign: [] });
    this.#tape = this.#tapeOf(!more.some(({ payload_type }) => ENDS.has(payload_type)));
  }

  /** Reads on for at most `ms`. */
  readMore(ms: number): void {
    const until = performance.now() + ms;
    while (!isComplete(this.tape) && performance.now() < until) {
      const place = this.#entries.length;
      const file = this.#files[place];
      if (file === undefined) return;
      const { record, bytes } = this.read(place);
      const failed = statusesOf(this.presentation, "failed");
      this.#entries.push(entryOf(file, record, bytes?.length ?? 0, this.#entries.at(-1), failed));
      this.#states.add(record);
    }
  }

  read(place: number): ReadFile {
    const file = this.#files[place];
    const bytes = file === undefined ? null : readPlainFile(join(this.#folder, file.name), MAX_RECORD_BYTES);
    const record = recordIn(bytes) ?? undefined;
    return { bytes, record: file && record && this.#retell(file.sequence, record) };
  }

  /** Whether a record's file contains a text, ignoring case. */
  has(place: number, text: string): boolean {
    // The text as escaped in JSON.
    const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
    return this.read(place).bytes?.toString("utf8").toLowerCase().includes(wanted) ?? false;
  }

  /** The record at `place`, as stored and as it was sent. */
  shown(place: number): ShownRecord {
    const { bytes, record: stored } = this.read(place);
    return { name: this.#files[place]?.name ?? "", bytes, stored, resolved: stored && this.#resolved(stored) };
  }

  /** The session as of the record at `place`; valid until the next call. */
  modelAt(place: number): SessionModel {
    return this.#states.at(place);
  }

  /** The latest events as of `place`, oldest first. */
  eventsAt(place: number): StoryLine[] {
    const places = Array.from({ length: RECORDS_TOLD }, (_, index) => place - RECORDS_TOLD + 1 + index);
    return this.#told(places.filter((one) => one >= 0));
  }

  /** The latest events of a ticket as of `place`, oldest first. */
  storyAt(place: number, ticket_id: string): StoryLine[] {
    const places: number[] = [];
    for (let one = place; one >= 0 && places.length < RECORDS_TOLD; one -= 1)
      if (this.#entries[one]?.ticket === ticket_id) places.push(one);
    return this.#told(places.reverse()).filter(({ ticket }) => ticket === ticket_id);
  }

  #told(places: readonly number[]): StoryLine[] {
    const formatter = new RecordFormatter();
    return places.flatMap((place) => {
      const { record } = this.read(place);
      return record === undefined ? [] : storyOf(record, formatter, { ...BRIEF, presentation: this.presentation });
    });
  }
}

/** The times of the first and the last readable record. */
export function spanOf(folder: string, files: readonly RecordFile[]): TimeRange {
  const instantIn = (some: readonly RecordFile[]) => {
    for (const { bytes } of readFolder(folder, { files: some, foreign: [] })) {
      const record = recordIn(bytes);
      if (record !== null) return Date.parse(record.record.received_at);
    }
    return 0;
  };
  return { from: instantIn(files), to: instantIn(files.toReversed()) };
}
