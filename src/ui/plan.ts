import type { Json } from "../lib/json.ts";
import type { ResolvedConfiguration, Task } from "../protocol/payload.ts";
import { clipped, wrapped, wrappedLines } from "./display.ts";
import { PROSE_WIDTH, tableLines } from "./table.ts";
import type { Output } from "./terminal.ts";
import { counted, wordsOf } from "./words.ts";

/** A plan as it is shown for approval. A revised one has its differences from the current plan. */
export interface ShownPlan extends Partial<RevisedTasks> {
  readonly summary: string;
  readonly tasks: readonly Task[];
  /** The review policy of tasks without their own. */
  readonly review: ResolvedConfiguration["review"];
}

/** The ids of the tasks that a revised plan adds, changes and removes. */
export interface RevisedTasks {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly left_out: readonly string[];
}

/** The width of a list of task ids, in columns. */
const IDS_WIDTH = 400;

/** The plan's summary, and a table of its tasks in the plan's order. */
export function planLines(plan: ShownPlan, output: Output): string[] {
  const { summary, tasks, review, added, changed = [], left_out = [] } = plan;
  const rows = tasks.map((task) => [
    task.task_id,
    (task.dependencies ?? []).join(", ") || "-",
    assignee(task),
    String(
      (task.acceptance_criteria ?? []).filter((criterion) => typeof criterion === "object" && "command" in criterion)
        .length,
    ),
    task.review ?? review,
    clipped(task.description, PROSE_WIDTH),
  ]);
  const columns = [
    { heading: "TASK", widest: 24 },
    { heading: "AFTER", widest: 30 },
    { heading: "BY", widest: 20 },
    { heading: "CHECKS" },
    { heading: "REVIEW" },
    { heading: "WHAT" },
  ];
  const risks = tasks.flatMap((task) =>
    (task.risks ?? []).flatMap((risk) => wrapped(`${task.task_id}: ${wordsOf(risk as Json)}`, output.width, 2)),
  );
  const [heading = "", ...lines] = tableLines(columns, rows, output.width);
  return [
    output.style("bold", `A ${added ? "revised " : ""}plan of ${counted(tasks.length, "task")}`),
    ...(summary === "" ? [] : wrappedLines(summary, output.width, 0)),
    ...idsLine("new", added ?? []),
    ...idsLine("changed", changed),
    ...idsLine("removed", left_out),
    "",
    output.style("dim", heading),
    ...lines,
    ...(risks.length === 0 ? [] : ["", "Risks", ...risks]),
  ];
}

function idsLine(what: string, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [`  ${what}: ${clipped(ids.join(", "), IDS_WIDTH)}`];
}

function assignee({ assigned_to: { role_id, capability } = {} }: Task): string {
  return role_id ?? (capability === undefined ? "any worker" : `can ${capability}`);
}
