import { nextAttempt, type Unmerged } from "../../copies/copy.ts";
import { advance, type Approved, type ConflictedFile, merge, mergeTrees, touching } from "../../copies/queue.ts";
import type { LedgerChecks } from "../../kernel/ledger.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { SessionContext } from "../context.ts";
import { type Checked, type Runnable, runCriteria } from "../criteria.ts";
import type { Copies } from "./copies.ts";
import { checkOn } from "./prepare.ts";

const CRITERION = {
  criterion: { text: "the work merges with what others have done" },
  exit_code: null,
  duration_ms: 0,
};

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
      if (!done.ok) return void context.fail(done.error);
      if (done.value !== "moved") return done.value;
    }
    return undefined;
  });
}

async function mergeOnce(
  context: SessionContext,
  copies: Copies,
  checks: LedgerChecks,
  criteria: readonly Runnable[],
  signal: AbortSignal,
): Promise<Fallible<JsonObject | "moved" | undefined>> {
  const { place, turns } = copies;
  const { check_id, subject: ticket_id = "" } = checks;
  const work = approvedWork(context, checks);
  const merged = await merge(place, work);
  if (!merged.ok) return merged;
  const made = merged.value;
  if (made.state === "merged") return { ok: true, value: mergedPayload(made.commit, made.tip, []) };
  if (made.state === "conflict") {
    const back = await turns.pass(ticket_id, () => nextAttempt(place, ticket_id, work.commit, made.conflict));
    if (!back.ok) return back;
    const output = await conflictWords(copies, work, made.conflict, made.hunks);
    if (!output.ok) return output;
    const { tip, files } = made.conflict;
    const results = [{ ...CRITERION, passed: false, output: output.value }];
    return { ok: true, value: { results, merge: { state: "conflict", tip, files: files.slice(0, MOST_FILES) } } };
  }
  const { commit, tip } = made;
  const run = (directory: string) =>
    runCriteria(context, { check_id, subject: ticket_id, directory }, criteria, signal);
  const isEmpty = criteria.length === 0 && context.config.worktree?.setup === undefined;
  const checked = isEmpty ? { ok: true as const, value: [] } : await checkOn(context, copies, { commit }, signal, run);
  if (!checked.ok) return checked;
  const results = checked.value;
  if (results === undefined || signal.aborted) return { ok: true, value: undefined };
  if (results.some(({ passed }) => !passed)) {
    const tree = await mergeTrees(place, work.commit, tip);
    const both: Unmerged = { tip, tree: "entries" in tree ? work.commit : tree.tree, entries: [], files: [] };
    const back = await turns.pass(ticket_id, () => nextAttempt(place, ticket_id, work.commit, both));
    if (!back.ok) return back;
    return { ok: true, value: { results: [passedResult(), ...results], merge: { state: "failed", tip, commit } } };
  }
  // The intent is on record before the branch moves: what is on the branch is then always explained.
  const begun = { check_id, ticket_id, commit, tip };
  context.submit({ source: "scheduler", payload_type: "merge_begun", payload: begun, subject: ticket_id });
  if (!(await context.keep({ drop: "process", id: check_id }))) return { ok: true, value: undefined };
  const moved = await advance(place, made);
  if (!moved.ok) return moved;
  return { ok: true, value: moved.value === "moved" ? "moved" : mergedPayload(commit, tip, results) };
}

/** The most files in conflict that a result lists. */
const MOST_FILES = 1000;

function approvedWork({ store, session_id }: SessionContext, checks: LedgerChecks): Approved {
  const { check_id, subject: ticket_id = "", commit = "", merge: order } = checks;
  const approval = store.record(session_id, Number(check_id.replace(/\D+/, "")));
  const { integrity } = JSON.parse(approval ?? "{}") as { integrity?: { hash: string } };
  return {
    ticket_id,
    attempt: order?.attempt ?? 0,
    commit,
    subject: `Merge ${ticket_id}`,
    log_head: integrity?.hash ?? "",
    at: order?.at ?? "",
  };
}

function passedResult(): Checked {
  return { ...CRITERION, passed: true, output: "" };
}

function mergedPayload(commit: string, tip: string, results: readonly Checked[]): JsonObject {
  return { results: [passedResult(), ...results], merge: { state: "merged", tip, commit } };
}

/** With whom and where the work is in conflict, then the places themselves. */
async function conflictWords(
  { place }: Copies,
  work: Approved,
  { tip, files }: Unmerged,
  hunks: readonly ConflictedFile[],
): Promise<Fallible<string>> {
  const others = await touching(place, work.commit, tip, files);
  if (!others.ok) return others;
  const by = others.value.map(({ ticket_id, subject }) => `${ticket_id} (${subject})`).join(", ");
  const places = hunks.map(({ path, hunks: { length } }) =>
    length > 0 ? `${path} (${length} ${length === 1 ? "place" : "places"})` : path,
  );
  const head = `conflicts${by === "" ? "" : ` with ${by}`} in ${places.join(", ")}`;
  const text = hunks.flatMap(({ path, hunks: found }) => found.map((hunk) => `${path}:\n${hunk}`));
  return { ok: true, value: [head, ...text].join("\n").slice(0, MAX_WORDS).toWellFormed() };
}

/** In characters. */
const MAX_WORDS = 16_000;
