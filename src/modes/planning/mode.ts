import { checkGraph } from "../../kernel/graph.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { type Speaker, seated, seatOf } from "../../kernel/kit/speakers.ts";
import type { KitState, Self } from "../../kernel/kit/state.ts";
import type { Mode } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { planning } from "./planning.ts";

export const planningMode: Mode<KitState<Self, Speaker>> = {
  ...modeOf(planning, {
    begin: ({ planners }, { payload: { roles } }) => ({ self: {}, subjects: planners.map((id) => seated(id, roles)) }),
    seat: (_self, planner) => ({ seat: seatOf(planner), message: "requirement" }),
    question: ({ self: { opened } }) => ({ payload: { text: from(opened, "/input/topic") } }),
    goOn(draft) {
      const waiting = draft.all().filter(({ status }) => status === "waiting");
      for (const { id } of waiting) draft.offer(id);
      if (waiting.length > 0) return;
      if (draft.count("answered") > 0) draft.finish("done");
      else draft.finish("failed", "nobody_left");
    },
    answered(draft, fact, planner) {
      if (fact.payload_type !== "plan" || !planner) return undefined;
      const { tasks = [] } = fact.payload;
      const graph = checkGraph(
        tasks.map(({ task_id, dependencies = [] }) => ({ id: task_id, depends_on: dependencies })),
      );
      if (!graph.ok) return graph.error;
      draft.move(planner.id, "answered");
      draft.patchSubject(planner.id, { said: fact.sequence });
      return undefined;
    },
    result: (session) => ({
      plans: session.all().map(({ id, said, reason }) => ({
        role_id: id,
        ...(said === undefined ? defined({ reason }) : { plan: from(said) }),
      })),
    }),
  }),
  attached: { plan: { reference: "tasks_ref", field: "tasks" } },
};
