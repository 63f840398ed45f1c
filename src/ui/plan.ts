import type { Task } from "../protocol/payload.ts";
import { safeText } from "./display.ts";
import { tableLines } from "./table.ts";
import type { Output } from "./terminal.ts";
import { counted, wordsOf } from "./words.ts";

/** A plan as it is shown to whoever is to approve it. */
export interface ShownPlan {
  readonly summary: string;
  readonly tasks: readonly Task[];
}

/** The plan's summary, and a table of its tasks in their order. */
export function planLines({ summary, tasks }: ShownPlan, output: Output): string[] {
  const rows = tasks.map((task) => [
    task.task_id,
    (task.dependencies ?? []).join(", ") || "-",
    assignee(task),
    String(
      (task.acceptance_criteria ?? []).filter((criterion) => typeof criterion === "object" && "command" in criterion)
        .length,
    ),
    wordsOf(task.description as never),
  ]);
  const columns = [
    { heading: "TASK", widest: 24 },
    { heading: "AFTER", widest: 30 },
    { heading: "BY", widest: 20 },
    { heading: "CHECKS" },
    { heading: "WHAT" },
  ];
  const risks = tasks.flatMap((task) =>
    (task.risks ?? []).map((risk) => `  ${task.task_id}: ${wordsOf(risk as never)}`),
  );
  const [heading = "", ...lines] = tableLines(columns, rows, output.width);
  return [
    output.style("bold", `A plan of ${counted(tasks.length, "task")}`),
    ...(summary === "" ? [] : safeText(summary).split("\n")),
    "",
    output.style("dim", heading),
    ...lines,
    ...(risks.length === 0 ? [] : ["", "Risks", ...risks.map(safeText)]),
  ];
}

function assignee({ assigned_to }: Task): string {
  if (!assigned_to) return "any worker";
  if ("role_id" in assigned_to && assigned_to.role_id !== undefined) return assigned_to.role_id;
  return "capability" in assigned_to && assigned_to.capability !== undefined
    ? `can ${assigned_to.capability}`
    : "any worker";
}
