import type { ModeReading } from "../../kernel/mode.ts";
import { apply } from "./apply.ts";
import { scheduleShowing } from "./presentation.ts";
import { empty, type ScheduleState } from "./state.ts";
import { view } from "./view.ts";

/** The scheduler for those who only look: without the rules, and so without what decides by them. */
export const scheduleReading: ModeReading<ScheduleState> = {
  name: "schedule",
  presentation: scheduleShowing,
  empty,
  apply,
  view,
};
