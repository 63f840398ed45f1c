import { readFile, stat } from "node:fs/promises";
import type { Json, JsonObject } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import type { Result } from "../../lib/result.ts";
import { err, ok } from "../../lib/result.ts";
import { list, record, textOf } from "../turn.ts";
import type { Path, Problem } from "./shape.ts";
import { checkPlanShape } from "./shape.ts";
import { patternOf } from "./questions.ts";
import { lookUp, placeholders } from "./texts.ts";

const MAX_PLAN_FILE_BYTES = 8 * 1024 * 1024;
const MAX_SHOWN_PROBLEMS = 5;
/** More than this many uses of YAML aliases is an attempt to blow the document up. */
const MAX_ALIASES = 100;

/** A plan file that has been read and found to hold together. */
export interface PlanFile {
  readonly path: string;
  readonly document: JsonObject;
  readonly questions: readonly JsonObject[];
  readonly tasks: readonly JsonObject[];
}

/**
 * Reads and checks a plan file, YAML or JSON. `program` is the running crew program, for the names that texts may use. The failure is what
 * a person should read: file and line, what is wrong, what was expected.
 */
export async function loadPlanFile(path: string, program: string): Promise<Result<PlanFile, string>> {
  const text = await readText(path);
  if (!text.ok) return text;
  const parsed = await parse(path, text.value);
  if (!parsed.ok) return parsed;
  const problems: Problem[] = [];
  checkPlanShape(parsed.value, [], problems);
  const document = record(parsed.value);
  if (problems.length === 0) problems.push(...inconsistencies(document, program));
  if (problems.length > 0) return err(await explain(path, text.value, problems));
  return ok({
    path,
    document,
    questions: list(document["questions"]).map(record),
    tasks: list(document["tasks"]).map(record),
  });
}

async function readText(path: string): Promise<Result<string, string>> {
  try {
    const about = await stat(path);
    if (!about.isFile()) return err(`${path}: expected a plan file (YAML or JSON), found something that is not a file`);
    if (about.size > MAX_PLAN_FILE_BYTES) {
      return err(`${path}: expected at most ${MAX_PLAN_FILE_BYTES} bytes, found ${about.size}`);
    }
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path)));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return err(`${path}: there is no such file; expected a plan file (YAML or JSON)`);
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return err(`${path}: expected text in UTF-8, found other bytes`);
    return err(`${path}: the plan file cannot be read: ${(error as Error).message}`);
  }
}

/** JSON goes without the YAML parser, which costs more than the rest of a turn; what is not JSON goes to it for the line. */
async function parse(path: string, text: string): Promise<Result<Json, string>> {
  if (path.endsWith(".json")) {
    try {
      return ok(JSON.parse(text) as Json);
    } catch {
      // Falls through to the parser that knows lines.
    }
  }
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true });
  const first = document.errors[0];
  if (first !== undefined) return err(`${path}:${first.linePos?.[0].line ?? 1}: ${first.message.split("\n")[0]}`);
  try {
    return ok(document.toJS({ maxAliasCount: MAX_ALIASES }) as Json);
  } catch (error) {
    return err(`${path}: ${(error as Error).message}`);
  }
}

async function explain(path: string, text: string, problems: readonly Problem[]): Promise<string> {
  const { LineCounter, parseDocument, isMap, isScalar } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const lineOf = (problem: Problem): number => {
    const last = problem.path.at(-1);
    const parent: unknown = document.getIn(problem.path.slice(0, -1), true);
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isScalar(item.key) && String(item.key.value) === last);
      if (isScalar(pair?.key) && pair.key.range) return lines.linePos(pair.key.range[0]).line;
    }
    const node = document.getIn(problem.path, true) as { range?: readonly number[] | null } | undefined;
    return lines.linePos(node?.range?.[0] ?? 0).line;
  };
  const shown = problems
    .slice(0, MAX_SHOWN_PROBLEMS)
    .map((problem) => `${path}:${lineOf(problem)}: ${named(problem.path)}${problem.message}`);
  const more = problems.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function named(path: Path): string {
  const name = path.reduce<string>((sum, key) => {
    if (typeof key === "number") return `${sum}[${key}]`;
    return sum === "" ? key : `${sum}.${key}`;
  }, "");
  return name === "" ? "" : `${name}: `;
}

