import type { Mode, ModeReader } from "../../kernel/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";

interface Entry {
  /** With what the ids of its sessions begin that nobody named. */
  readonly letter: string;
  /** What `[ticket]` names in its sessions, by the word that people are shown and that the collection of them goes by. */
  readonly subject: string;
  /** A proposal can be discussed in one: its result says what that came to, as `modes/schedule/discussion.ts` reads it. */
  readonly discusses?: true;
  readonly rules: () => Promise<Mode<never>>;
  /** Apart, because what decides takes longer to load than a look at a session should. */
  readonly reading: () => Promise<ModeReader<never>>;
}

const MODES = {
  debate: {
    letter: "d",
    subject: "debater",
    discusses: true,
    rules: async () => (await import("../../modes/debate/mode.ts")).debateMode as Mode<never>,
    reading: async () => (await import("../../modes/debate/reader.ts")).debateReader as ModeReader<never>,
  },
  schedule: {
    letter: "s",
    subject: "ticket",
    rules: async () => (await import("../../modes/schedule/mode.ts")).scheduleMode as Mode<never>,
    reading: async () => (await import("../../modes/schedule/reader.ts")).scheduleReader as ModeReader<never>,
  },
} satisfies Readonly<Record<string, Entry>>;

/** The kinds of session that this version has. */
export type ModeName = keyof typeof MODES;

/** The same by whatever name, since a session may be of another kind. */
const ENTRIES = new Map<string, Entry>(Object.entries(MODES));

/** With what the ids begin that are given to sessions, of one kind and of all. */
export const letterOf = (mode: ModeName): string => MODES[mode].letter;
export const LETTERS = [...ENTRIES.values()].map(({ letter }) => letter).join("");

/** The rules of a kind of session by its name; undefined for a kind that this version does not have. */
export async function loadMode(name: string): Promise<Mode<unknown> | undefined> {
  return ENTRIES.get(name)?.rules();
}

/** What it takes to look at a session of that kind; undefined as above. */
export async function loadReading(name: string): Promise<ModeReader<unknown> | undefined> {
  return ENTRIES.get(name)?.reading();
}

/** The kinds of session in which a proposal can be discussed. */
export const DISCUSSIONS = [...ENTRIES].flatMap(([name, { discusses }]) => (discusses ? [name] : []));

/** Whether a session has a subject of that name; one of a kind that this version does not have has none. */
export function hasSubject(reader: StoreReader, { session_id, mode }: SessionRow, id: string): boolean {
  const subject = ENTRIES.get(mode)?.subject;
  return subject !== undefined && reader.value(session_id, subject, id) !== undefined;
}

/** What such a subject is called. */
export function subjectWord({ mode }: Pick<SessionRow, "mode">): string {
  return ENTRIES.get(mode)?.subject ?? "subject";
}

/** All of them, for proving logs of whatever kind. */
export async function loadModes(): Promise<ReadonlyMap<string, Mode<unknown>>> {
  const modes = await Promise.all([...ENTRIES.values()].map(({ rules }) => rules()));
  return new Map(modes.map((mode) => [mode.name, mode as unknown as Mode<unknown>]));
}

/** A session of a kind that this version does not have: it was begun by another. */
export function unknownMode({ session_id, mode }: Pick<SessionRow, "session_id" | "mode">): Failure {
  return failure("environment", `The session ${session_id} is a ${mode}, which this version does not know.`, {
    hint: "Use the version that began it, or a newer one.",
  });
}
