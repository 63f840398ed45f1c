import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { splitCommand } from "../../config/command-line.ts";
import { loadPlanFile, planIn } from "../../config/plan-file.ts";
import { makeDirectory, OWN } from "../../lib/files.ts";
import type { JsonObject } from "../../lib/json.ts";
import { absoluteFolders, programFile } from "../../lib/program-file.ts";
import { err, ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { PayloadByType, Task } from "../../protocol/payload.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ShownPlan } from "../../ui/plan.ts";
import type { CommandContext } from "../context/command.ts";
import { planFileText } from "../lookup/plan.ts";
import { graphProblem } from "../options/plan-file.ts";

/**
 * Opens the plan of a gate in the person's editor. After an earlier attempt, the file has what they wrote then. Returns the edited plan,
 * checked against its schema and graph; undefined if nothing was changed. The file is kept until `settleEdit`. Failures: `environment` if
 * there is no editor, `configuration` and `invalid_plan` for what they wrote, `storage` and `storage_full` if the file cannot be written.
 */
export async function editPlan(
  context: CommandContext,
  { home, session_id, ask_id }: Omit<DecidedGate, "store">,
  plan: ShownPlan,
): Promise<Fallible<PayloadByType["plan"] | undefined>> {
  const { folder } = sessionPaths(home, session_id);
  const file = fileFor(folder, ask_id);
  const original = await planFileText(file, { summary: plan.summary, tasks: [...plan.tasks] });
  const begun = attempt(
    folder,
    () => {
      makeDirectory(folder);
      if (!existsSync(file)) writeFileSync(file, original, OWN);
      return ok(readFileSync(file));
    },
    "The plan to be edited",
  );
  if (!begun.ok) return begun;
  const edited = await openEditor(context, file);
  if (!edited.ok) return edited;
  const after = existsSync(file) ? readFileSync(file) : Buffer.from("");
  const isOriginal = after.equals(Buffer.from(original));
  const isEmpty = after.toString().trim() === "";
  const read = isOriginal || after.equals(begun.value) ? ok(undefined) : await readEdited(file);
  // The next edit begins with the plan as it is.
  if (isOriginal || isEmpty) forgetEdit(folder, ask_id);
  if (read.ok) return read;
  const on = isEmpty ? "To edit the plan as it is" : "What you wrote is kept. To continue from it";
  return err({ ...read.error, hint: `${read.error.hint ?? ""} ${on}: bosun plan ${session_id} --edit`.trim() });
}

/** The tasks that need no review but their checks, since each of their criteria is a command; of a revised plan, those that it brings. */
export function checkableTasks({ tasks, review, checks, added, changed = [] }: ShownPlan): string[] {
  const open = tasks.filter(({ task_id, review: own = review, acceptance_criteria = [], instruction }) => {
    const criteria = [...checks, ...acceptance_criteria, ...(instruction?.acceptance_criteria ?? [])];
    const isNew = added === undefined || added.includes(task_id) || changed.includes(task_id);
    const areCommands = criteria.every((one) => typeof one === "object" && one.command !== undefined);
    return isNew && own === "manager" && criteria.length > 0 && areCommands;
  });
  return open.map(({ task_id }) => task_id);
}

/** The plan with checks as the only review of its checkable tasks. */
export function reviewedByChecks(plan: ShownPlan): JsonObject {
  const ids = checkableTasks(plan);
  const { summary, tasks } = plan;
  return {
    summary,
    tasks: tasks.map((task): Task => (ids.includes(task.task_id) ? { ...task, review: "checks" } : task)),
  };
}

/** A gate that a person decides on. */
export interface DecidedGate {
  readonly store: StoreReader;
  readonly home: string;
  readonly session_id: string;
  readonly ask_id: string;
}

/** Removes the file after a decision that was not refused. An edit that was not taken yet is kept, since it may still be refused. */
export function settleEdit({ store, home, session_id, ask_id }: DecidedGate, isEdited: boolean): void {
  const isDecided = !isEdited || store.value(session_id, "ask", ask_id) === undefined;
  if (isDecided) forgetEdit(sessionPaths(home, session_id).folder, ask_id);
}

function forgetEdit(folder: string, ask_id: string): void {
  rmSync(fileFor(folder, ask_id), { force: true });
}

/** Each gate has its own file, so an edit of one plan is never taken for the next. */
function fileFor(folder: string, ask_id: string): string {
  return join(folder, `${ask_id}.plan-to-edit.yaml`);
}

async function readEdited(file: string): Promise<Fallible<PayloadByType["plan"]>> {
  const loaded = await loadPlanFile(file);
  // A file that the editor removed was not named on the command line.
  if (!loaded.ok) return err({ ...loaded.error, code: "configuration" });
  if (loaded.value.plan.questions !== undefined) {
    return fails("configuration", `${file}: an approved plan cannot ask questions.`, {
      hint: "Take `questions` out.",
    });
  }
  const wrong = graphProblem(loaded.value);
  return wrong ? err(wrong) : ok(planIn(loaded.value.plan));
}

/** Opens a file in `$VISUAL` or `$EDITOR` at this terminal and resolves when the editor exits. Failure `environment`. */
export async function openEditor(
  { directory, environment, terminal }: CommandContext,
  file: string,
): Promise<Fallible<void>> {
  const named = environment.VISUAL || environment.EDITOR || "vi";
  // A configured editor may open a window; vi needs a terminal.
  if (named === "vi" && !(terminal.input.isTTY && terminal.out.stream.isTTY)) {
    return err(noEditor(named, "there is no terminal"));
  }
  const command = splitCommand(named);
  const [program, ...rest] = command.ok ? command.value : [];
  if (program === undefined) {
    return err(noEditor(named, command.ok ? "it is empty" : command.error));
  }
  // Not left to the system, which would take one from this folder for a relative entry of the PATH.
  const editor = programFile(program, directory, absoluteFolders(environment.PATH));
  if (editor === undefined) return err(noEditor(named, "it is not on the PATH"));
  const { execa } = await import("execa");
  const release = terminal.err.keepBelow(EDITOR);
  const { failed, exitCode, cause } = await execa(editor, [...rest, file], {
    cleanup: false,
    reject: false,
    stdio: "inherit",
  });
  release();
  if (!failed) return ok(undefined);
  return err(noEditor(named, cause instanceof Error ? cause.message : `it exited with ${exitCode}`));
}

/** An editor draws itself, so it only takes the place of what is kept below. */
const EDITOR = { erase() {}, draw() {} };

function noEditor(named: string, why: string): Failure {
  return failure("environment", `The editor ${JSON.stringify(named)} cannot be used: ${why}.`, {
    hint: "Set VISUAL or EDITOR to one that works.",
  });
}
