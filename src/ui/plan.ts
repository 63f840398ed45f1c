import type { Json } from "../lib/json.ts";
import { shellWord } from "../lib/shell-word.ts";
import { widthOf, wrap } from "../lib/text-layout.ts";
import type { Criterion, Instruction, Step, Task } from "../protocol/payload.ts";
import { hanging, safeLine, safeText, wrapped, wrappedLines } from "./display.ts";
import type { Output } from "./terminal.ts";
import { counted, wordsOf } from "./words.ts";

/** A plan as shown for approval. A revised plan has its differences from the current one. */
export interface ShownPlan extends Partial<RevisedTasks> {
  readonly summary: string;
  readonly tasks: readonly Task[];
  /** The review policy of tasks that do not set their own. */
  readonly review: NonNullable<Task["review"]>;
  /** The checks of every task, from the configuration. */
  readonly checks: readonly Criterion[];
  /** The commands that a revised plan adds to tasks of the current one. */
  readonly new_commands?: readonly string[];
  /** What fails on the commit from which the session starts, before any work. */
  readonly fails_before?: readonly string[];
  /** Groups of tasks that may change the same files. */
  readonly overlaps?: readonly (readonly string[])[];
  /** What roles can do without asking, also against their permissions where nothing enforces these. */
  readonly unheld?: readonly string[];
}

/** The ids of the tasks that a revised plan adds, changes and removes. */
export interface RevisedTasks {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly left_out: readonly string[];
}

/**
 * The whole plan: its summary, and each task with everything that will be run for it. A person approves these commands, so nothing is cut. For a
 * revised plan, only the new and the changed tasks are written out.
 */
export function planLines(plan: ShownPlan, output: Output): string[] {
  const {
    summary,
    tasks,
    checks,
    unheld = [],
    fails_before = [],
    overlaps = [],
    added,
    changed = [],
    left_out = [],
    new_commands = [],
  } = plan;
  const { width } = output;
  const isRevised = added !== undefined;
  const news = new Set([...(added ?? []), ...changed]);
  const unchanged = isRevised ? tasks.filter(({ task_id }) => !news.has(task_id)).map(({ task_id }) => task_id) : [];
  const shown = isRevised ? tasks.filter(({ task_id }) => news.has(task_id)) : tasks;
  return [
    output.style("bold", `A ${isRevised ? "revised " : ""}plan of ${counted(tasks.length, "task")}`),
    ...(summary === "" ? [] : wrappedLines(summary, width, 0)),
    ...idsLines("new", added ?? [], width),
    ...idsLines("changed", changed, width),
    ...idsLines("removed", left_out, width),
    ...idsLines("unchanged", unchanged, width),
    ...(new_commands.length === 0 ? [] : ["  new commands:"]),
    ...new_commands.flatMap((command) => commandLines(command, output)),
    ...shown.flatMap((task) => ["", ...taskLines(task, plan, output)]),
    ...(checks.length === 0 ? [] : ["", output.style("bold", "Checks of every task, from the configuration")]),
    ...checks.flatMap((check) => criterionLines(check, output)),
    ...(fails_before.length === 0 ? [] : ["", output.style("bold", "Fails before any work")]),
    ...fails_before.flatMap((one) => wrapped(one, width, 2)),
    ...(overlaps.length === 0 ? [] : [""]),
    ...overlaps.flatMap((ids) => wrapped(`${OVERLAP} ${ids.join(", ")}`, width, 0)),
    ...(unheld.length === 0 ? [] : [""]),
    ...unheld.flatMap((one) => wrapped(one, width, 0).map((line) => output.style("yellow", line))),
  ];
}

const OVERLAP = "These tasks may change the same files, and those that do are not worked on at the same time:";

function idsLines(what: string, ids: readonly string[], width: number): string[] {
  return ids.length === 0 ? [] : wrapped(`${what}: ${ids.join(", ")}`, width, 2);
}

