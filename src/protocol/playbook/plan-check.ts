import { cycleIn } from "../../lib/cycle.ts";
import type { Json } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import type { Finding } from "../document/problem.ts";
import { playable_plan } from "../generated/validators.js";
import type { PlanFile, Question, Task } from "../payload.ts";
import { fileFindings } from "../schema-errors.ts";
import { placeholders, programNamed } from "./placeholders.ts";

/** Maximum number of names in a message that lists alternatives or a cycle: a plan may have a hundred thousand. */
const MAX_NAMES = 10;

/** Maximum number of unknown names that are compared with the known ones: no caller shows more problems. */
const MAX_SUGGESTIONS = 10;

/**
 * Returns why the playbook manager cannot play a plan that fits its schema; empty if it can. `isProgram` knows the crew's programs, for the names
 * that texts may use.
 */
export function planFindings(plan: PlanFile, isProgram: (name: string) => boolean): Finding[] {
  const { tasks, questions = [] } = plan;
  if (!playable_plan(plan)) return fileFindings(playable_plan.errors ?? []);
  return [
    ...duplicates(questions, "questions", "question_id"),
    // The manager finds an answer by its question's id or text.
    ...duplicates(questions, "questions", "text"),
    ...duplicates(tasks, "tasks", "task_id"),
    ...wrongDependencies(tasks),
    ...wrongDefaults(questions),
    ...wrongPatterns(questions),
    ...wrongPlaceholders(plan, questions, isProgram),
  ];
}

function duplicates<K extends string>(
  entries: readonly { readonly [key in K]: string }[],
  list: string,
  key: K,
): Finding[] {
  const first = new Map<string, number>();
  return entries.flatMap(({ [key]: value }, index) => {
    const before = first.get(value);
    if (before === undefined) first.set(value, index);
    return before === undefined
      ? []
      : [{ pointer: `/${list}/${index}/${key}`, what: `${list}[${before}] has the same ${key} "${value}"` }];
  });
}

function wrongDependencies(tasks: readonly Task[]): Finding[] {
  const ids = new Set(tasks.map(({ task_id }) => task_id));
  const unknown = tasks.flatMap(({ dependencies = [] }, index) =>
    dependencies.flatMap((name, position) =>
      ids.has(name) ? [] : [{ pointer: `/tasks/${index}/dependencies/${position}`, name }],
    ),
  );
  if (unknown.length === 0) return cycle(tasks);
  const known = shortened([...ids], ", ");
  return unknown.map(({ pointer, name }, index) => {
    const meant = index < MAX_SUGGESTIONS ? nearest(name, ids) : undefined;
    const advice = meant === undefined ? { expected: `one of ${known}` } : { nearest: meant };
    return { pointer, what: `there is no task "${name}"`, ...advice };
  });
}

/** The first dependency cycle. Of tasks with the same id only the last one counts; duplicates are findings of their own. */
function cycle(tasks: readonly Task[]): Finding[] {
  const nodes = new Map(
    tasks.map(({ task_id: id, dependencies: depends_on = [] }) => [id, { id, depends_on }] as const),
  );
  const names = cycleIn([...nodes.values()]);
  const [first] = names;
  if (first === undefined) return [];
  const index = tasks.findIndex(({ task_id }) => task_id === first);
  const what = `the tasks wait for each other in a cycle: ${shortened(names, " needs ")} needs ${first}`;
  return [{ pointer: `/tasks/${index}/dependencies`, what, expected: "one of these dependencies less" }];
}

function shortened(names: readonly string[], between: string): string {
  const more = names.length - MAX_NAMES;
  return [...names.slice(0, MAX_NAMES), ...(more > 0 ? [`… and ${more} more`] : [])].join(between);
}

function wrongDefaults(questions: readonly Question[]): Finding[] {
  return questions.flatMap(({ options = [], default: usual, free_text }, index) => {
    if (free_text !== false || options.length === 0 || usual === undefined || options.includes(usual)) return [];
    const what = "the default is none of the options, and free_text is false";
    return [{ pointer: `/questions/${index}/default`, what, expected: `one of ${shortened(options, ", ")}` }];
  });
}

function wrongPatterns(questions: readonly Question[]): Finding[] {
  return questions.flatMap((question, index): Finding[] => {
    const pattern = patternOf(question);
    if (pattern === undefined) return [];
    const pointer = `/questions/${index}`;
    try {
      const whole = new RegExp(`^(?:${pattern})$`, "u");
      if (question.default === undefined || whole.test(question.default)) return [];
      return [{ pointer: `${pointer}/default`, what: `the default does not match the pattern ${pattern}` }];
    } catch (error) {
      const what = `this is not a regular expression: ${(error as Error).message}`;
      return [{ pointer: `${pointer}/metadata/playbook/pattern`, what }];
    }
  });
}

/** The pattern that a whole answer must match, from the question's `metadata.playbook`; undefined if any answer is accepted. */
export function patternOf({ metadata }: Pick<Question, "metadata">): string | undefined {
  const playbook = metadata?.playbook as { readonly pattern?: Json } | null | undefined;
  return typeof playbook?.pattern === "string" ? playbook.pattern : undefined;
}

function wrongPlaceholders(
  { questions: _questions, requirement: _requirement, ...used }: PlanFile,
  questions: readonly Question[],
  isProgram: (name: string) => boolean,
): Finding[] {
  const names = ["node", "crew", ...questions.map(({ question_id }) => `answers.${question_id}`)];
  const known = new Set(names);
  const expected = `one of ${shortened(names.toSpliced(2, 0, "crew.shell"), ", ")}; for a literal \${ write $\${`;
  return placeholders(used as unknown as Json, "").flatMap(({ pointer, name, in_quotes }): Finding[] => {
    const program = programNamed(name);
    if (program === undefined ? !known.has(name) : !isProgram(program)) {
      return [{ pointer, what: `the placeholder \${${name}} is unknown`, expected }];
    }
    if (!in_quotes) return [];
    const what = `the placeholder \${${name}} is inside quotes`;
    return [{ pointer, what, expected: "no quotes around it: its value is quoted for the shell" }];
  });
}
