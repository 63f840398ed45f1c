import type { ModeReading } from "../../kernel/mode.ts";
import { apply } from "./apply.ts";
import { empty, type ScheduleState } from "./state.ts";
import { view } from "./view.ts";

/** The scheduler for those who only look: without the rules, and so without what decides by them. */
export const scheduleReading: ModeReading<ScheduleState> = {
  name: "schedule",
  // Its reports have tickets and no result.
  showing: { subject: "ticket", parts: () => [] },
  empty,
  apply,
  view,
};
