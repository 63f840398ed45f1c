import type { Fallible } from "../../protocol/failure.ts";
import { ok } from "../../lib/result.ts";
import type { Demo } from "./bosun.ts";
import { broken, unable } from "./failures.ts";
import { RECEIPT, stateOf, TESTS } from "./scratch.ts";

type State = Awaited<ReturnType<typeof stateOf>>;

/** Shows what the tickets came to. `before` is how the repository stood when the session began, as it still must. */
export async function showDifference({ screen, bosun }: Demo, before: State): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const [stat, onLine] = [await bosun.print(["diff", session_id, "--stat"]), await bosun.print(["diff", session_id])];
  if (stat.code !== 0 || onLine.code !== 0) return unable("There is no diff.", stat, `bosun diff ${session_id}`);
  const lines = onLine.lines.filter((line) => /^[-+].*RULES = /.test(line));
  screen.section("diff", { files: stat.lines, lines }, `What the tickets came to: bosun diff ${session_id}`);
  for (const line of stat.lines) screen.copyable("", line, 2);
  screen.blank();
  screen.say("Both tickets are on the line that they had a conflict about:");
  for (const line of lines) screen.say(line, 6);
  const now = await stateOf(bosun.setting.scratch);
  if (JSON.stringify(now) !== JSON.stringify(before)) return broken("The repository changed while the session ran.");
  screen.kept("Until now nothing in the repository has changed: the tickets worked in copies of it.");
  return ok(undefined);
}

/** Merges the tickets into the repository, and runs its tests there. */
export async function mergeHere({ screen, bosun }: Demo): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const merged = await bosun.print(["merge", session_id, "--no-input"]);
  if (merged.code !== 0) return unable("The work was not merged.", merged, `bosun merge ${session_id}`);
  const tests = await bosun.script(TESTS);
  const receipt = await bosun.script(RECEIPT);
  const { commit, changes } = await stateOf(bosun.setting.scratch);
  const facts = { commit, tests: tests.lines, receipt: receipt.lines };
  screen.section("merged", facts, `All of it into the branch, as one merge: bosun merge ${session_id}`);
  screen.row("commit", commit.slice(0, 12));
  screen.row("tests", tests.lines.join(", "));
  screen.row("receipt", receipt.lines.join(" "));
  if (tests.code !== 0 || receipt.code !== 0) return broken(`The tests fail on what was merged. ${tests.complaint}`);
  if (changes !== "") return broken(`The folder differs from the commit: ${changes}`);
  screen.kept("The tests pass in the repository, and its folder holds exactly that commit.");
  return ok(undefined);
}

/** Takes the merge back. `before` is how the repository stood before it. */
export async function undoHere({ screen, bosun }: Demo, before: State): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const undone = await bosun.print(["undo", session_id]);
  if (undone.code !== 0) return unable("The merge was not taken back.", undone, `bosun undo ${session_id}`);
  const { commit, tree, changes } = await stateOf(bosun.setting.scratch);
  screen.section("undone", { commit }, `And back: bosun undo ${session_id}`);
  screen.row("commit", commit.slice(0, 12));
  if (tree !== before.tree || changes !== "")
    return broken(`The files are not as they were before the merge. ${changes}`);
  screen.kept("Every file is as it was. What happened stays in the history.");
  return ok(undefined);
}
