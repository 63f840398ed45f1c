import { isJsonObject, type Json, listOf, numberOf, objectOf, textOf } from "../../lib/json.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { permissionsOf, type Role, seesWorkspace } from "../../protocol/roles.ts";

/** A task or an instruction with each of its criteria in a line. Other values are as they are. */
export function workWords(work: Json | undefined): Json | undefined {
  if (!isJsonObject(work)) return work;
  const { acceptance_criteria: criteria, instruction, ...rest } = work;
  return {
    ...rest,
    ...(criteria === undefined ? {} : { acceptance_criteria: listOf(criteria).map(criterionWords) }),
    ...(instruction === undefined ? {} : { instruction: workWords(instruction) ?? null }),
  };
}

export function checkWords(check: Json): string {
  const { criterion = "", passed, exit_code, signal, timed_out, output = "" } = objectOf(check);
  const ended = signal === undefined ? `exit code ${numberOf(exit_code)}` : `ended by ${textOf(signal)}`;
  const how = timed_out === true ? "out of time" : exit_code === null && signal === undefined ? "not started" : ended;
  const result = passed === true ? "passed" : `failed (${how})`;
  return [`${result}: ${criterionWords(criterion)}`, textOf(output).trimEnd()].filter(Boolean).join("\n");
}

function criterionWords(criterion: Json): string {
  if (!isJsonObject(criterion)) return textOf(criterion);
  const { text, command, expect_exit = 0 } = criterion;
  if (command === undefined) return textOf(text);
  const exit = expect_exit === 0 ? "" : ` (exit code ${numberOf(expect_exit)})`;
  return `${textOf(text)}: \`${listOf(command).map(textOf).map(shellWord).join(" ")}\`${exit}`;
}

/** What is shown beside the history, by the message of the turn: the latest entry of these types is left out of it. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  instruction: ["instruction", "review", "check_result"],
  review_request: ["instruction", "report", "check_result"],
  report: ["report"],
  error: ["check_result"],
};

/** What is told of an event, and the fields whose texts follow. Questions, answers and notes stand elsewhere in a prompt. */
const TOLD: Readonly<Record<string, readonly [what: string, ...fields: string[]]>> = {
  instruction: ["the manager instructed", "summary", "steps"],
  instruction_proposal: ["the manager proposed", "summary", "draft_steps"],
  report: ["the worker reported", "status", "summary", "issues", "questions"],
  check_result: ["checks", "results"],
  review: ["review", "decision", "requested_changes", "notes"],
  session_finished: ["discussed", "result"],
  turn_failed: ["the turn failed", "message", "refused"],
  error: ["given up", "message"],
  plan: ["the manager revised the plan", "summary"],
};

/** What happened to a ticket. With `sinceReport`, only what came after the latest report. */
export function historyWords(history: Json | undefined, message: string, sinceReport: boolean): string[] {
  const entries = listOf(history).map(objectOf);
  const types = entries.map(({ payload_type }) => textOf(payload_type));
  const shown = new Set((SHOWN[message] ?? []).map((type) => types.lastIndexOf(type)));
  const first = sinceReport ? types.lastIndexOf("report") + 1 : 0;
  return entries.flatMap(({ attempt, payload }, index) => {
    const [what, ...fields] = TOLD[types[index] ?? ""] ?? [];
    if (what === undefined || index < first || shown.has(index)) return [];
    const of = numberOf(attempt) > 0 ? `attempt ${numberOf(attempt)}: ` : "";
    return [`${of}${what}: ${fields.flatMap((field) => textsIn(objectOf(payload)[field])).join("\n")}`];
  });
}

/** The texts in a value: itself, those of a list, and of objects what they mainly say. */
function textsIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap((entry: Json) => textsIn(entry));
  if (!isJsonObject(value)) return [textOf(value)].filter(Boolean);
  if ("criterion" in value) return [checkWords(value)];
  return textsIn(value["text"] ?? value["message"] ?? value["question"] ?? value["summary"] ?? value["shell"]);
}

/** The workers that a task can be for: their capabilities, and what each may do. */
export function crewWords(roles: readonly Role[]): string[] {
  const workers = roles.filter(({ type }) => type === "worker");
  return workers.map((role) => {
    const { write, network } = permissionsOf(role);
    const commands = commandsOf(role).join(", ");
    const parts = [
      role.capabilities?.length ? `capabilities ${role.capabilities.join(", ")}` : "",
      !seesWorkspace(role) ? "sees no files" : write === "workspace" ? "may change files" : "only reads files",
      commands && `may run ${commands}`,
      network === false ? "no network" : "",
    ];
    return `\`${role.role_id}\`: ${parts.filter(Boolean).join("; ")}`;
  });
}

/** The commands that a role may run without a permission. */
export function commandsOf(role: Role): string[] {
  return permissionsOf(role).commands.map((command) => `\`${command}\``);
}
