import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorObject } from "ajv";
import type { Json, JsonObject } from "../lib/json.ts";
import { tooLongToStart } from "../protocol/command-size.ts";
import { schemaIn } from "../protocol/content-schema.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { validators } from "../protocol/generated/validators.js";
import type { Role } from "../protocol/roles.ts";
import { fileFindings } from "../protocol/schema-errors.ts";
import { shipped } from "../lib/files.ts";

/** The files that people write and that have a schema, and what the playbook manager can play of a plan file. */
export type SchemaName = "agent_file" | "answers" | "plan_file" | "playable_plan" | "roles" | "scheduler_config";

/** Maximum number of parts of a value whose problems are all collected, which takes ajv quadratic time. Above it, only the first is reported. */
const MAX_PARTS = 20_000;

/**
 * Returns every way in which a value violates its schema, else what in it no program can be started with; empty if it is valid. The generated validators decide; only if something is wrong are the
 * schemas compiled again, to find everything and not just the first violation. `written` maps a value that is read leniently to its place in the
 * file.
 */
export async function checkSchema(
  schema: SchemaName,
  value: Json,
  written?: (pointer: string) => string,
): Promise<Finding[]> {
  const fits = validators[schema];
  if (fits(value)) {
    const long = tooLongToStart(value);
    return long ? [{ ...long, pointer: written?.(long.pointer) ?? long.pointer }] : [];
  }
  const errors = countParts(value) > MAX_PARTS ? (fits.errors ?? []) : await allErrors(schema, value);
  return fileFindings(errors, written);
}

/**
 * Finds budget limits that would limit nothing or allow no turn. Tokens and money are only counted for the whole session, and a limit that is
 * accepted and limits nothing is worse than none. `owner` is "a role", "a task" or "a ticket".
 */
export function budgetFindings(
  budget: { readonly turns?: number; readonly tokens?: number; readonly usd?: number } | undefined,
  pointer: string,
  owner: string,
): Finding[] {
  const uncounted = (["tokens", "usd"] as const).filter((key) => budget?.[key] !== undefined);
  const findings = uncounted.map((key): Finding => {
    const expected = `"turns" or "wall_s"; to limit ${key} for the whole session, use the setting budget.${key}`;
    return { pointer: `${pointer}/${key}`, at: "key", what: `the budget of ${owner} cannot limit ${key}`, expected };
  });
  if (budget?.turns !== 0) return findings;
  const what = `${owner} needs at least one turn`;
  return [...findings, { pointer: `${pointer}/turns`, what, expected: "at least 1, or no such limit" }];
}

/** Finds schemas of content that are meant as JSON Schemas and cannot be enforced. */
export async function contentFindings(
  holder: Pick<Role, "input_schema" | "output_schema">,
  pointer: string,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const key of ["input_schema", "output_schema"] as const) {
    const schema = schemaIn(holder[key]);
    if (schema === undefined) continue;
    const { textCheck } = await import("../protocol/content-check.ts");
    const made = textCheck(schema);
    const what = made.ok ? "" : `"${key}" is no JSON Schema that can be enforced: ${made.error}`;
    if (!made.ok) findings.push({ pointer: `${pointer}/${key}`, what, expected: "a JSON Schema, or words" });
  }
  return findings;
}

async function allErrors(schema: SchemaName, value: Json): Promise<ErrorObject[]> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false });
  const folder = shipped("schemas");
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".schema.json")) continue;
    ajv.addSchema(JSON.parse(readFileSync(join(folder, file), "utf8")) as JsonObject, file);
  }
  const part = schema === "playable_plan" ? "plan_file.schema.json#/$defs/playable" : `${schema}.schema.json`;
  const validate = ajv.getSchema(part);
  if (validate === undefined) throw new Error(`There is no schema ${schema}.`);
  void validate(value);
  return validate.errors ?? [];
}

function countParts(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((count, part) => count + countParts(part as Json), 1);
}
