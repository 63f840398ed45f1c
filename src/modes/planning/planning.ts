import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { shownAsSaying, type Speaker, SPEAKERS } from "../../kernel/kit/speakers.ts";
import type { Self } from "../../kernel/kit/state.ts";
import { listOf, objectOf, textOf } from "../../lib/json.ts";

/** The input of a planning. Its planners are role ids. */
interface PlanningInput {
  readonly topic: string;
  readonly planners: readonly string[];
}

/** Several plan the same work, and none sees another's plan. Whoever asked for the plans judges them. */
export const planning: Descriptor<PlanningInput, Self, Speaker> = {
  name: "planning",
  letter: "l",
  rules: 1,
  subject: "planner",
  messages: { requirement: { to: SPEAKERS, answers: ["plan"] } },
  phases: { planning: {} },
  states: {
    waiting: { asked: "asked", left: "left" },
    asked: { answered: "answered", set_back: "waiting", left: "left" },
    answered: {},
    left: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "left" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["topic", "planners"],
    properties: {
      topic: { type: "string", pattern: "\\S" },
      planners: { type: "array", minItems: 2, maxItems: 10, items: { type: "string" } },
    },
  },
  seats: [{ at: "planners.*", types: SPEAKERS }],
  requirement: "topic",
  command: {
    summary: "several roles plan the same work, each alone",
    examples: ['bosun planning --planners ann,ben "Move the store to SQLite"'],
    noun: "topic",
    say: "Say what is to be planned",
    options: [
      { flags: "--planners <ids>", field: "planners", description: "who plans: role ids, separated by commas" },
    ],
  },
  presentation: {
    statementName: "plan",
    statuses: {
      asked: { icon: ">", tone: "busy", stage: "begun" },
      left: { icon: "!", tone: "warn", stage: "failed" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      answered: { icon: "+", tone: "good", stage: "done" },
    },
    lines: { plan: ["summary"] },
    closingReasons: { nobody_left: "No planner gave a plan." },
    seats: ({ plans }) => listOf(plans).map((one) => textOf(objectOf(one).role_id)),
    parts: ({ plans }) =>
      listOf(plans)
        .map(objectOf)
        .map(({ role_id, plan, reason }) => {
          const { summary, tasks } = objectOf(plan);
          const points = listOf(tasks)
            .map(objectOf)
            .map(({ task_id, description }) => `${textOf(task_id)}: ${textOf(description)}`);
          const none = reason === undefined ? "no plan" : `no plan (${textOf(reason)})`;
          return { title: `${textOf(role_id)}: ${plan ? "plan" : none}`, text: textOf(summary), points };
        }),
  },
  shown: shownAsSaying,
};
