import type { ModeReading } from "../../kernel/mode.ts";
import { apply } from "./apply.ts";
import { empty, type ScheduleState } from "./state.ts";
import { view } from "./view.ts";

/** The scheduler for those who only look: without the rules, and so without what decides by them. */
export const scheduleReading: ModeReading<ScheduleState> = {
  name: "schedule",
  showing: {
    subject: "ticket",
    because: {
      tickets_failed: "Not every ticket could be done.",
      result_rejected: "The result was not accepted.",
      plan_rejected: "The plan was not approved.",
    },
    // Its reports have tickets and no result.
    parts: () => [],
  },
  empty,
  apply,
  view,
};
