import type { Json, JsonObject } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import type { CriterionObject, Instruction, PlanFile, Question, StepObject, Task, Text } from "../payload.ts";

/** Where a value stands in a document: keys and list positions from the top. */
export type Path = readonly (string | number)[];

/** One thing wrong with a plan file, ready to be shown after its place. */
export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** The place is the key itself rather than its value. */
  readonly at_key?: boolean;
}

type Check = (value: Json, path: Path, problems: Problem[]) => void;

function kindOf(value: Json): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  if (typeof value === "string") return "a text";
  return `${typeof value} ${String(value)}`;
}

function expected(what: string): (value: Json, path: Path, problems: Problem[]) => void {
  return (value, path, problems) => problems.push({ path, message: `expected ${what}, found ${kindOf(value)}` });
}

const text: Check = (value, path, problems) => {
  if (typeof value !== "string") expected("a text")(value, path, problems);
  else if (value.trim() === "")
    problems.push({ path, message: "expected a text that says something, found an empty one" });
};

/** An argument may well be empty, and so may what the schema lets an agent leave empty: an exported plan has it. */
const anyText: Check = (value, path, problems) => {
  if (typeof value !== "string") expected("a text")(value, path, problems);
};

const truth: Check = (value, path, problems) => {
  if (typeof value !== "boolean") expected("true or false")(value, path, problems);
};

function oneOf(...words: string[]): Check {
  return (value, path, problems) => {
    if (typeof value === "string" && words.includes(value)) return;
    problems.push({ path, message: `expected one of ${words.join(", ")}, found ${JSON.stringify(value)}` });
  };
}

function id(pattern: RegExp, what: string): Check {
  return (value, path, problems) => {
    if (typeof value === "string" && pattern.test(value)) return;
    problems.push({ path, message: `expected ${what}, found ${JSON.stringify(value)}` });
  };
}

function listOf(item: Check, minimum = 0): Check {
  return (value, path, problems) => {
    if (!Array.isArray(value)) return expected("a list")(value, path, problems);
    if (value.length < minimum) problems.push({ path, message: `expected at least ${minimum} entry, found none` });
    for (const [index, entry] of (value as Json[]).entries()) item(entry, [...path, index], problems);
  };
}

function mapOf(item: Check): Check {
  return (value, path, problems) => {
    if (kindOf(value) !== "a mapping") return expected("a mapping")(value, path, problems);
    for (const [key, entry] of Object.entries(value as JsonObject)) item(entry ?? null, [...path, key], problems);
  };
}

/** A check for each key that a type needs, or that it may have. */
type Needed<T> = { [K in keyof T as {} extends Pick<T, K> ? never : K]: Check };
type Allowed<T> = { [K in keyof T as {} extends Pick<T, K> ? K : never]-?: Check };

/** A mapping with the keys of `T`: where that is a type of the schema's, the compiler misses a key that stands in one of them only. */
function object<T = Record<string, Json>>(required: Needed<T>, optional: Allowed<T>): Check {
  const known: Record<string, Check> = { ...required, ...optional };
  return (value, path, problems) => {
    if (kindOf(value) !== "a mapping") return expected("a mapping")(value, path, problems);
    const entries = value as JsonObject;
    for (const key of Object.keys(required)) {
      if (entries[key] === undefined) problems.push({ path, message: `"${key}" is missing` });
    }
    for (const [key, entry] of Object.entries(entries)) {
      const check = Object.hasOwn(known, key) ? known[key] : undefined;
      if (check !== undefined) {
        check(entry ?? null, [...path, key], problems);
        continue;
      }
      const meant = nearest(key, Object.keys(known));
      const advice =
        meant === undefined ? `expected one of ${Object.keys(known).join(", ")}` : `did you mean "${meant}"?`;
      problems.push({ path: [...path, key], message: `unknown key "${key}"; ${advice}`, at_key: true });
    }
  };
}

function textOr(other: Check, plain: Check = text): Check {
  return (value, path, problems) => (typeof value === "string" ? plain : other)(value, path, problems);
}

const anything: Check = () => {};
const texts = listOf(textOr(object<Exclude<Text, string>>({ text: anyText }, { metadata: mapOf(anything) }), anyText));
const words = listOf(text);
const command = listOf(anyText, 1);
const timeout: Check = (value, path, problems) => {
  if (typeof value !== "number" || !(value > 0)) expected("a number of seconds above 0")(value, path, problems);
};
const exitCode: Check = (value, path, problems) => {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > 255) {
    expected("an exit code from 0 to 255")(value, path, problems);
  }
};
const criteria = listOf(
  textOr(
    object<CriterionObject>(
      { text },
      { command, timeout_s: timeout, expect_exit: exitCode, metadata: mapOf(anything) },
    ),
  ),
);
const step: Check = (value, path, problems) => {
  const mapping = object<StepObject>({}, { text: anyText, command, shell: text, metadata: mapOf(anything) });
  textOr(mapping, anyText)(value, path, problems);
  if (
    kindOf(value) === "a mapping" &&
    Object.hasOwn(value as JsonObject, "shell") &&
    Object.hasOwn(value as JsonObject, "command")
  ) {
    problems.push({ path, message: 'expected either "command" or "shell", found both' });
  }
};
/** An exported plan keeps these from the answers it was made of. */
const ofTheAnswer = { turn_id: text, ticket_id: text, usage: mapOf(anything) };
const instruction = object<Instruction>(
  { summary: text },
  {
    steps: listOf(step),
    resources: texts,
    acceptance_criteria: criteria,
    metadata: mapOf(anything),
    ...ofTheAnswer,
  },
);
const proposal = object({ summary: text }, { open_questions: texts, risks: texts, draft_steps: texts });
const playbookOfTask = object(
  {},
  {
    revisions: listOf(instruction),
    proposal,
    fatal_issues: words,
    on_error: oneOf("repeat", "give_up"),
    instruction: oneOf("on_ticket", "with_plan"),
  },
);

function metadataWith(playbook: Check): Check {
  return (value, path, problems) => {
    mapOf(anything)(value, path, problems);
    const own = kindOf(value) === "a mapping" ? (value as JsonObject)["playbook"] : undefined;
    if (own !== undefined) playbook(own, [...path, "playbook"], problems);
  };
}

const taskId = id(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "a task id of letters, digits, ., _ and -");

const question = object<Question>(
  { question_id: text, text },
  { why: anyText, options: words, default: anyText, metadata: metadataWith(object({}, { pattern: text })) },
);
const task = object<Task>(
  { task_id: taskId, description: text },
  {
    dependencies: listOf(taskId),
    expected_outputs: texts,
    assigned_to: object<NonNullable<Task["assigned_to"]>>({}, { role_id: text, capability: text }),
    status: anyText,
    risks: texts,
    acceptance_criteria: criteria,
    proposal_needed: truth,
    instruction,
    review: oneOf("manager", "user", "checks"),
    budget: mapOf(anything),
    metadata: metadataWith(playbookOfTask),
  },
);

/** What a plan file may hold; every problem says what was expected and what was found. */
export const checkPlanShape: Check = object<PlanFile>(
  { tasks: listOf(task, 1) },
  {
    requirement: text,
    questions: listOf(question),
    summary: anyText,
    metadata: metadataWith(object({}, { instruction: oneOf("on_ticket", "with_plan") })),
  },
);
