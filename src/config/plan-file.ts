import { err, ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { MAX_LINE_BYTES } from "../protocol/limits.ts";
import type { PayloadByType, PlanFile } from "../protocol/payload.ts";
import { budgetProblems } from "./budgets.ts";
import { parseDocumentText, type SourceDocument } from "./document.ts";
import { type Problem, problemsFailure } from "./problem.ts";
import { decodeText, readText } from "./read-text.ts";
import { checkSchema } from "./schema-check.ts";

/** A plan as it stands in a file, with the source, so that later findings about its graph can be shown in their place. */
export interface LoadedPlan {
  readonly plan: PlanFile;
  readonly source: SourceDocument;
  /** The file as it is written. */
  readonly text: string;
}

/** What stands in a plan file is one line on the wire, in the end. */
export const MAX_PLAN_BYTES = MAX_LINE_BYTES;

/** What messages call a plan that came on standard input: by its name it is YAML, which contains JSON. */
const STANDARD_INPUT = "standard input";

/** What of a plan file is the plan, as a manager would send it. */
export function planIn({ summary, tasks }: PlanFile): PayloadByType["plan"] {
  return { ...(summary === undefined ? {} : { summary }), tasks };
}

/**
 * Loads a plan file, which fits its schema then. Whether its dependencies, roles and ids make a plan is for the plan graph to
 * say. Failure `configuration` with every problem.
 */
export function loadPlanFile(file: string): Promise<Result<LoadedPlan, Failure>> {
  return loaded(file, readText(file, MAX_PLAN_BYTES));
}

/** The same for a plan file that came on standard input. */
export function receivedPlanFile(bytes: Uint8Array): Promise<Result<LoadedPlan, Failure>> {
  if (bytes.length <= MAX_PLAN_BYTES) return loaded(STANDARD_INPUT, decodeText(STANDARD_INPUT, bytes));
  const expected = `at most ${MAX_PLAN_BYTES.toLocaleString("en")} bytes`;
  return loaded(STANDARD_INPUT, err({ file: STANDARD_INPUT, pointer: "", what: "it is too large", expected }));
}

async function loaded(file: string, text: Result<string, Problem>): Promise<Result<LoadedPlan, Failure>> {
  if (!text.ok) return err(problemsFailure([text.error]));
  const source = parseDocumentText(file, text.value);
  if (!source.ok) return err(problemsFailure([source.error]));
  const problems = await checkSchema("plan_file", source.value.value, source.value.problem);
  if (problems.length > 0) return err(problemsFailure(problems));
  const plan = source.value.value as unknown as PlanFile;
  const unwatched = plan.tasks.flatMap(({ budget }, index) =>
    budgetProblems(budget, `/tasks/${index}/budget`, "a task", source.value.problem),
  );
  if (unwatched.length > 0) return err(problemsFailure(unwatched));
  return ok({ plan, source: source.value, text: text.value });
}
