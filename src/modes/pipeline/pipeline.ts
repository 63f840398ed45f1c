import type { CheckCommand } from "../../kernel/kit/commands.ts";
import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { sharedState } from "../../kernel/kit/shared-state.ts";
import type { Self, Subject } from "../../kernel/kit/state.ts";
import { STEP_STATUSES, stepParts, stepsOf } from "../../kernel/kit/steps.ts";
import { TRANSFORM, type Transform, wrongTransform } from "../../kernel/kit/transform.ts";
import type { Reference } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { type JsonObject, listOf, objectOf, textOf, textWithin } from "../../lib/json.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import type { RoleType } from "../../protocol/roles.ts";

export interface PipelineInput {
  readonly task: string;
  readonly steps: readonly StepInput[];
}

interface StepInput {
  readonly role: string;
  /** What the step is told: `{task}` stands for the task, `{prev_result}` for the latest result, and other braces are text. */
  readonly task_template?: string;
  /** Neighbours of one group work at once, each on the result of the step before the group. */
  readonly group?: string;
  readonly transform?: Transform;
  /** What follows a step that has failed for good: with `skip` the next step, else the end. */
  readonly on_error: "skip" | "retry" | "abort";
  /** How many more times a step is tried that fails; if absent, once for `retry`, else never. */
  readonly retry?: number;
}

/** The pipeline's own value. */
export interface Pipeline extends Self {
  /** The commands of transforms, until they are shown, and whether a person has to allow them. */
  readonly commands?: readonly CheckCommand[];
  readonly asks: boolean;
}

/** One step. Its id is its place and its role. */
export interface Step extends Subject {
  readonly role: { readonly role_id: string; readonly type: RoleType };
  /** The place of its group, or its own, among those that work one after the other. */
  readonly block: number;
  /** The ids of the block before it. */
  readonly after: readonly string[];
  readonly has_template: boolean;
  readonly is_optional: boolean;
  readonly retry: number;
  readonly transform?: Transform;
  /** The sequence of its report. */
  readonly result?: number;
  /** The text that it hands on; it is done then. */
  readonly handed_on?: Reference;
}

const STEP: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: ["role"],
  properties: {
    role: { type: "string" },
    task_template: { type: "string", pattern: "\\S", maxLength: 100_000 },
    group: { type: "string", pattern: "\\S", maxLength: 64 },
    transform: TRANSFORM,
    on_error: { enum: ["skip", "retry", "abort"], default: "retry" },
    retry: { type: "integer", minimum: 0, maximum: 20 },
  },
};

/** Agents work one after the other, each on the result of the one before (seed 2). */
export const pipeline: Descriptor<PipelineInput, Pipeline, Step> = {
  name: "pipeline",
  letter: "p",
  rules: 2,
  rows: 2,
  subject: "step",
  messages: { instruction: { to: ["participant", "manager", "worker"], answers: ["report"] } },
  lines: { report: { text: "/summary" } },
  phases: { running: {} },
  states: {
    pending: { asked: "in_progress", skipped: "skipped", failed: "error" },
    in_progress: { completed: "done", set_back: "pending", skipped: "skipped", failed: "error" },
    done: {},
    skipped: { put_back: "pending" },
    error: { retried: "pending" },
  },
  events: { created: "created", asked: "asked", failed: "set_back", left: "skipped", retried: "retried" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["task", "steps"],
    properties: {
      task: { type: "string", pattern: "\\S" },
      steps: { type: "array", minItems: 1, maxItems: 100, items: STEP },
    },
  },
  seats: [{ at: "steps.*.role", types: ["participant", "worker", "manager"], shared: true }],
  check: ({ steps }) =>
    steps.flatMap((step, place) => [
      ...wrongPlaceholders(step, `/steps/${place}/task_template`),
      ...wrongTransform(step.transform, `/steps/${place}/transform`),
    ]),
  requirement: "task",
  command: {
    summary: "agents work one after the other, each on the result of the one before",
    examples: [
      'bosun pipeline --steps researcher,analyst,writer "A report on the latest trends"',
      'bosun pipeline --steps researcher,critic+optimist,writer "A report on the latest trends"',
    ],
    noun: "task",
    say: "Say what to do",
    options: [
      {
        flags: "--steps <ids>",
        field: "steps",
        description: "the roles of the steps, in order, separated by commas; with + between them they work at once",
      },
    ],
    unlessFile: "steps",
    input: ({ steps, ...given }) => ({
      ...given,
      ...(steps === undefined ? {} : { steps: typedSteps(listOf(steps)) }),
    }),
  },
  presentation: {
    statuses: STEP_STATUSES,
    lines: { message: ["content"] },
    closingReasons: {
      step_failed: "A step failed.",
      no_result: "Every step was skipped.",
      commands_refused: "Its commands were not allowed.",
    },
    worthRetrying: ({ result }) =>
      stepsOf(objectOf(result)).flatMap(({ step, status }) => (status === "error" ? [textWithin(step)] : [])),
    parts: (result) => stepParts(result, { title: "Output", text: textOf(result.output) || "No step gave a result." }),
  },
  shown: ({ order, role, has_template, after, retry, result, handed_on }, { opened }) => ({
    title: from(opened, has_template ? `/input/steps/${order}/task_template` : "/input/task"),
    owner: role.role_id,
    depends_on: after,
    max_attempts: retry + 1,
    result: handed_on && result,
  }),
  projection: (session) => {
    const over = session.count("done") + session.count("skipped");
    const progress = { status: "executing", current_step: over, max_steps: session.all().length } as const;
    return sharedState(pipeline, session, { ...progress, isPlanned: true });
  },
};

/** The steps of `a,b+c`: `b` and `c` are a group. */
function typedSteps(typed: readonly unknown[]): JsonObject[] {
  return typed.flatMap((part, place) => {
    const roles = String(part).split("+");
    return roles.map((role) => ({ role: role.trim(), ...(roles.length > 1 ? { group: `group-${place + 1}` } : {}) }));
  });
}

/** A word in single braces looks like a placeholder. Other braces are text, such as those of JSON. */
function wrongPlaceholders({ task_template = "" }: StepInput, pointer: string): Finding[] {
  const words = new Set(Array.from(task_template.matchAll(/(?<!\{)\{(\w+)\}(?!\})/g), ([, word = ""]) => word));
  const unknown = [...words].filter((word) => word !== "task" && word !== "prev_result");
  const expected = "{task} or {prev_result}; a word in braces that is text is written {{so}}";
  return unknown.map((word) => ({ pointer, what: `"task_template" has the unknown placeholder {${word}}`, expected }));
}
