import { spawn } from "node:child_process";
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { splitCommand } from "../../config/command-line.ts";
import { loadPlanFile, planIn } from "../../config/plan-file.ts";
import { makeDirectory } from "../../lib/directory.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeText } from "../../ui/display.ts";
import type { ShownPlan } from "../../ui/plan.ts";
import type { CommandContext } from "../context/command.ts";
import { planFileText } from "../lookup/plan.ts";
import { graphProblem } from "../options/plan-file.ts";
import type { Refusal } from "./person-message.ts";

/** The lines at the top of the file that say why it was refused begin with this. */
const WHY = "#! ";

/**
 * Has the person edit the plan of a gate in their editor. After an earlier attempt the file has what they wrote then, with the reason why
 * it was refused on top. Gives the edited plan, checked against its schema and graph; undefined if nothing was changed. The file is kept
 * until `settleEdit`. Failures: `environment` if there is no editor, `configuration` and `invalid_plan` for what they wrote, `storage` and
 * `storage_full` if the file cannot be written.
 */
export async function editPlan(
  context: CommandContext,
  { home, session_id, ask_id }: Omit<DecidedGate, "store">,
  plan: ShownPlan,
): Promise<Result<PayloadByType["plan"] | undefined, Failure>> {
  const { folder } = sessionPaths(home, session_id);
  const file = fileFor(folder, ask_id);
  const original = await planFileText(file, { summary: plan.summary, tasks: [...plan.tasks] });
  const begin = () => {
    makeDirectory(folder);
    if (!existsSync(file)) writeFileSync(file, original);
    return ok(undefined);
  };
  const begun = attempt(folder, begin, "The plan to be edited");
  if (!begun.ok) return begun;
  await explain(file);
  const before = writtenIn(file);
  const edited = await openEditor(context, file);
  if (!edited.ok) return edited;
  const after = writtenIn(file);
  const isOriginal = after?.equals(Buffer.from(original)) === true;
  if (isOriginal) forgetEdit(folder, ask_id);
  if (isOriginal || (after && before?.equals(after) === true)) return ok(undefined);
  const read = await readEdited(file);
  if (read.ok) return read;
  const isLeft = after ? after.toString().trim() !== "" : existsSync(file);
  if (!isLeft) forgetEdit(folder, ask_id);
  const on = isLeft ? "What you wrote is kept. To continue from it" : "To edit the plan as it is";
  return err({ ...read.error, hint: `${read.error.hint ?? ""} ${on}: bosun plan ${session_id} --edit`.trim() });
}

/** A gate that a person decides on. */
export interface DecidedGate {
  readonly store: StoreReader;
  readonly home: string;
  readonly session_id: string;
  readonly ask_id: string;
}

/**
 * Removes the file once the edit was taken, or the person decided otherwise. A refused edit is kept with the reason on top, to continue
 * from. An edit that is not taken yet is kept too, since it may still be refused.
 */
export function settleEdit(
  { store, home, session_id, ask_id }: DecidedGate,
  isEdited: boolean,
  refused: Refusal | undefined,
): void {
  const { folder } = sessionPaths(home, session_id);
  if (isEdited && refused) writeWhy(fileFor(folder, ask_id), [refused.message, refused.hint].join("\n"));
  else if (!isEdited || store.value(session_id, "ask", ask_id) === undefined) forgetEdit(folder, ask_id);
}

function forgetEdit(folder: string, ask_id: string): void {
  rmSync(fileFor(folder, ask_id), { force: true });
}

/** Each gate has its own file, so an edit of one plan is never taken for the next. */
function fileFor(folder: string, ask_id: string): string {
  return join(folder, `${ask_id}.plan-to-edit.yaml`);
}

/** Writes the problems on top of the file; twice, since that moves the lines they name. */
async function explain(file: string): Promise<void> {
  for (let time = 0; time < 2; time += 1) {
    const read = await readEdited(file);
    if (!read.ok) writeWhy(file, read.error.message);
  }
}

function writeWhy(file: string, why: string): void {
  const written = writtenIn(file);
  // UTF-8 on top would make a file in another encoding worse.
  if (written === undefined || !isUtf8(written)) return;
  const lines = safeText(why).trim().split("\n");
  const top = Buffer.from(lines.map((line) => `${WHY}${line}\n`).join(""));
  // Without the reason the file can still be continued from.
  attempt(file, () => ok(writeFileSync(file, Buffer.concat([top, written]))), "The plan to be edited");
}

/** The content of the file without the reason on top; undefined if it cannot be read, which loading it reports. */
function writtenIn(file: string): Buffer | undefined {
  try {
    let written = readFileSync(file);
    while (written.subarray(0, WHY.length).equals(Buffer.from(WHY))) {
      const end = written.indexOf("\n");
      written = written.subarray(end === -1 ? written.length : end + 1);
    }
    return written;
  } catch {
    return undefined;
  }
}

async function readEdited(file: string): Promise<Result<PayloadByType["plan"], Failure>> {
  const loaded = await loadPlanFile(file);
  if (!loaded.ok) return loaded;
  if (loaded.value.plan.questions !== undefined) {
    return err(
      failure("configuration", `${file}: an approved plan cannot ask questions.`, {
        hint: "Take `questions` out.",
      }),
    );
  }
  const wrong = graphProblem(loaded.value);
  return wrong ? err(wrong) : ok(planIn(loaded.value.plan));
}

/** Opens a file in `$VISUAL` or `$EDITOR` at this terminal and resolves when the editor exits. Failure `environment`. */
async function openEditor({ environment, terminal }: CommandContext, file: string): Promise<Result<void, Failure>> {
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
  const editor = spawn(program, [...rest, file], { stdio: "inherit" });
  return new Promise((resolve) => {
    editor.once("error", (error) => resolve(err(noEditor(named, error.message))));
    editor.once("exit", (code) => resolve(code === 0 ? ok(undefined) : err(noEditor(named, `it exited with ${code}`))));
  });
}

function noEditor(named: string, why: string): Failure {
  return failure("environment", `The editor ${JSON.stringify(named)} cannot be used: ${why}.`, {
    hint: "Set VISUAL or EDITOR to one that works.",
  });
}
