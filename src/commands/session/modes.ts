import type { Mode, ModeReading } from "../../kernel/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";

interface Entry {
  /** The collection in which its sessions keep what `[ticket]` names: their subjects. */
  readonly subjects: string;
  /** A proposal can be discussed in one: its result says what that came to, as `modes/schedule/discussion.ts` reads it. */
  readonly discusses?: true;
  readonly rules: () => Promise<Mode<never>>;
  /** Apart, because what decides takes longer to load than a look at a session should. */
  readonly reading: () => Promise<ModeReading<never>>;
}

const MODES: Readonly<Record<string, Entry>> = {
  debate: {
    subjects: "debater",
    discusses: true,
    rules: async () => (await import("../../modes/debate/mode.ts")).debateMode as Mode<never>,
    reading: async () => (await import("../../modes/debate/reading.ts")).debateReading as ModeReading<never>,
  },
  schedule: {
    subjects: "ticket",
    rules: async () => (await import("../../modes/schedule/mode.ts")).scheduleMode as Mode<never>,
    reading: async () => (await import("../../modes/schedule/reading.ts")).scheduleReading as ModeReading<never>,
  },
};

/** The rules of a kind of session by its name; undefined for a kind that this version does not have. */
export async function loadMode(name: string): Promise<Mode<unknown> | undefined> {
  return MODES[name]?.rules();
}

/** What it takes to look at a session of that kind; undefined as above. */
export async function loadReading(name: string): Promise<ModeReading<unknown> | undefined> {
  return MODES[name]?.reading();
}

/** The kinds of session in which a proposal can be discussed. */
export const DISCUSSIONS = Object.entries(MODES).flatMap(([name, { discusses }]) => (discusses ? [name] : []));

/** Whether a session has a subject of that name; one of a kind that this version does not have has none. */
export function hasSubject(reader: StoreReader, { session_id, mode }: SessionRow, id: string): boolean {
  const subjects = MODES[mode]?.subjects;
  return subjects !== undefined && reader.value(session_id, subjects, id) !== undefined;
}

/** All of them, for proving logs of whatever kind. */
export async function loadModes(): Promise<ReadonlyMap<string, Mode<unknown>>> {
  const modes = await Promise.all(Object.values(MODES).map(({ rules }) => rules()));
  return new Map(modes.map((mode) => [mode.name, mode as unknown as Mode<unknown>]));
}

/** A session of a kind that this version does not have: it was begun by another. */
export function unknownMode({ session_id, mode }: Pick<SessionRow, "session_id" | "mode">): Failure {
  return failure("environment", `The session ${session_id} is a ${mode}, which this version does not know.`, {
    hint: "Use the version that began it, or a newer one.",
  });
}
