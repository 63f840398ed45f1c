import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { MAX_LINE_BYTES } from "../../protocol/limits.ts";
import { planProblems } from "../../protocol/playbook/plan-check.ts";
import type { Path, Problem } from "../../protocol/playbook/shape.ts";
import { programBeside } from "./texts.ts";

const MAX_SHOWN_PROBLEMS = 5;
/** More than this many uses of YAML aliases is an attempt to blow the document up; `bosun run` lets no more through. */
const MAX_ALIASES = 10_000;

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
  const { $schema: _editor, ...document } = objectOf(parsed.value);
  const problems = planProblems(document, (name) => existsSync(programBeside(program, name)));
  if (problems.length > 0) return err(await explain(path, text.value, problems));
  return ok({
    path,
    document,
    questions: listOf(document["questions"]).map(objectOf),
    tasks: listOf(document["tasks"]).map(objectOf),
  });
}

async function readText(path: string): Promise<Result<string, string>> {
  try {
    const about = await stat(path);
    if (!about.isFile()) return err(`${path}: expected a plan file (YAML or JSON), found something that is not a file`);
    if (about.size > MAX_LINE_BYTES) {
      return err(`${path}: expected at most ${MAX_LINE_BYTES} bytes, found ${about.size}`);
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
