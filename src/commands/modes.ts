import type { Mode } from "../kernel/mode.ts";

const LOADERS: Readonly<Record<string, () => Promise<Mode<never>>>> = {
  debate: async () => (await import("../modes/debate/mode.ts")).debateMode as Mode<never>,
  schedule: async () => (await import("../modes/schedule/mode.ts")).scheduleMode as Mode<never>,
};

/** The rules of a kind of session by its name; undefined for a kind that this version does not have. */
export async function loadMode(name: string): Promise<Mode<unknown> | undefined> {
  return LOADERS[name]?.();
}

/** All of them, for proving logs of whatever kind. */
export async function loadModes(): Promise<ReadonlyMap<string, Mode<unknown>>> {
  const modes = await Promise.all(Object.values(LOADERS).map((load) => load()));
  return new Map(modes.map((mode) => [mode.name, mode as unknown as Mode<unknown>]));
}
