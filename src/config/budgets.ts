import type { PlaceProblem } from "./document.ts";
import type { Problem } from "./problem.ts";

/** What is counted for the session as a whole only. */
const UNWATCHED = [
  ["tokens", "tokens"],
  ["usd", "money"],
] as const;

/**
 * What the budget at a pointer cannot limit, `whose` it being in words ("a role"). It is refused, since a limit that is accepted and
 * limits nothing is worse than none.
 */
export function budgetProblems(
  budget: { readonly turns?: number; readonly tokens?: number; readonly usd?: number } | undefined,
  pointer: string,
  whose: string,
  problem: PlaceProblem,
): Problem[] {
  const problems = UNWATCHED.filter(([key]) => budget?.[key] !== undefined).map(([key, what]) =>
    problem(`${pointer}/${key}`, `the budget of ${whose} cannot be in ${what}`, {
      at: "key",
      expected: `"turns" or "wall_s"; ${what}: only for the whole session, by the setting budget.${key}`,
    }),
  );
  if (budget?.turns !== 0) return problems;
  const what = `${whose} without any turn comes to nothing`;
  return [...problems, problem(`${pointer}/turns`, what, { expected: "at least 1, or no such limit" })];
}
