import { withTestsOf } from "../../copies/base-tests.ts";
import { CHECK_TREE, copyOf } from "../../copies/copy.ts";
import type { LedgerChecks } from "../../kernel/ledger.ts";
import type { JsonObject } from "../../lib/json.ts";
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

/** The most files that are named. */
const MOST_FILES = 1000;

/** Existing tests that the work changes, and the results of the criteria with them as they were. None if it changes none. */
export async function testsOfBase(
  context: SessionContext,
  copies: Copies,
  { check_id, subject = "", commit }: Pick<LedgerChecks, "check_id" | "subject"> & { readonly commit: string },
  criteria: readonly Runnable[],
  signal: AbortSignal,
): Promise<Fallible<JsonObject>> {
  const { start, merging } = copyOf(copies.place, subject) ?? {};
  const base = merging ?? start ?? copies.repository.base;
  const changed = await copies.turns.pass(CHECK_TREE, () => withTestsOf(copies.place, base, commit));
  if (!changed.ok) return changed;
  if (changed.value === undefined) return ok({});
  const { files, tree } = changed.value;
  const results = await checkOn(context, copies, { commit: tree }, signal, (directory) =>
    runCriteria(context, { check_id, subject, directory }, criteria, signal),
  );
  if (!results.ok) return results;
  return ok({ base_tests: { files: files.slice(0, MOST_FILES), results: results.value ?? [] } });
}
