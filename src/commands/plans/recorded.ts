import { isJsonFile } from "../../config/document.ts";
import { loadPlanFile } from "../../config/plan-file.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { isUnsafe } from "../../lib/terminal-text.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Instruction, PlanFile, Task } from "../../protocol/payload.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { safeQuoted } from "../../ui/display.ts";
import type { ShownPlan } from "../../ui/plan.ts";
import { wordsOf } from "../../ui/words.ts";
import { sessionValue, ticketValue, waitingRevision } from "../lookup/schedule-state.ts";
import { recordAt } from "../lookup/state.ts";
import { playedFile } from "./playbook.ts";

/** A plan as a session has it, and who wrote it. */
export interface RecordedPlan extends ShownPlan {
  /** A role id, or `user`. */
  readonly source: string;
}

/** The plan that waits for a person in a session, else the one that counts, as it is recorded; undefined while there is none. */
export function planOf(reader: StoreReader, session_id: string): RecordedPlan | undefined {
  const session = sessionValue(reader, session_id);
  const { place = session?.plan, ...changes } = waitingRevision(reader, session_id) ?? {};
  if (session === undefined || place === undefined) return undefined;
  const [sequence, pointer] = place;
  const record = recordAt(reader, session_id, sequence);
  // The person's own version of a plan stands inside the approval.
  const plan = (pointer === "/plan" ? record?.payload.plan : record?.payload) as JsonObject | undefined;
  if (record === undefined || plan === undefined) return undefined;
  const tasks = (plan.tasks ?? []) as unknown as Task[];
  return { source: record.source, summary: wordsOf(plan.summary), tasks, review: session.settings.review, ...changes };
}

/**
 * The plan as a plan file that can be run again: with the instructions its tickets were given, or where the playbook manager
 * played a file and nobody changed the plan, that file's content. Failures as `loadPlanFile`.
 */
export async function exportablePlan(
  reader: StoreReader,
  home: string,
  row: SessionRow,
  plan: RecordedPlan,
): Promise<Result<PlanFile, Failure>> {
  const played = plan.source === "user" ? undefined : playedFile(sessionPaths(home, row.session_id).folder);
  if (played !== undefined) {
    const loaded = await loadPlanFile(played);
    return loaded.ok ? ok({ ...loaded.value.plan, ...requirementOf(row) }) : loaded;
  }
  const anew = new Set([...(plan.added ?? []), ...(plan.changed ?? [])]);
  const tasks = plan.tasks.map((task): Task => {
    const ticket = ticketValue(reader, row.session_id, task.task_id);
    // What its ticket was told says nothing of a task that a revision changes, or that was withdrawn and that it brings again.
    const place = anew.has(task.task_id) ? undefined : ticket?.instruction;
    const record = place && recordAt(reader, row.session_id, place[0]);
    const given = record?.payload_type === "instruction" ? planned(record.payload) : task.instruction;
    return given === undefined ? task : { ...task, instruction: { ...given, ...playableSteps(given) } };
  });
  const summary = plan.summary.trim() === "" ? {} : { summary: plan.summary };
  const recorded: PlanFile = { ...requirementOf(row), ...summary, tasks };
  return ok(literally(recorded as unknown as Json) as unknown as PlanFile);
}

/** In a plan file `${…}` is filled in by the playbook manager; what was only text in the record must stay what it is. */
function literally(value: Json): Json {
  if (typeof value === "string") return value.replaceAll("${", () => "$${");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as Json[]).map(literally);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === undefined ? inner : literally(inner)]),
  );
}

/** What only belonged to the turn it was said in is left out. */
function planned({ turn_id: _turn, ticket_id: _ticket, usage: _usage, ...instruction }: JsonObject): Instruction {
  return instruction as unknown as Instruction;
}

/** The playbook manager plays no step with both a `command` and a `shell`, of which the command is what was run. */
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

/** A plan file's text, for a file of that name; a terminal can show it as it is. */
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
  // Not folded: the library breaks quoted lines between any two UTF-16 units, and so through characters.
  return safeQuoted(document.toString({ lineWidth: 0 }));
}

/** A record has its keys by the alphabet; who reads a plan looks for the task first, and for what an instruction is about. */
function readable({ task_id, description, ...rest }: Task): Task {
  const { instruction } = rest;
  return { task_id, description, ...rest, ...(instruction && { instruction: summaryFirst(instruction) }) };
}

function summaryFirst({ summary, ...rest }: Instruction): Instruction {
  return { summary, ...rest };
}
