import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadPlanFile } from "../../config/plan-file.ts";
import { unenforcedPermission } from "../../config/role-defaults.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { isUnsafe } from "../../lib/terminal-text.ts";
import { isJsonFile } from "../../protocol/document/document.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { Instruction, PlanFile, Task } from "../../protocol/payload.ts";
import { overlapsOf } from "../../protocol/write-scopes.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { safeQuoted } from "../../ui/display.ts";
import type { ShownPlan } from "../../ui/plan.ts";
import { wordsOf } from "../../ui/words.ts";
import { changeableWords } from "./changeable-programs.ts";
import { unaskedWords } from "./unasked.ts";
import { failsBefore, newCommands, sessionValue, ticketValue, waitingRevision } from "./schedule-state.ts";
import { openedWith, recordAt } from "./state.ts";

/** A session's plan, and who wrote it. */
export interface RecordedPlan extends ShownPlan {
  /** A role id, or `user`. */
  readonly source: string;
}

/** The plan that needs a person's approval, else the current one; undefined while there is none. */
export function planOf(reader: StoreReader, session_id: string): RecordedPlan | undefined {
  const session = sessionValue(reader, session_id);
  const revision = waitingRevision(reader, session_id);
  const { place = session?.plan, ...changes } = revision ?? {};
  if (session === undefined || place === undefined) return undefined;
  const [sequence, pointer] = place;
  const record = recordAt(reader, session_id, sequence);
  // A plan that the person edited is part of their approval.
  const plan = (pointer === "/plan" ? record?.payload.plan : record?.payload) as JsonObject | undefined;
  if (record === undefined || plan === undefined) return undefined;
  const tasks = (plan.tasks ?? []) as unknown as Task[];
  const { config, roles = [] } = openedWith(reader, session_id) ?? {};
  const checks = config?.checks.ticket ?? [];
  const beyond = roles.flatMap((role) => {
    const what = unenforcedPermission(role, role.sandbox ?? "none");
    return what === undefined ? [] : [`${role.role_id}: ${what}`];
  });
  const { workspace = "" } = config ?? {};
  const unheld = [...beyond, ...changeableWords(roles, workspace, undefined), ...unaskedWords(roles, workspace)];
  const { review } = session.settings;
  const changed = tasks.filter(({ task_id }) => revision?.changed.includes(task_id));
  const commands = revision === undefined ? {} : { new_commands: newCommands(reader, session_id, changed) };
  const more = { fails_before: failsBefore(reader, session_id, session), overlaps: overlapsOf(tasks) };
  const shown = { source: record.source, summary: wordsOf(plan.summary), tasks, review, checks, unheld, ...more };
  return { ...shown, ...changes, ...commands };
}

/**
 * Adds everything that will be run: the playbook manager takes instructions that its plan leaves out from the plan file. Failures as
 * `loadPlanFile`.
 */
export async function withInstructions(
  home: string,
  session_id: string,
  plan: ShownPlan,
): Promise<Fallible<ShownPlan>> {
  const played = playedFile(sessionPaths(home, session_id).folder);
  if (played === undefined) return ok(plan);
  const loaded = await loadPlanFile(played);
  if (!loaded.ok) return loaded;
  const inFile = new Map(loaded.value.plan.tasks.map((task) => [task.task_id, task]));
  return ok({
    ...plan,
    tasks: plan.tasks.map((task): Task => {
      const { instruction, metadata } = inFile.get(task.task_id) ?? {};
      return { ...(instruction && { instruction }), ...(metadata && { metadata }), ...task };
    }),
  });
}

/**
 * The plan as a plan file that can be run again: the played file if the playbook manager's plan is unchanged, else the recorded plan with the
 * instructions that its tickets were given. Failures as `loadPlanFile`.
 */
export async function exportablePlan(
  reader: StoreReader,
  home: string,
  row: SessionRow,
  plan: RecordedPlan,
): Promise<Fallible<PlanFile>> {
  const played = plan.source === "user" ? undefined : playedFile(sessionPaths(home, row.session_id).folder);
  if (played !== undefined) {
    const loaded = await loadPlanFile(played);
    return loaded.ok ? ok({ ...loaded.value.plan, ...requirementOf(row) }) : loaded;
  }
  const anew = new Set([...(plan.added ?? []), ...(plan.changed ?? [])]);
  const tasks = plan.tasks.map((task): Task => {
    const ticket = ticketValue(reader, row.session_id, task.task_id);
    // A ticket's instruction is out of date if a revision changes the task or brings it back.
    const place = anew.has(task.task_id) ? undefined : ticket?.instruction;
    const record = place && recordAt(reader, row.session_id, place[0]);
    const given = record?.payload_type === "instruction" ? planned(record.payload) : task.instruction;
    return given === undefined ? task : { ...task, instruction: { ...given, ...playableSteps(given) } };
  });
  const summary = plan.summary.trim() === "" ? {} : { summary: plan.summary };
  const recorded: PlanFile = { ...requirementOf(row), ...summary, tasks };
  return ok(literally(recorded as unknown as Json) as unknown as PlanFile);
}

/** Escapes `${…}` in recorded text, because the playbook manager replaces it in a plan file. */
function literally(value: Json): Json {
  if (typeof value === "string") return value.replaceAll("${", () => "$${");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as Json[]).map(literally);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === undefined ? inner : literally(inner)]),
  );
}

/** Removes the fields of the turn. */
function planned({ turn_id: _turn, ticket_id: _ticket, usage: _usage, ...instruction }: JsonObject): Instruction {
  return instruction as unknown as Instruction;
}

/** Drops `shell` where a worker ran the `command`: the playbook manager refuses a step with both. */
function playableSteps({ steps }: Instruction): Pick<Instruction, "steps"> {
  if (steps === undefined) return {};
  return {
    steps: steps.map((step) => {
      if (typeof step === "string" || step.command === undefined) return step;
      const { shell: _shell, ...played } = step;
      return played;
    }),
  };
}

function requirementOf({ requirement }: SessionRow): Pick<PlanFile, "requirement"> {
  return requirement === null ? {} : { requirement };
}

/** The text of a plan file, as YAML or JSON by the file's name; safe for a terminal. */
export async function planFileText(file: string, { tasks, ...about }: PlanFile): Promise<string> {
  const plan: PlanFile = { ...about, tasks: tasks.map(readable) };
  if (isJsonFile(file)) return `${safeQuoted(JSON.stringify(plan, null, 2))}\n`;
  const { Document, visit } = await import("yaml");
  const document = new Document(plan);
  visit(document, {
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === "string" && isUnsafe(scalar.value)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  // Not folded, because the library breaks quoted lines inside surrogate pairs.
  return safeQuoted(document.toString({ lineWidth: 0 }));
}

/** Puts a task's id and an instruction's summary first, because records have their keys in alphabetical order. */
function readable({ task_id, description, instruction, ...rest }: Task): Task {
  if (instruction === undefined) return { task_id, description, ...rest };
  const { summary, ...steps } = instruction;
  return { task_id, description, ...rest, instruction: { summary, ...steps } };
}

/** The path of a session's copy of the plan file that the playbook manager plays. */
export function playbookCopy(folder: string, file: string): string {
  return join(folder, isJsonFile(file) ? "plan.json" : "plan.yaml");
}

function playedFile(folder: string): string | undefined {
  return ["plan.json", "plan.yaml"].map((name) => join(folder, name)).find((file) => existsSync(file));
}
