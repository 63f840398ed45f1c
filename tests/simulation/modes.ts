import type { Mode } from "../../src/kernel/mode.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";

export const MODES: ReadonlyMap<string, Mode<unknown>> = new Map([
  ["schedule", scheduleMode as Mode<unknown>],
  ["debate", debateMode as Mode<unknown>],
]);
