import type { JsonObject } from "../../src/lib/json.ts";
import type { Random } from "./random.ts";

/** A plan with other ids for most of its tasks, except those of `kept`. */
export function renamed(
  tasks: readonly JsonObject[],
  random: Random,
  kept: ReadonlySet<unknown> = new Set(),
): JsonObject[] {
  const taken = new Set(tasks.map(({ task_id }) => task_id));
  const names = new Map<unknown, string>();
  for (const { task_id } of tasks) {
    if (kept.has(task_id) || !random.chance(0.7)) continue;
    let name = `${task_id as string}n`;
    while (taken.has(name)) name += "n";
    taken.add(name);
    names.set(task_id, name);
  }
  const nameOf = (id: unknown) => names.get(id) ?? (id as string);
  return tasks.map((task) => {
    const dependencies = (task["dependencies"] as string[] | undefined)?.map(nameOf);
    return { ...task, task_id: nameOf(task["task_id"]), ...(dependencies ? { dependencies } : {}) };
  });
}
