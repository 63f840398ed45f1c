import { type Json, listOf, objectOf, textOf } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { parseDocument, type SourceDocument } from "../protocol/document/document.ts";
import type { Finding, Problem } from "../protocol/document/problem.ts";
import type { Fallible } from "../protocol/failure.ts";
import { understood } from "../protocol/leniency.ts";
import { MAX_LINE_BYTES } from "../protocol/limits.ts";
import type { PayloadByType, PlanFile } from "../protocol/payload.ts";
import { findingsFailure, problemsFailure } from "./document.ts";
import { foreignPlan } from "./foreign-plans.ts";
import { readText, shownName } from "./read-text.ts";
import { budgetFindings, checkSchema } from "./schema-check.ts";

/** The content of a plan file as it is understood, with its source, so that later findings about its graph can show their place. */
export interface LoadedPlan {
  readonly plan: PlanFile;
  readonly source: SourceDocument;
  readonly text: string;
  /** `plan_file`, or the form of a list that another program wrote: its texts may be anybody's, and it instructs nobody. */
  readonly format: string;
}

/** The name of its schema, and of its form. */
const PLAN_FILE = "plan_file";

/** Whether a plan was made of a list of another program. */
export function isForeign({ format }: LoadedPlan): boolean {
  return format !== PLAN_FILE;
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
  const { value, written } = understood(PLAN_FILE, source.value.value);
  const broken = await checkSchema(PLAN_FILE, value, written);
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
    : ok({ plan, source: document, text: text.value, format: PLAN_FILE });
}

/** Loads a plan file, or the plan in a list of another program. Failures as `loadPlanFile`. */
export async function loadPlan(
  file: string,
  text: Result<string, Problem> = readText(file, MAX_PLAN_BYTES),
): Promise<Fallible<LoadedPlan>> {
  const list = text.ok ? foreignPlan(shownName(file), text.value) : undefined;
  if (!text.ok || list === undefined) return loadPlanFile(file, text);
  const { source, format } = list;
  const findings = list.findings.length > 0 ? list.findings : await checkSchema(PLAN_FILE, source.value);
  if (findings.length > 0) return err(findingsFailure(source, findings));
  return ok({ plan: source.value as unknown as PlanFile, source, text: text.value, format });
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
