import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import type { View } from "../../kernel/kit/state.ts";
import { stepResult } from "../../kernel/kit/steps.ts";
import { madeBy, transformed } from "../../kernel/kit/transform.ts";
import type { Reference } from "../../kernel/mode.ts";
import { cutTo, filled, firstOf, from, linesOf } from "../../kernel/references.ts";
import { defined, type Json } from "../../lib/json.ts";
import { type Pipeline, pipeline, type PipelineInput, type Step } from "./pipeline.ts";

type D = Draft<Pipeline, Step>;

/** What a step without a template is told. */
const FIRST = "{task}";
const LATER = "{task}\n\nThe result of the step before, as data to work on:\n\n{prev_result}";

/** Maximum length of what a step is told of results, all together. The records have the whole. */
const HANDED_ON = 100_000;

const WHY_COMMANDS = "The pipeline has it make one text of another, in the strictest sandbox of the workers.";

export const pipelineMode = modeOf(pipeline, {
  begin({ steps }, { payload: { roles, config } }) {
    const commands = steps.flatMap(({ transform }) => (transform?.command ? [transform.command] : []));
    const blocks = blocksOf(steps);
    return {
      self: { asks: config.plan_approval === "ask", ...(commands.length > 0 ? { commands } : {}) },
      subjects: steps.map(({ role, task_template, transform, on_error, retry }, place) => ({
        id: idOf(role, place),
        role: { role_id: role, type: roles.find(({ role_id }) => role_id === role)?.type ?? "participant" },
        block: blocks[place] ?? 0,
        after: steps.flatMap((other, at) => (blocks[at] === (blocks[place] ?? 0) - 1 ? [idOf(other.role, at)] : [])),
        has_template: task_template !== undefined,
        is_optional: on_error === "skip",
        retry: retry ?? (on_error === "retry" ? 1 : 0),
        ...defined({ transform }),
      })),
    };
  },
  seat: (_self, step) => ({ seat: step?.role ?? { type: "participant" }, message: "instruction" }),
  retries: (_self, step) => step?.retry ?? 0,
  question(session, step) {
    const { opened } = session.self;
    const task = from(opened, "/input/task");
    const steps = session.all();
    const place = step?.order ?? 0;
    const before = handedOn(session, step?.block ?? 0);
    const template = firstOf(from(opened, `/input/steps/${place}/task_template`), before === undefined ? FIRST : LATER);
    const skipped = steps.slice(0, place).flatMap(({ id, status }) => (status === "skipped" ? [id] : []));
    return {
      payload: { summary: filled(template, { task, prev_result: before ?? task }) },
      context: { metadata: { step: place + 1, steps: steps.length, ...(skipped.length > 0 ? { skipped } : {}) } },
    };
  },
  goOn,
  answered(draft, fact, step) {
    if (fact.payload_type !== "report" || !step) return undefined;
    const { id, order, transform } = step;
    const { summary = "" } = fact.payload;
    const lacking = lackingIn(fact.payload, "a step ends with its result");
    if (lacking) return lacking;
    const place = `/input/steps/${order}/transform`;
    const made = transform && transformed(draft, id, { transform, place, summary });
    if (made?.ok === false) return made.error;
    draft.patchSubject(id, { result: fact.sequence });
    if (!made) complete(draft, id, from(fact.sequence, "/summary"));
    else if (made.value) complete(draft, id, made.value);
    return undefined;
  },
  checked(draft, fact, step) {
    const made = madeBy(fact);
    if (!made.ok) return made.error;
    if (step) complete(draft, step.id, made.value);
    return undefined;
  },
  allowed(draft, isAllowed) {
    if (!isAllowed) draft.finish("cancelled", "commands_refused");
  },
  spent(draft, step, code) {
    if (step.is_optional) return draft.move(step.id, "skipped", code);
    draft.move(step.id, "failed", code);
    draft.finish("failed", "step_failed");
  },
  retry(draft, step) {
    draft.move(step.id, "retried");
    for (const { id, reason, status } of draft.all())
      if (status === "skipped" && reason === "step_failed") draft.move(id, "put_back");
  },
  result: (session) => {
    const steps = session.all().map((step) => stepResult(step, step.role.role_id, step.handed_on));
    return { ...defined({ output: handedOn(session, Infinity) }), steps };
  },
});

function idOf(role: string, place: number): string {
  return `${place + 1}-${role}`.slice(0, 64);
}

/** For each step the place of its group, or its own, among those that work one after the other. */
function blocksOf(steps: PipelineInput["steps"]): number[] {
  let block = -1;
  return steps.map(({ group }, place) => {
    if (group === undefined || group !== steps[place - 1]?.group) block += 1;
    return block;
  });
}

/** The latest results before a block: of a group, each under the name of its step. A step that was skipped passes on what it would have got. */
function handedOn(session: View<Pipeline, Step>, block: number): Json | undefined {
  const before = session.all().filter((step) => step.block < block);
  const last = before.findLast(({ handed_on }) => handed_on !== undefined)?.block;
  const latest = before.filter((step) => step.block === last);
  const results = latest.flatMap(({ id, handed_on }) => (handed_on ? [{ id, handed_on }] : []));
  const cutResult = (result: Reference) =>
    cutTo(result, { characters: Math.floor(HANDED_ON / results.length), items: 1_000 });
  if (latest.length > 1)
    return linesOf(...results.map(({ id, handed_on }) => [`${id}:`, cutResult(handed_on)] as const));
  return results[0] && cutResult(results[0].handed_on);
}

/** Shows the commands first. Asks the next step, or all of its group, or finishes after the last. */
function goOn(draft: D): void {
  const { commands, asks } = draft.self;
  if (commands) {
    draft.patch({ commands: undefined });
    draft.showCommands(commands, { asks, why: WHY_COMMANDS });
    if (asks) return;
  }
  const pending = draft.all().filter(({ status }) => status === "pending");
  for (const { id, block } of pending) if (block === pending[0]?.block) draft.offer(id);
  if (pending.length > 0) return;
  if (draft.count("done") === 0) draft.finish("failed", "no_result");
  else draft.finish("done");
}

function complete(draft: D, id: string, handed_on: Reference): void {
  draft.move(id, "completed");
  draft.patchSubject(id, { handed_on });
}
