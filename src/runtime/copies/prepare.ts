import { hash } from "node:crypto";
import { basename, join } from "node:path";
import {
  CHECK_TREE,
  type Copy,
  copyOf,
  dropCopy,
  folderOf,
  makeCopy,
  nextAttempt,
  restore,
} from "../../copies/copy.ts";
import { entriesOf, objectOf } from "../../copies/objects.ts";
import { SESSION, tried } from "../../copies/place.ts";
import { checkOut } from "../../copies/queue.ts";
import { replaceOwn, textIn } from "../../lib/files.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { SessionContext } from "../context.ts";
import { type CheckContext, type Checked, runCriteria } from "../criteria.ts";
import { type Copies, copyFor, directoryOf } from "./copies.ts";
import { LOCK_FILES } from "./deliver.ts";

/** Makes the copy of a subject or of the session if it is not there, from what is merged by now, and sets it up. */
export async function prepareCopy(
  context: SessionContext,
  subject: string | undefined,
  signal: AbortSignal,
): Promise<Fallible<void>> {
  const { copies } = context;
  if (copies === undefined) return ok(undefined);
  const { place, turns } = copies;
  const id = copyFor(subject);
  return turns.pass(id, async () => {
    const merged = await tried("The session's branch cannot be read", place.folder, async () =>
      ok(await objectOf(place, SESSION)),
    );
    if (!merged.ok) return merged;
    const tip = merged.value ?? copies.repository.base;
    const made = await (subject === undefined ? nextAttempt(place, id, tip) : makeCopy(place, id, tip));
    if (!made.ok) return made;
    const failed = await setUp(context, copies, id, made.value, signal);
    if (!failed.ok || failed.value === undefined) return failed.ok ? ok(undefined) : failed;
    const { exit_code, output } = failed.value;
    const what = `worktree.setup failed in the copy of ${subject ?? "the session"}, with exit code ${JSON.stringify(exit_code)}:\n${output}`;
    return fails("environment", what, { hint: "Fix the command in the settings, or install what it needs." });
  });
}

/** Runs checks on a ticket's copy as it was delivered, or on a commit in a tree of their own. Undefined if the session ends first. */
export function checkOn(
  context: CheckContext,
  copies: Copies,
  { commit, subject }: { readonly commit: string; readonly subject?: string | undefined },
  signal: AbortSignal,
  check: (directory: string) => Promise<Checked[] | undefined>,
): Promise<Fallible<Checked[] | undefined>> {
  const id = subject ?? CHECK_TREE;
  return copies.turns.pass(id, async () => {
    const tree = await (subject === undefined ? checkOut(copies.place, commit) : restore(copies.place, id, commit));
    if (!tree.ok) return tree;
    const failed = await setUp(context, copies, id, tree.value, signal);
    if (!failed.ok) return signal.aborted ? ok(undefined) : failed;
    return ok(failed.value === undefined ? await check(directoryOf(copies, id)) : [failed.value]);
  });
}

/** Removes the copy of a ticket whose work is merged. What goes wrong is a warning: nothing is lost. */
export function leaveCopy(context: SessionContext, copies: Copies, id: string, signal: AbortSignal): Promise<void> {
  return copies.turns.pass(id, async () => {
    const criteria = (context.config.worktree?.teardown ?? []).map((line) => ({
      text: line,
      command: ["sh", "-c", line],
    }));
    const checking = { check_id: `setup:${id}`, subject: id, directory: directoryOf(copies, id) };
    const results = copyOf(copies.place, id) && (await runCriteria(context, checking, criteria, signal));
    void context.keep({ drop: "process", id: checking.check_id });
    const left = results?.find(({ passed }) => !passed);
    const dropped = await dropCopy(copies.place, id);
    const said = dropped.ok
      ? left && `worktree.teardown failed in the copy of ${id}: ${left.output}`
      : dropped.error.message;
    if (said) context.bus.emit({ kind: "warning", text: said });
  });
}

/** Whether a file says what a project needs: when one changes, the setup runs again. */
function saysNeeds(path: string): boolean {
  const name = basename(path);
  return LOCK_FILES.includes(name) || /^(?:package\.json|pyproject\.toml|requirements.*\.txt)$/.test(name);
}

/** Runs the setup of a copy, unless it ran there for the same needs. Returns the result of the command that failed, if one did. */
async function setUp(
  context: CheckContext,
  copies: Copies,
  id: string,
  { laid }: Copy,
  signal: AbortSignal,
): Promise<Fallible<Checked | undefined>> {
  const { setup = [] } = context.config.worktree ?? {};
  if (setup.length === 0) return ok(undefined);
  const mark = join(folderOf(copies.place, id), "set-up");
  const needs = await tried(`What ${id} needs cannot be read`, mark, async () =>
    ok(await entriesOf(copies.place, laid, saysNeeds)),
  );
  if (!needs.ok) return needs;
  const digest = hash("sha256", JSON.stringify([setup, needs.value]));
  if (textIn(mark)?.trim() === digest) return ok(undefined);
  const criteria = setup.map((line) => ({ text: `setup: ${line}`, command: ["sh", "-c", line] }));
  const check_id = `setup:${id}`;
  const directory = directoryOf(copies, id);
  for (const criterion of criteria) {
    // Only tickets have ids without a dot in front.
    const subject = id.startsWith(".") ? undefined : id;
    const results = await runCriteria(context, { check_id, directory, subject }, [criterion], signal);
    const failed = results?.find(({ passed }) => !passed);
    void context.keep({ drop: "process", id: check_id });
    if (failed !== undefined) return ok(failed);
    if (results === undefined) return fails("cancelled", `The setup of ${id} was cut off.`);
  }
  replaceOwn(mark, [digest]);
  return ok(undefined);
}