function inconsistencies(document: JsonObject, program: string): Problem[] {
  const tasks = list(document["tasks"]).map(record);
  const questions = list(document["questions"]).map(record);
  return [
    ...repeated(questions, "questions", "question_id"),
    // Answers come back beside the words of their question.
    ...repeated(questions, "questions", "text"),
    ...repeated(tasks, "tasks", "task_id"),
    ...wrongDependencies(tasks),
    ...wrongPatterns(questions),
    ...wrongPlaceholders(document, questions, program),
  ];
}

function repeated(entries: readonly JsonObject[], group: string, key: string): Problem[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const name = textOf(entry[key]);
    const before = first.get(name);
    if (before === undefined) first.set(name, index);
    return before === undefined
      ? []
      : [{ path: [group, index, key], message: `${group}[${before}] has the same ${key} "${name}"; they must differ` }];
  });
}

function wrongDependencies(tasks: readonly JsonObject[]): Problem[] {
  const ids = tasks.map((task) => textOf(task["task_id"]));
  const unknown = tasks.flatMap((task, index) =>
    list(task["dependencies"]).flatMap((dependency, position): Problem[] => {
      const name = textOf(dependency);
      if (ids.includes(name)) return [];
      const meant = nearest(name, ids);
      const advice = meant === undefined ? `expected one of ${ids.join(", ")}` : `did you mean "${meant}"?`;
      return [{ path: ["tasks", index, "dependencies", position], message: `there is no task "${name}"; ${advice}` }];
    }),
  );
  return unknown.length > 0 ? unknown : cycle(tasks, ids);
}

function cycle(tasks: readonly JsonObject[], ids: readonly string[]): Problem[] {
  const needs = new Map(tasks.map((task) => [textOf(task["task_id"]), list(task["dependencies"]).map(textOf)]));
  const done = new Set<string>();
  let progress = true;
  while (progress) {
    const ready = ids.filter((id) => !done.has(id) && (needs.get(id) ?? []).every((need) => done.has(need)));
    for (const id of ready) done.add(id);
    progress = ready.length > 0;
  }
  const start = ids.find((id) => !done.has(id));
  if (start === undefined) return [];
  // Every task left has an unfinished need, so following them must come back to one already met.
  const trail = [start];
  for (;;) {
    const next = (needs.get(trail.at(-1) ?? "") ?? []).find((need) => !done.has(need)) ?? start;
    const met = trail.indexOf(next);
    if (met < 0) {
      trail.push(next);
      continue;
    }
    const circle = [...trail.slice(met), next];
    return [
      {
        path: ["tasks", ids.indexOf(next), "dependencies"],
        message: `the tasks wait for each other in a circle: ${circle.join(" needs ")}; take one of these dependencies away`,
      },
    ];
  }
}

function wrongPatterns(questions: readonly JsonObject[]): Problem[] {
  return questions.flatMap((question, index): Problem[] => {
    const pattern = patternOf(question);
    if (pattern === undefined) return [];
    const path = ["questions", index, "metadata", "playbook", "pattern"];
    try {
      const whole = new RegExp(`^(?:${pattern})$`, "u");
      const own = question["default"];
      if (typeof own !== "string" || whole.test(own)) return [];
      return [{ path: ["questions", index, "default"], message: `the default does not match the pattern ${pattern}` }];
    } catch (error) {
      return [{ path, message: `expected a regular expression: ${(error as Error).message}` }];
    }
  });
}

function wrongPlaceholders(document: JsonObject, questions: readonly JsonObject[], program: string): Problem[] {
  const answers = new Map(questions.map((question) => [textOf(question["question_id"]), textOf(question)]));
  const names = [...answers.keys()].map((name) => `answers.${name}`);
  const { questions: _questions, requirement: _requirement, ...used } = document;
  return placeholders(used, []).flatMap(({ path, name, in_quotes }): Problem[] => {
    if (lookUp(name, { answers, program }) === undefined) {
      const advice = choice(["node", "crew", "crew.shell", ...names]);
      return [{ path, message: `\${${name}} stands for nothing; ${advice}; a literal one is written $\${` }];
    }
    if (in_quotes) {
      return [
        { path, message: `\${${name}} stands inside quotes; leave them out, the value comes quoted for the shell` },
      ];
    }
    return [];
  });
}

function choice(names: readonly string[]): string {
  return names.length === 0 ? "there are none to choose from" : `expected one of ${names.join(", ")}`;
}
