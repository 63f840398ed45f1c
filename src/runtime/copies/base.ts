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

const GREEN = "It passes on the base commit already, so it does not show that the work fixes anything.";

/** Results in which a criterion with `was_red` fails if it passes on the commit from which the session started. */
export async function withBase(
  context: SessionContext,
  copies: Copies,
  { check_id, subject }: Pick<LedgerChecks, "check_id" | "subject">,
  results: readonly Checked[],
  signal: AbortSignal,
): Promise<Fallible<Checked[] | undefined>> {
  const red = results.filter((result) => result.passed && criterionOf(result).was_red === true);
  if (red.length === 0) return ok([...results]);
  const { base: commit } = copies.repository;
  const before = await checkOn(context, copies, { commit }, signal, (directory) =>
    runCriteria(context, { check_id, subject, directory }, red.map(criterionOf), signal),
  );
  if (!before.ok || before.value === undefined) return before;
  const green = new Set(red.filter((_, at) => before.value?.[at]?.passed === true));
  return ok(results.map((result) => (green.has(result) ? { ...result, passed: false, output: GREEN } : result)));
}

function criterionOf(result: Checked): Runnable {
  return result["criterion"] as unknown as Runnable;
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
