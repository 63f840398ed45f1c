import type { ModeReader } from "../../kernel/mode.ts";
import { apply } from "./apply.ts";
import { schedulePresentation } from "./presentation.ts";
import { empty, type ScheduleState } from "./state.ts";
import { ids, results, subject } from "./view.ts";

/** The part of the schedule mode that loads and shows a session. It imports no rules, so that `status` starts fast. */
export const scheduleReader: ModeReader<ScheduleState> = {
  name: "schedule",
  presentation: schedulePresentation,
  empty,
  apply,
  phase: ({ session }) => session?.phase ?? "planning",
  subjects: "ticket",
  ids,
  subject,
  results,
};
