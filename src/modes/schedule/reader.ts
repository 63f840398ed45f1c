import type { ModeReader } from "../../kernel/mode.ts";
import { apply } from "./apply.ts";
import { schedulePresentation } from "./presentation.ts";
import { empty, type ScheduleState } from "./state.ts";
import { view } from "./view.ts";

/** The scheduler for those who only look: without the rules, and so without what decides by them. */
export const scheduleReader: ModeReader<ScheduleState> = {
  name: "schedule",
  presentation: schedulePresentation,
  empty,
  apply,
  view,
};
