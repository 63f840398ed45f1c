import { type Descriptor, readerOf as readerOfKit } from "../kernel/kit/descriptor.ts";
import type { Mode, ModeReader } from "../kernel/mode.ts";
import { analysis } from "./analysis/analysis.ts";
import { conversation } from "./conversation/conversation.ts";
import { council } from "./council/council.ts";
import { debate } from "./debate/debate.ts";
import { meeting } from "./meeting/meeting.ts";
import { panel } from "./panel/panel.ts";
import { orchestration } from "./orchestration/orchestration.ts";
import { planning } from "./planning/planning.ts";
import { pipeline } from "./pipeline/pipeline.ts";
import { scheduleReader } from "./schedule/reader.ts";

export type AnyDescriptor = Descriptor<never, never, never>;

interface KnownMode {
  /** The first letter of generated session ids. */
  readonly letter: string;
  /** Loads and shows its sessions. */
  readonly reader: ModeReader<unknown>;
  /** Separate, because the rules take too long to load for commands that only show a session. */
  readonly rules: () => Promise<Mode<unknown>>;
  /** Whether it can discuss a proposal: `schedule/discussion.ts` reads its result. */
  readonly discusses: boolean;
  /** Set for a mode of the kit, which has a command of its own name made from this. */
  readonly descriptor?: AnyDescriptor;
}

const KNOWN: readonly KnownMode[] = [
  ofKit(analysis, async () => (await import("./analysis/mode.ts")).analysisMode),
  ofKit(conversation, async () => (await import("./conversation/mode.ts")).conversationMode),
  ofKit(council, async () => (await import("./council/mode.ts")).councilMode, "discusses"),
  ofKit(debate, async () => (await import("./debate/mode.ts")).debateMode, "discusses"),
  ofKit(meeting, async () => (await import("./meeting/mode.ts")).meetingMode, "discusses"),
  ofKit(orchestration, async () => (await import("./orchestration/mode.ts")).orchestrationMode),
  ofKit(panel, async () => (await import("./panel/mode.ts")).panelMode),
  ofKit(pipeline, async () => (await import("./pipeline/mode.ts")).pipelineMode),
  ofKit(planning, async () => (await import("./planning/mode.ts")).planningMode),
  {
    letter: "s",
    reader: scheduleReader,
    rules: async () => (await import("./schedule/mode.ts")).scheduleMode,
    discusses: false,
  },
];

function ofKit(descriptor: AnyDescriptor, rules: KnownMode["rules"], discusses?: "discusses"): KnownMode {
  const { letter } = descriptor;
  return { letter, reader: readerOfKit(descriptor), rules, discusses: discusses !== undefined, descriptor };
}

export const MODES: ReadonlyMap<string, KnownMode> = new Map(KNOWN.map((mode) => [mode.reader.name, mode]));

/** The descriptors of the modes of the kit. */
export const DESCRIPTORS: readonly AnyDescriptor[] = KNOWN.flatMap(({ descriptor }) => descriptor ?? []);

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
  const modes = await Promise.all(KNOWN.map(({ rules }) => rules()));
  return new Map(modes.map((one) => [one.name, one]));
}
