import type { Mode } from "../../kernel/mode.ts";
import { decide } from "./decide.ts";
import { request } from "./request.ts";
import { SCHEDULE_RIGHTS } from "./rights.ts";
import { apply, empty, type ScheduleState } from "./state.ts";
import { view } from "./view.ts";

/** The scheduler: a manager plans, instructs and reviews tickets; workers do them (the founding design, seed 4). */
export const scheduleMode: Mode<ScheduleState> = {
  name: "schedule",
  rules: 1,
  rights: SCHEDULE_RIGHTS,
  attached: { plan: { reference: "tasks_ref", field: "tasks" } },
  empty,
  decide,
  apply,
  request,
  phase: (state) => state.session?.phase ?? "planning",
  view,
};
