import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { introduced, type Seated } from "../../kernel/kit/seated.ts";
import { sharedState } from "../../kernel/kit/shared-state.ts";
import { SPEAKERS } from "../../kernel/kit/speakers.ts";
import type { Self, Subject, View } from "../../kernel/kit/state.ts";
import { STEP_STATUSES, stepParts, stepResult } from "../../kernel/kit/steps.ts";
import { type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";

/** The input of an orchestration. `agents` and `planner` are role ids. */
interface OrchestrationInput extends Pick<Orchestration, "max_steps" | "max_replans" | "review_plan"> {
  readonly task: string;
  readonly agents: readonly string[];
  readonly planner: string;
}

/** A step of the plan. Its id counts up, so that no plan names a step anew. */
export interface PlanStep extends Subject {
  readonly agent: string;
  readonly task: string;
  /** The sequence of its report. */
  readonly result?: number;
}

/** The orchestration's own value. The session's seat is the planner's. */
export interface Orchestration extends Self {
  readonly planner: { readonly role_id: string; readonly type: RoleType };
  readonly agents: readonly (Seated & { readonly id: string })[];
  readonly max_steps: number;
  readonly max_replans: number;
  readonly review_plan: boolean;
  /** How many steps have begun, and how often the open ones were changed. */
  readonly begun: number;
  readonly replans: number;
  /** How many steps in a row have brought nothing, by the planner's judgement or since they failed. */
  readonly stalls: number;
  /** The sequence of the decision with the final report. */
  readonly finished_by?: number;
}

/** A planner plans steps for agents, judges each result, changes the plan if need be, and sums up (seed 2). */
export const orchestration: Descriptor<OrchestrationInput, Orchestration, PlanStep> = {
  name: "orchestration",
  letter: "o",
  rules: 1,
  subject: "step",
  seat: "planner",
  messages: {
    shared_state: { to: ["manager", "participant"], answers: ["plan_decision"] },
    message: { to: SPEAKERS, answers: ["report"] },
  },
  lines: { plan_decision: { text: "/analysis", as: "FEEDBACK" }, report: { text: "/summary" } },
  phases: {
    planning: { planned: "executing" },
    executing: { sent_back: "planning", steps_over: "concluding" },
    concluding: {},
  },
  states: {
    pending: { asked: "in_progress", left: "skipped" },
    in_progress: { completed: "done", set_back: "pending", failed: "error", left: "skipped" },
    done: {},
    error: {},
    skipped: {},
  },
  events: { created: "planned", asked: "asked", failed: "set_back", left: "left" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["task", "agents", "planner"],
    properties: {
      task: { type: "string", pattern: "\\S" },
      agents: { type: "array", minItems: 1, maxItems: 100, items: { type: "string" } },
      planner: { type: "string" },
      max_steps: { type: "integer", minimum: 1, maximum: 100, default: 10 },
      max_replans: { type: "integer", minimum: 0, maximum: 100, default: 3 },
      review_plan: { type: "boolean", default: false },
    },
  },
  seats: [
    { at: "agents.*", types: SPEAKERS },
    { at: "planner", types: ["manager", "participant"], fills: true },
  ],
  requirement: "task",
  command: {
    words: "orchestrate",
    summary: "a planner has agents carry out a plan that it may change, and sums up",
    examples: ['bosun orchestrate "Rank three cities to live in" --agents researcher,analyst,writer --max-steps 6'],
    noun: "task",
    say: "Say what to do",
    options: [
      { flags: "--agents <ids>", field: "agents", description: "who carries out steps: role ids, with commas between" },
      { flags: "--planner <id>", field: "planner", description: "who plans (default: the first other manager)" },
      { flags: "--max-steps <n>", field: "max_steps", description: "how many steps may begin (default: 10)" },
      { flags: "--max-replans <n>", field: "max_replans", description: "how often a plan may change (default: 3)" },
      { flags: "--review-plan", field: "review_plan", description: "ask you about each plan before it is carried out" },
    ],
  },
  presentation: {
    statuses: STEP_STATUSES,
    lines: { plan_decision: ["final_report", "analysis"], message: ["content"] },
    closingReasons: {
      no_plan: "The planner made no plan.",
      no_report: "The planner wrote no report: the results of the steps stand in its place.",
    },
    parts(result) {
      const { begun, max_steps, replans, max_replans } = objectOf(result.plan);
      const title = result.report === undefined ? "No report" : `Report of ${textOf(result.planner)}`;
      const text = textOf(result.report) || "The session ended without one.";
      const changed = `the plan changed ${Number(replans)} of at most ${Number(max_replans)} times`;
      return stepParts(result, { title, text }, [`${Number(begun)} of at most ${Number(max_steps)} steps; ${changed}`]);
    },
  },
  shown: ({ agent, task, result }) => ({ title: task, owner: agent, result }),
  projection: stateOf,
};

/** Where an orchestration stands, as the planner and programs get it. */
export function stateOf(session: View<Orchestration, PlanStep>): JsonObject {
  const { planner, agents, phase, begun, max_steps, max_replans, replans, stalls } = session.self;
  const status = phase === "planning" ? phase : session.count("in_progress") > 0 ? "executing" : "reviewing";
  const progress = { status, current_step: begun, max_steps, isPlanned: true, lead: planner.role_id } as const;
  return {
    ...sharedState(orchestration, session, progress),
    agents: agents.map(introduced),
    steps: session.all().map((step) => stepResult(step, step.agent, undefined, { task: step.task })),
    replans_left: max_replans - replans,
    stalls,
    ...(phase === "concluding" ? { must_finish: true } : {}),
  };
}
