import { circleIn } from "../../lib/circle.ts";
import type { Json } from "../../lib/json.ts";
import { nearest } from "../../lib/nearest.ts";
import type { PlanFile, Question, Task } from "../payload.ts";
import { placeholders, programNamed } from "./placeholders.ts";
import { checkPlanShape, type Problem } from "./shape.ts";

/** How many names are told where any of them would do, or where all stand in a circle: a plan may have a hundred thousand. */
const NAMES_TOLD = 10;

/** No caller tells of more problems than this, so it is only worth while to look what was meant by these. */
const PROBLEMS_TOLD = 10;

/**
 * What keeps a plan file from being played, by the playbook manager and by whoever is about to start it; empty if nothing does.
 * `isProgram` knows the crew's programs, for the names that texts may use.
 */
export function planProblems(document: Json, isProgram: (name: string) => boolean): Problem[] {
  const problems: Problem[] = [];
  checkPlanShape(document, [], problems);
  return problems.length > 0 ? problems : inconsistencies(document as unknown as PlanFile, isProgram);
}

function inconsistencies(plan: PlanFile, isProgram: (name: string) => boolean): Problem[] {
  const { tasks, questions = [] } = plan;
  return [
    ...repeated(
      questions.map(({ question_id }) => question_id),
      "questions",
      "question_id",
    ),
    // Answers come back beside the words of their question.
    ...repeated(
      questions.map(({ text }) => text),
      "questions",
      "text",
    ),
    ...repeated(
      tasks.map(({ task_id }) => task_id),
      "tasks",
      "task_id",
    ),
    ...wrongDependencies(tasks),
    ...wrongPatterns(questions),
    ...wrongPlaceholders(plan, questions, isProgram),
  ];
}

function repeated(names: readonly string[], group: string, key: string): Problem[] {
  const first = new Map<string, number>();
  return names.flatMap((name, index) => {
    const before = first.get(name);
    if (before === undefined) first.set(name, index);
    return before === undefined
      ? []
      : [{ path: [group, index, key], message: `${group}[${before}] has the same ${key} "${name}"; they must differ` }];
  });
}

function wrongDependencies(tasks: readonly Task[]): Problem[] {
  const ids = new Set(tasks.map(({ task_id }) => task_id));
  const unknown = tasks.flatMap(({ dependencies = [] }, index) =>
    dependencies.flatMap((name, position) =>
      ids.has(name) ? [] : [{ path: ["tasks", index, "dependencies", position], name }],
    ),
  );
  if (unknown.length === 0) return circle(tasks);
  const all = told([...ids], ", ");
  return unknown.map(({ path, name }, index) => {
    // Each is compared with all there are, and nobody is told of more.
    const meant = index < PROBLEMS_TOLD ? nearest(name, ids) : undefined;
    const advice = meant === undefined ? `expected one of ${all}` : `did you mean "${meant}"?`;
    return { path, message: `there is no task "${name}"; ${advice}` };
  });
}

/** The first circle of dependencies. Of tasks with one id the last stands for all; that they are several is told elsewhere. */
function circle(tasks: readonly Task[]): Problem[] {
  const nodes = new Map(
    tasks.map(({ task_id: id, dependencies: depends_on = [] }) => [id, { id, depends_on }] as const),
  );
  const names = circleIn([...nodes.values()]);
  const [first] = names;
  if (first === undefined) return [];
  return [
    {
      path: ["tasks", tasks.findIndex(({ task_id }) => task_id === first), "dependencies"],
      message: `the tasks wait for each other in a circle: ${told(names, " needs ")} needs ${first}; take one of these dependencies away`,
    },
  ];
}

function told(names: readonly string[], between: string): string {
  const more = names.length - NAMES_TOLD;
  return [...names.slice(0, NAMES_TOLD), ...(more > 0 ? [`… and ${more} more`] : [])].join(between);
}

function wrongPatterns(questions: readonly Question[]): Problem[] {
  return questions.flatMap((question, index): Problem[] => {
    const pattern = patternOf(question);
    if (pattern === undefined) return [];
    const path = ["questions", index, "metadata", "playbook", "pattern"];
    try {
      const whole = new RegExp(`^(?:${pattern})$`, "u");
      if (question.default === undefined || whole.test(question.default)) return [];
      return [{ path: ["questions", index, "default"], message: `the default does not match the pattern ${pattern}` }];
    } catch (error) {
      return [{ path, message: `expected a regular expression: ${(error as Error).message}` }];
    }
  });
}

/** What a whole answer must match, from the question's `metadata.playbook`; undefined when anything goes. */
export function patternOf({ metadata }: Pick<Question, "metadata">): string | undefined {
  const playbook = metadata?.playbook as { readonly pattern?: Json } | null | undefined;
  return typeof playbook?.pattern === "string" ? playbook.pattern : undefined;
}

function wrongPlaceholders(
  { questions: _questions, requirement: _requirement, ...used }: PlanFile,
  questions: readonly Question[],
  isProgram: (name: string) => boolean,
): Problem[] {
  const names = ["node", "crew", ...questions.map(({ question_id }) => `answers.${question_id}`)];
  const known = new Set(names);
  const some = told(names.toSpliced(2, 0, "crew.shell"), ", ");
  return placeholders(used as unknown as Json, []).flatMap(({ path, name, in_quotes }): Problem[] => {
    const program = programNamed(name);
    if (program === undefined ? !known.has(name) : !isProgram(program)) {
      const message = `\${${name}} stands for nothing; expected one of ${some}; a literal one is written $\${`;
      return [{ path, message }];
    }
    if (in_quotes) {
      return [
        { path, message: `\${${name}} stands inside quotes; leave them out, the value comes quoted for the shell` },
      ];
    }
    return [];
  });
}
