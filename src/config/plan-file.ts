import { type Json, listOf, objectOf, textOf } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { parseDocument, type SourceDocument } from "../protocol/document/document.ts";
import type { Finding, Problem } from "../protocol/document/problem.ts";
import type { Fallible } from "../protocol/failure.ts";
import { understood } from "../protocol/leniency.ts";
import { MAX_LINE_BYTES } from "../protocol/limits.ts";
import type { PayloadByType, PlanFile } from "../protocol/payload.ts";
import { findingsFailure, problemsFailure } from "./document.ts";
import { readText, shownName } from "./read-text.ts";
import { budgetFindings, checkSchema } from "./schema-check.ts";

/** The content of a plan file as it is understood, with its source, so that later findings about its graph can show their place. */
export interface LoadedPlan {
  readonly plan: PlanFile;
  readonly source: SourceDocument;
  /** The text of the file as written. */
  readonly text: string;
}

/** Maximum size of a plan file, in bytes: it becomes one line on the wire. */
export const MAX_PLAN_BYTES = MAX_LINE_BYTES;

/** The plan in a plan file, as a manager would send it. */
export function planIn({ summary, tasks }: PlanFile): PayloadByType["plan"] {
  return { ...(summary === undefined ? {} : { summary }), tasks };
}

/**
 * Loads a plan file, from `text` if it came otherwise, and checks it against its schema. The plan graph checks whether its dependencies, roles and ids
 * are consistent. Failure `configuration` with every problem.
 */
export async function loadPlanFile(
  file: string,
  text: Result<string, Problem> = readText(file, MAX_PLAN_BYTES),
): Promise<Fallible<LoadedPlan>> {
  if (!text.ok) return err(problemsFailure([text.error]));
  const source = parseDocument(shownName(file), text.value);
  if (!source.ok) return err(problemsFailure([source.error]));
  const { value, written } = understood("plan_file", source.value.value);
  const broken = await checkSchema("plan_file", value, written);
  if (broken.length > 0) {
    const strays = strayDependencies(value).map((stray) => ({ ...stray, pointer: written(stray.pointer) }));
    return err(findingsFailure(source.value, [...broken, ...strays]));
  }
  const plan = value as unknown as PlanFile;
  const document: SourceDocument = {
    ...source.value,
    value,
    problem: (finding) => source.value.problem({ ...finding, pointer: written(finding.pointer) }),
  };
  const findings = plan.tasks.flatMap(({ budget }, index) =>
    budgetFindings(budget, `/tasks/${index}/budget`, "a task"),
  );
  return findings.length > 0
    ? err(findingsFailure(document, findings))
    : ok({ plan, source: document, text: text.value });
}

/** The dependencies that are no task of the plan, for a list of everything that is wrong with it. */
export function strayDependencies(plan: Json): Finding[] {
  const tasks = listOf(objectOf(plan).tasks).map(objectOf);
  const ids = new Set(tasks.map(({ task_id }) => task_id));
  return tasks.flatMap(({ task_id, dependencies }, index) =>
    listOf(dependencies).flatMap((id, place) => {
      if (typeof id !== "string" || ids.has(id)) return [];
      const what = `task "${textOf(task_id)}" depends on "${id}", which is not in the plan`;
      return [{ pointer: `/tasks/${index}/dependencies/${place}`, what }];
    }),
  );
}
