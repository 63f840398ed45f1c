import type { LedgerChecks } from "../../kernel/ledger.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { SessionContext } from "../context.ts";
import { type Checked, type Runnable, runCriteria } from "../criteria.ts";
import type { Copies } from "./copies.ts";
import { checkOn } from "./prepare.ts";

const GREEN = "It passes on the base commit already, so it does not show that the work mends anything.";

/** Results in which a criterion with `was_red` fails if it passes on the commit from which the session started. */
export async function withBase(
  context: SessionContext,
  copies: Copies,
  { check_id, subject }: Pick<LedgerChecks, "check_id" | "subject">,
  results: readonly Checked[],
  signal: AbortSignal,
): Promise<Fallible<Checked[] | undefined>> {
  const told: Checked[] = [];
  for (const result of results) {
    const criterion = result["criterion"] as unknown as Runnable;
    if (!result.passed || criterion.was_red !== true) {
      told.push(result);
      continue;
    }
    const { base: commit } = copies.repository;
    const before = await checkOn(context, copies, { commit }, signal, (directory) =>
      runCriteria(context, { check_id, subject, directory }, [criterion], signal),
    );
    if (!before.ok || before.value === undefined) return before;
    const wasGreen = before.value.every(({ passed }) => passed);
    told.push(wasGreen ? { ...result, passed: false, output: GREEN } : result);
  }
  return ok(told);
}
