import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadPlanFile } from "../config/plan-file.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { PayloadByType, Task } from "../protocol/payload.ts";
import type { StoreReader } from "../store/store.ts";
import type { ShownPlan } from "../ui/plan.ts";
import { wordsOf } from "../ui/words.ts";
import { recordAt } from "./asks.ts";
import { openEditor } from "./editor.ts";
import type { CommandContext } from "./command.ts";

/** The plan that counts in a session, as it is recorded; undefined while there is none. */
export function planOf(reader: StoreReader, session_id: string): ShownPlan | undefined {
  const session = reader.value(session_id, "session", "session") as { plan?: [number, string] } | undefined;
  if (session?.plan === undefined) return undefined;
  const [sequence, pointer] = session.plan;
  const payload = recordAt(reader, session_id, sequence)?.payload;
  // The person's own version of a plan stands inside the approval.
  const plan = (pointer === "/plan" ? payload?.plan : payload) as JsonObject | undefined;
  return plan && { summary: wordsOf(plan.summary), tasks: (plan.tasks ?? []) as unknown as Task[] };
}

/** A plan as the text of a plan file, which can be run again. */
export async function planFileText(plan: ShownPlan, requirement: string | undefined): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify({ ...(requirement === undefined ? {} : { requirement }), summary: plan.summary, tasks: plan.tasks });
}

/**
 * Lets the person edit a plan in their editor. The edited plan fits its schema; undefined if they changed nothing. Failures:
 * `environment` if there is no editor, `configuration` for what they wrote; the file is then kept and named.
 */
export async function editPlan(
  context: CommandContext,
  folder: string,
  plan: ShownPlan,
): Promise<Result<PayloadByType["plan"] | undefined, Failure>> {
  const file = join(folder, "plan-to-edit.yaml");
  const before = await planFileText(plan, undefined);
  writeFileSync(file, before);
  const edited = await openEditor(context, file);
  if (!edited.ok) return edited;
  if (readFileSync(file, "utf8") === before) {
    rmSync(file, { force: true });
    return ok(undefined);
  }
  const loaded = await loadPlanFile(file);
  if (!loaded.ok) return loaded;
  if (loaded.value.plan.questions !== undefined) {
    return err(
      failure("configuration", `${file}: a plan that is approved can ask no questions.`, {
        hint: "Take `questions` out.",
      }),
    );
  }
  rmSync(file, { force: true });
  const { summary, tasks } = loaded.value.plan;
  return ok({ ...(summary === undefined ? {} : { summary }), tasks });
}
