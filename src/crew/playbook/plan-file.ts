import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import { decodeText } from "../../protocol/document/source-text.ts";
import { plan_file as fits } from "../../protocol/generated/validators.js";
import { understood } from "../../protocol/leniency.ts";
import { MAX_DEPTH, parseFile } from "../../protocol/limits.ts";
import type { PlanFile as ValidPlan } from "../../protocol/payload.ts";
import { planFindings } from "../../protocol/playbook/plan-check.ts";
import { fileFindings } from "../../protocol/schema-errors.ts";
import { programBeside } from "./placeholders.ts";

const MAX_SHOWN_PROBLEMS = 5;

/** A plan file that is valid and consistent. */
export interface PlanFile {
  readonly path: string;
  readonly document: JsonObject;
  readonly questions: readonly JsonObject[];
  readonly tasks: readonly JsonObject[];
}

/**
 * Reads and checks a plan file, YAML or JSON. `program` is the running crew program; texts may name the programs beside it. A failure is text for a
 * person: file and position, what is wrong, what was expected.
 */
export async function loadPlanFile(path: string, program: string): Promise<Result<PlanFile, string>> {
  const bytes = await readFile(path).catch((error: Error) => error);
  if (bytes instanceof Error) return err(`${path}: ${bytes.message}; expected a plan file (YAML or JSON)`);
  const isProgram = (name: string) => existsSync(programBeside(program, name));
  if (path.endsWith(".json")) {
    const parsed = parseFile(bytes, MAX_DEPTH);
    const plan = parsed.ok ? checkedPlan(path, parsed.value as Json, isProgram) : parsed;
    if (plan.ok) return plan;
  }
  // Loaded on demand, because the YAML parser takes longer than the rest of a turn.
  const { parseDocument } = await import("../../protocol/document/document.ts");
  const { explain } = await import("../../protocol/document/problem.ts");
  const text = decodeText(path, bytes);
  const source = text.ok ? parseDocument(path, text.value) : text;
  if (!source.ok) return err(explain(source.error).join("\n"));
  const plan = checkedPlan(path, source.value.value, isProgram);
  if (plan.ok) return plan;
  const lines = plan.error.slice(0, MAX_SHOWN_PROBLEMS).flatMap((finding) => explain(source.value.problem(finding)));
  const more = plan.error.length - MAX_SHOWN_PROBLEMS;
  return err([...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n"));
}

/** The plan in a file's content. Fails with the first violation of its schema, otherwise with all inconsistencies. */
function checkedPlan(path: string, value: Json, isProgram: (name: string) => boolean): Result<PlanFile, Finding[]> {
  const { $schema: _editor, ...content } = objectOf(value);
  const { value: read, written } = understood("plan_file", content);
  if (!fits(read)) return err(fileFindings(fits.errors ?? [], written));
  const document = objectOf(read);
  const findings = planFindings(document as unknown as ValidPlan, isProgram);
  if (findings.length > 0) return err(findings.map((finding) => ({ ...finding, pointer: written(finding.pointer) })));
  return ok({
    path,
    document,
    questions: listOf(document["questions"]).map(objectOf),
    tasks: listOf(document["tasks"]).map(objectOf),
  });
}
