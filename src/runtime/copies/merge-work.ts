import { nextAttempt, type Unmerged } from "../../copies/copy.ts";
import { advance, type Approved, type ConflictedFile, merge, touching } from "../../copies/queue.ts";
import type { LedgerChecks } from "../../kernel/ledger.ts";
import { resolve } from "../../kernel/references.ts";
import { type JsonObject, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { cut } from "../../protocol/refusal.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { SessionContext } from "../context.ts";
import { type Checked, type Runnable, runCriteria } from "../criteria.ts";
import type { Copies } from "./copies.ts";
import { checkOn, leaveCopy } from "./prepare.ts";

const MERGES = "the work merges with what others have done";

/**
 * Merges a ticket's approved work into the session's branch, one ticket at a time, in the order of approval, and runs the criteria on the result. Each
 * step can be repeated after a crash. Returns the payload of the result; undefined if the session ends first, or cannot go on.
 */
export function mergeWork(
  context: SessionContext,
  checks: LedgerChecks,
  criteria: readonly Runnable[],
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { copies } = context;
  if (copies === undefined) throw new Error(`${checks.check_id} merges, in a session without copies`);
  return copies.turns.pass("", async () => {
    while (!signal.aborted) {
      const done = await mergeOnce(context, copies, checks, criteria, signal);
      if (!done.ok) {
        context.fail(done.error);
        return undefined;
      }
      if (done.value === "moved") continue;
      if (done.value?.isMerged === true) await leaveCopy(context, copies, checks.subject ?? "", signal);
      return done.value?.payload;
    }
    return undefined;
  });
}

interface Outcome {
  readonly payload: JsonObject;
  readonly isMerged?: true;
}

async function mergeOnce(
  context: SessionContext,
  copies: Copies,
  checks: LedgerChecks,
  criteria: readonly Runnable[],
  signal: AbortSignal,
): Promise<Fallible<Outcome | "moved" | undefined>> {
  const { place, turns } = copies;
  const { check_id, subject: ticket_id = "" } = checks;
  const work = approvedWork(context, checks);
  const merged = await merge(place, work);
  if (!merged.ok) return merged;
  const made = merged.value;
  if (made.state === "merged") return ok(mergedAs(made.commit, made.tip, []));
  if (made.state === "conflict") {
    const back = await turns.pass(ticket_id, () => nextAttempt(place, ticket_id, work.commit, made.conflict));
    if (!back.ok) return back;
    const result = await conflictResult(copies, work, made.conflict, made.hunks);
    if (!result.ok) return result;
    const { tip, files } = made.conflict;
    const results = [result.value];
    return ok({ payload: { results, merge: { state: "conflict", tip, files: files.slice(0, MOST_FILES) } } });
  }
  const { commit, tip } = made;
  const run = (directory: string) =>
    runCriteria(context, { check_id, subject: ticket_id, directory }, criteria, signal);
  const isEmpty = criteria.length === 0 && context.config.worktree?.setup === undefined;
  const checked = isEmpty ? ok([]) : await checkOn(context, copies, { commit }, signal, run);
  if (!checked.ok) return checked;
  const results = checked.value;
  if (results === undefined || signal.aborted) return ok(undefined);
  if (results.some(({ passed }) => !passed)) {
    const both: Unmerged = { tip, tree: commit, entries: [], files: [] };
    const back = await turns.pass(ticket_id, () => nextAttempt(place, ticket_id, work.commit, both));
    if (!back.ok) return back;
    return ok({ payload: { results: [mergeResult(MERGES), ...results], merge: { state: "failed", tip, commit } } });
  }
  // The intent is on record before the branch moves: what is on the branch is then always explained.
  const begun = { check_id, ticket_id, commit, tip };
  context.submit({ source: "scheduler", payload_type: "merge_begun", payload: begun, subject: ticket_id });
  if (!(await context.keep({ drop: "process", id: check_id }))) return ok(undefined);
  const moved = await advance(place, made);
  if (!moved.ok) return moved;
  if (moved.value === "moved") return ok("moved" as const);
  return ok(mergedAs(commit, tip, results));
}

/** The most files in conflict that a result lists. */
const MOST_FILES = 1000;

function approvedWork({ store, session_id, records }: SessionContext, checks: LedgerChecks): Approved {
  const { check_id, subject: ticket_id = "", commit = "", merge: order } = checks;
  const { integrity } = keptRecord(store, session_id, Number(check_id.replace(/\D+/, "")));
  const summary = textOf(resolve(order?.summary ?? "", records)).split("\n")[0] ?? "";
  return {
    ticket_id,
    attempt: order?.attempt ?? 0,
    commit,
    subject: `${ticket_id}: ${summary}`,
    log_head: integrity.hash,
    at: order?.at ?? "",
  };
}

function mergeResult(text: string, output?: string): Checked {
  return { criterion: { text }, exit_code: null, duration_ms: 0, passed: output === undefined, output: output ?? "" };
}

function mergedAs(commit: string, tip: string, results: readonly Checked[]): Outcome {
  const payload = { results: [mergeResult(MERGES), ...results], merge: { state: "merged", tip, commit } };
  return { payload, isMerged: true };
}

/** Its criterion says with whom and where the work is in conflict; its output is the places. */
async function conflictResult(
  { place }: Copies,
  work: Approved,
  { tip, files }: Unmerged,
  hunks: readonly ConflictedFile[],
): Promise<Fallible<Checked>> {
  const others = await touching(place, work.commit, tip, files);
  if (!others.ok) return others;
  const by = others.value.map(({ ticket_id, subject }) => `${ticket_id} (${subject.slice(ticket_id.length + 2)})`);
  const places = hunks.map(({ path, hunks: { length } }) => `${path}${length > 0 ? ` (${howMany(length)})` : ""}`);
  const text = `it conflicts with ${by.length === 0 ? "other work" : by.join(", ")} in ${places.join(", ")}`;
  const shown = hunks.flatMap(({ path, hunks: found }) => found.map((hunk) => `${path}:\n${hunk}`));
  return ok(mergeResult(cut(text, MAX_TEXT), cut([RESOLVE, ...shown].join("\n"), MAX_OUTPUT)));
}

const howMany = (places: number) => (places === 1 ? "1 place" : `${places} places`);

const RESOLVE =
  "The workspace now holds both versions, with conflict markers. Combine them so that neither change is lost, and remove the markers:";

/** In characters. */
const MAX_TEXT = 2_000;
const MAX_OUTPUT = 16_000;
