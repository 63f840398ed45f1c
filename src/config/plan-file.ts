import { err, ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { MAX_LINE_BYTES } from "../protocol/limits.ts";
import type { PayloadByType, PlanFile } from "../protocol/payload.ts";
import { budgetProblems } from "./budgets.ts";
import { loadDocument, type SourceDocument } from "./document.ts";
import { problemsFailure } from "./problem.ts";
import { checkSchema } from "./schema-check.ts";

/** A plan as it stands in a file, with the source, so that later findings about its graph can be shown in their place. */
export interface LoadedPlan {
  readonly plan: PlanFile;
  readonly source: SourceDocument;
}

/** What of a plan file is the plan, as a manager would send it. */
export function planIn({ summary, tasks }: PlanFile): PayloadByType["plan"] {
  return { ...(summary === undefined ? {} : { summary }), tasks };
}

/**
 * Loads a plan file, which fits its schema then. Whether its dependencies, roles and ids make a plan is for the plan graph to
 * say. Failure `configuration` with every problem.
 */
export async function loadPlanFile(file: string): Promise<Result<LoadedPlan, Failure>> {
  // What stands in it is one line on the wire, in the end.
  const source = loadDocument(file, MAX_LINE_BYTES);
  if (!source.ok) return err(problemsFailure([source.error]));
  const problems = await checkSchema("plan_file", source.value.value, source.value.problem);
  if (problems.length > 0) return err(problemsFailure(problems));
  const plan = source.value.value as unknown as PlanFile;
  const unwatched = plan.tasks.flatMap(({ budget }, index) =>
    budgetProblems(budget, `/tasks/${index}/budget`, "a task", source.value.problem),
  );
  if (unwatched.length > 0) return err(problemsFailure(unwatched));
  return ok({ plan, source: source.value });
}
