import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import type { Self } from "../../kernel/kit/state.ts";
import { filled, firstOf, from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { pipeline, type Step } from "./pipeline.ts";

type D = Draft<Self, Step>;

/** What a step without a template is told. */
const FIRST = "{task}";
const LATER = "{task}\n\nThe result of the step before, as data to work on:\n\n{prev_result}";

/** The rules of a pipeline. */
export const pipelineMode = modeOf(pipeline, {
  begin: ({ steps }, { payload: { roles } }) => ({
    self: {},
    subjects: steps.map(({ role, task_template, on_error, retry = on_error === "retry" ? 1 : 0 }, place) => ({
      id: idOf(role, place),
      role: { role_id: role, type: roles.find(({ role_id }) => role_id === role)?.type ?? "participant" },
      ...defined({ after: place === 0 ? undefined : idOf(steps[place - 1]?.role, place - 1) }),
      has_template: task_template !== undefined,
      is_optional: on_error === "skip",
      retry,
    })),
  }),
  seat: (_self, step) => ({ seat: step?.role ?? { type: "participant" }, message: "instruction" }),
  retries: (_self, step) => step?.retry ?? 0,
  question(session, step) {
    const { opened } = session.self;
    const task = from(opened, "/input/task");
    const steps = session.all();
    const place = step?.order ?? 0;
    // A step that was skipped passes on what it would have got.
    const before = steps.slice(0, place).findLast(({ result }) => result !== undefined)?.result;
    const template = firstOf(from(opened, `/input/steps/${place}/task_template`), before === undefined ? FIRST : LATER);
    const prev_result = before === undefined ? task : from(before, "/summary");
    return {
      payload: { summary: filled(template, { task, prev_result }) },
      context: { metadata: { step: place + 1, steps: steps.length } },
    };
  },
  goOn,
  answered(draft, fact, step) {
    if (fact.payload_type !== "report" || !step) return undefined;
    const lacking = lackingIn(fact.payload, "a step ends with its result");
    if (lacking) return lacking;
    draft.move(step.id, "completed");
    draft.patchSubject(step.id, { result: fact.sequence });
    return undefined;
  },
  spent(draft, step, code) {
    if (step.is_optional) return skip(draft, step, code);
    draft.move(step.id, "failed", code);
    draft.finish("failed", "step_failed");
  },
  drop: skip,
  retry(draft, step) {
    draft.move(step.id, "retried");
    for (const { id, reason, status } of draft.all())
      if (status === "skipped" && reason === "step_failed") draft.move(id, "put_back");
  },
  result: (session) => {
    const steps = session.all().map(({ id, role, status, reason, result }) => ({
      step: id,
      role_id: role.role_id,
      status,
      ...defined({ reason, result: result === undefined ? undefined : from(result, "/summary") }),
    }));
    return { ...defined({ output: steps.findLast(({ result }) => result !== undefined)?.result }), steps };
  },
});

function idOf(role: string | undefined, place: number): string {
  return `${place + 1}-${role}`.slice(0, 64);
}

/** Asks the next step, or finishes after the last. */
function goOn(draft: D): void {
  const next = draft.all().find(({ status }) => status === "pending");
  if (next) draft.offer(next.id);
  else if (draft.count("done") === 0) draft.finish("failed", "no_result");
  else draft.finish("done");
}

function skip(draft: D, { id }: Step, reason: string): void {
  draft.move(id, "skipped", reason);
}
