import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
import { openEditor } from "./editor.ts";
import type { Refusal } from "./person-message.ts";

/** How the lines begin in which the file itself tells why what is in it was refused. */
const WHY = "#! ";

/**
 * Lets the person edit the plan that a gate is about, in their editor. Where they tried before they get what they wrote then,
 * with why it was refused on top. The edited plan fits its schema, and its tasks can wait for each other; undefined if they
 * changed nothing. What they wrote is kept until `settleEdit`. Failures: `environment` if there is no editor, `configuration` and
 * `invalid_plan` for what they wrote, `storage` and `storage_full` if there is no place for a file.
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
  const on = isLeft ? "What you wrote is kept. To go on from it" : "To edit the plan as it is";
  return err({ ...read.error, hint: `${read.error.hint ?? ""} ${on}: bosun plan ${session_id} --edit`.trim() });
}

/** The gate that a person has decided on. */
export interface DecidedGate {
  readonly store: StoreReader;
  readonly home: string;
  readonly session_id: string;
  readonly ask_id: string;
}

/**
 * Forgets what the person wrote once it stands, or they have chosen another way. If the session refused it, it is kept with the
 * reason on top, so that they can go on from it. If nobody has taken it yet it is kept as well, since it may still be refused.
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

/** A gate has a file of its own: what was written about one plan is never taken for the next. */
function fileFor(folder: string, ask_id: string): string {
  return join(folder, `${ask_id}.plan-to-edit.yaml`);
}

/** What does not fit a plan file's schema says so by its lines, which the words on top move down. */
async function explain(file: string): Promise<void> {
  for (let time = 0; time < 2; time += 1) {
    const read = await readEdited(file);
    if (!read.ok) writeWhy(file, read.error.message);
  }
}

function writeWhy(file: string, why: string): void {
  const written = writtenIn(file);
  // Above another encoding than its own it would only make it worse.
  if (written === undefined || !isUtf8(written)) return;
  const lines = safeText(why).trim().split("\n");
  const top = Buffer.from(lines.map((line) => `${WHY}${line}\n`).join(""));
  // Without its reason it can still be gone on from.
  attempt(file, () => ok(writeFileSync(file, Buffer.concat([top, written]))), "The plan to be edited");
}

/** What is in the file, but for the words on top; undefined if it cannot be read, of which whoever loads it says why. */
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
      failure("configuration", `${file}: a plan that is approved can ask no questions.`, {
        hint: "Take `questions` out.",
      }),
    );
  }
  const wrong = graphProblem(loaded.value);
  return wrong ? err(wrong) : ok(planIn(loaded.value.plan));
}
