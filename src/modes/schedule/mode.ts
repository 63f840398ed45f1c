import type { Mode } from "../../kernel/mode.ts";
import { decide } from "./decide.ts";
import { scheduleReader } from "./reader.ts";
import { request } from "./request.ts";
import { SCHEDULE_RIGHTS } from "./rights.ts";
import type { ScheduleState } from "./state.ts";

/** The schedule mode: a manager plans, instructs and reviews tickets; workers do them. */
export const scheduleMode: Mode<ScheduleState> = {
  ...scheduleReader,
  rules: 16,
  rights: SCHEDULE_RIGHTS,
  attached: { plan: { reference: "tasks_ref", field: "tasks" } },
  decide,
  request,
};
