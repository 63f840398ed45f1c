import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { Self, Subject } from "../../kernel/kit/state.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { from } from "../../kernel/references.ts";
import { type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";

/** The input of a pipeline. */
export interface PipelineInput {
  readonly task: string;
  readonly steps: readonly StepInput[];
}

interface StepInput {
  readonly role: string;
  /** What the step is told: `{task}` stands for the task, `{prev_result}` for the latest result, and other braces are text. */
  readonly task_template?: string;
  /** What follows a step that has failed for good: with `skip` the next step, else the end. */
  readonly on_error: "skip" | "retry" | "abort";
  /** How many more times a step is tried that fails; if absent, once for `retry`, else never. */
  readonly retry?: number;
}

/** One step. Its id is its place and its role. */
export interface Step extends Subject {
  readonly role: { readonly role_id: string; readonly type: RoleType };
  /** The id of the step before it. */
  readonly after?: string;
  readonly has_template: boolean;
  readonly is_optional: boolean;
  readonly retry: number;
  /** The sequence of its report. */
  readonly result?: number;
}

const STEP: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: ["role"],
  properties: {
    role: { type: "string" },
    task_template: { type: "string", pattern: "\\S", maxLength: 100_000 },
    on_error: { enum: ["skip", "retry", "abort"], default: "retry" },
    retry: { type: "integer", minimum: 0, maximum: 20 },
  },
};

/** Agents work one after the other, each on the result of the one before (seed 2). */
export const pipeline: Descriptor<PipelineInput, Self, Step> = {
  name: "pipeline",
  letter: "p",
  rules: 1,
  subject: "step",
  messages: { instruction: { to: ["participant", "manager", "worker"], answers: ["report"] } },
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
  requirement: "task",
  command: {
    summary: "agents work one after the other, each on the result of the one before",
    examples: ['bosun pipeline --steps researcher,analyst,writer "A report on the latest trends"'],
    noun: "task",
    say: "Say what to do",
    options: [
      {
        flags: "--steps <ids>",
        field: "steps",
        description: "the roles of the steps, in order, separated by commas",
      },
    ],
    unlessFile: "steps",
    input: ({ steps, ...given }) => ({
      ...given,
      ...(steps === undefined ? {} : { steps: listOf(steps).map((role) => ({ role })) }),
    }),
  },
  presentation: {
    statuses: {
      error: { icon: "x", tone: "bad", stage: "failed" },
      in_progress: { icon: ">", tone: "busy", stage: "begun" },
      pending: { icon: "·", tone: "quiet", stage: "waiting" },
      skipped: { icon: "-", tone: "warn", stage: "failed" },
      done: { icon: "+", tone: "good", stage: "done" },
    },
    closingReasons: { step_failed: "A step failed.", no_result: "Every step was skipped." },
    worthRetrying: ({ result }) =>
      stepsOf(objectOf(result)).flatMap(({ step, status }) => (status === "error" ? [textWithin(step)] : [])),
    parts,
  },
  shown: ({ order, role, has_template, after, retry, result }, { opened }) => ({
    title: from(opened, has_template ? `/input/steps/${order}/task_template` : "/input/task"),
    owner: role.role_id,
    depends_on: after === undefined ? [] : [after],
    max_attempts: retry + 1,
    result,
  }),
};

function stepsOf({ steps }: JsonObject): JsonObject[] {
  return listOf(steps).map(objectOf);
}

/** The output, then the results of the steps that led to it. */
function parts(result: JsonObject): ResultPart[] {
  const points = stepsOf(result).map(({ step, status, reason }) => {
    const why = reason === undefined ? "" : ` (${textWithin(reason)})`;
    return `${textWithin(step)}: ${textWithin(status)}${why}`;
  });
  const done = stepsOf(result).filter((step) => step.result !== undefined);
  return [
    { title: "Output", text: textWithin(result.output) || "No step gave a result.", points },
    ...done.slice(0, -1).map((step) => ({ title: textWithin(step.step), text: textWithin(step.result), points: [] })),
  ];
}
