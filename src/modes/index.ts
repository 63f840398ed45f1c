import { type Descriptor, readerOf as readerOfKit } from "../kernel/kit/descriptor.ts";
import type { Mode, ModeReader } from "../kernel/mode.ts";
import { debate } from "./debate/debate.ts";
import { pipeline } from "./pipeline/pipeline.ts";
import { scheduleReader } from "./schedule/reader.ts";

/** The descriptor of any mode of the kit. */
export type AnyDescriptor = Descriptor<never, never, never>;

/** A mode of this version. */
interface KnownMode {
  /** The first letter of generated session ids. */
  readonly letter: string;
  /** Loads and shows its sessions. */
  readonly reader: ModeReader<unknown>;
  /** Separate, because the rules take too long to load for commands that only show a session. */
  readonly rules: () => Promise<Mode<unknown>>;
  /** Whether it can discuss a proposal: `schedule/discussion.ts` reads its result. */
  readonly discusses: boolean;
}

const KNOWN = {
  debate: mode("d", readerOfKit(debate), async () => (await import("./debate/mode.ts")).debateMode, "discusses"),
  pipeline: mode("p", readerOfKit(pipeline), async () => (await import("./pipeline/mode.ts")).pipelineMode),
  schedule: mode("s", scheduleReader, async () => (await import("./schedule/mode.ts")).scheduleMode),
};

function mode<S>(
  letter: string,
  reader: ModeReader<S>,
  rules: () => Promise<Mode<S>>,
  discusses?: "discusses",
): KnownMode {
  return { letter, reader, rules, discusses: discusses !== undefined };
}

/** The name of a mode of this version. */
export type ModeName = keyof typeof KNOWN;

/** The modes of this version. Keyed by any string, because a session may have a mode of another one. */
export const MODES: ReadonlyMap<string, KnownMode> = new Map(Object.entries(KNOWN));

/** The letter of a mode's session ids. */
export function letterOf(name: ModeName): string {
  return KNOWN[name].letter;
}

/** The reader for sessions of a mode; undefined if this version does not have it. */
export function readerOf(name: string): ModeReader<unknown> | undefined {
  return MODES.get(name)?.reader;
}

/** The rules of a mode; undefined if this version does not have it. */
export async function loadMode(name: string): Promise<Mode<unknown> | undefined> {
  return MODES.get(name)?.rules();
}

/** All modes, to prove logs of any mode. */
export async function loadModes(): Promise<Map<string, Mode<unknown>>> {
  const modes = await Promise.all([...MODES.values()].map(({ rules }) => rules()));
  return new Map(modes.map((one) => [one.name, one]));
}