function taskLines(task: Task, { review }: ShownPlan, output: Output): string[] {
  const { task_id, description, dependencies = [], instruction, acceptance_criteria = [], risks = [] } = task;
  const { width } = output;
  const about = [
    `by ${assignee(task)}`,
    ...(dependencies.length === 0 ? [] : [`after ${dependencies.join(", ")}`]),
    `review: ${task.review ?? review}`,
  ].join("; ");
  const steps =
    instruction === undefined
      ? wrapped("The manager writes the steps when the task begins.", width, 2)
      : instructionLines(instruction, output, description);
  return [
    output.style("bold", safeLine(task_id)),
    ...wrapped(about, width, 2).map((line) => output.style("dim", line)),
    ...wrappedLines(description, width, 2),
    ...steps,
    ...acceptance_criteria.flatMap((criterion) => criterionLines(criterion, output)),
    ...revisionsOf(task).flatMap((one, index) => [
      ...wrapped(`If it is sent back or fails (${index + 1}):`, width, 2),
      ...instructionLines(one, output),
    ]),
    ...risks.flatMap((risk) => wrapped(`risk: ${wordsOf(risk as Json)}`, width, 2)),
  ];
}

function assignee({ assigned_to: { role_id, capability } = {} }: Task): string {
  return role_id ?? (capability === undefined ? "any worker" : `a worker with the capability ${capability}`);
}

/** The instructions that the playbook manager gives after the first one. */
function revisionsOf({ metadata }: Task): readonly Instruction[] {
  const { revisions = [] } = (metadata?.playbook ?? {}) as { readonly revisions?: readonly Instruction[] };
  return revisions;
}

/** An instruction's summary (unless it is the text `above`), its steps and its criteria. */
function instructionLines(
  { summary, steps = [], acceptance_criteria = [] }: Instruction,
  output: Output,
  above?: string,
): string[] {
  return [
    ...(summary === undefined || summary === above ? [] : wrappedLines(wordsOf(summary), output.width, 2)),
    ...steps.flatMap((step, index) => stepLines(step, index + 1, output)),
    ...acceptance_criteria.flatMap((criterion) => criterionLines(criterion, output)),
  ];
}

function stepLines(step: Step, number: number, output: Output): string[] {
  const { text, command, shell } = typeof step === "string" ? { text: step } : step;
  const before = `  ${number}. `;
  const commands = [
    ...(command === undefined ? [] : [argumentsLine(command)]),
    ...(shell === undefined ? [] : [shell]),
  ];
  if (text !== undefined && text !== "") {
    const [first = "", ...more] = hanging(text, output.width, before.length);
    return [before + first, ...more, ...commands.flatMap((one) => commandLines(one, output))];
  }
  return commands.flatMap((one, index) => commandLines(one, output, index === 0 ? before : undefined));
}

function criterionLines(criterion: Criterion, output: Output): string[] {
  const { text, command, expect_exit = 0 } = typeof criterion === "string" ? { text: criterion } : criterion;
  if (command === undefined) return wrapped(`criterion: ${text}`, output.width, 2);
  const passes = expect_exit === 0 ? "" : ` (passes with exit code ${expect_exit})`;
  return [...wrapped(`check: ${text}${passes}`, output.width, 2), ...commandLines(argumentsLine(command), output)];
}

function argumentsLine(command: readonly string[]): string {
  return command.map(shellWord).join(" ");
}

/** A command as written, after `$`. Only lines that are too long are broken. */
function commandLines(command: string, output: Output, before = "     "): string[] {
  return safeText(command.trimEnd())
    .split("\n")
    .flatMap((line) => (widthOf(line) <= output.width - COMMAND_INDENT ? [line] : continued(line, output.width)))
    .map((line, index) => (index === 0 ? `${before}$ ` : " ".repeat(COMMAND_INDENT)) + output.style("cyan", line));
}

const COMMAND_INDENT = 7;

function continued(line: string, width: number): string[] {
  const [first = "", ...more] = wrap(line, width - COMMAND_INDENT - 2);
  return [first, ...more.map((one) => `  ${one}`)];
}
