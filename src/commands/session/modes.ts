import type { Mode, ModeReading } from "../../kernel/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow } from "../../store/store.ts";

interface Loaders {
  readonly rules: () => Promise<Mode<never>>;
  /** Apart, because what decides takes longer to load than a look at a session should. */
  readonly reading: () => Promise<ModeReading<never>>;
}

const LOADERS: Readonly<Record<string, Loaders>> = {
  debate: {
    rules: async () => (await import("../../modes/debate/mode.ts")).debateMode as Mode<never>,
    reading: async () => (await import("../../modes/debate/reading.ts")).debateReading as ModeReading<never>,
  },
  schedule: {
    rules: async () => (await import("../../modes/schedule/mode.ts")).scheduleMode as Mode<never>,
    reading: async () => (await import("../../modes/schedule/reading.ts")).scheduleReading as ModeReading<never>,
  },
};

/** The rules of a kind of session by its name; undefined for a kind that this version does not have. */
export async function loadMode(name: string): Promise<Mode<unknown> | undefined> {
  return LOADERS[name]?.rules();
}

/** What it takes to look at a session of that kind; undefined as above. */
export async function loadReading(name: string): Promise<ModeReading<unknown> | undefined> {
  return LOADERS[name]?.reading();
}

/** All of them, for proving logs of whatever kind. */
export async function loadModes(): Promise<ReadonlyMap<string, Mode<unknown>>> {
  const modes = await Promise.all(Object.values(LOADERS).map(({ rules }) => rules()));
  return new Map(modes.map((mode) => [mode.name, mode as unknown as Mode<unknown>]));
}

/** A session of a kind that this version does not have: it was begun by another. */
export function unknownMode({ session_id, mode }: Pick<SessionRow, "session_id" | "mode">): Failure {
  return failure("environment", `The session ${session_id} is a ${mode}, which this version does not know.`, {
    hint: "Use the version that began it, or a newer one.",
  });
}
