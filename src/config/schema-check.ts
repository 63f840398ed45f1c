import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorObject } from "ajv";
import type { Json, JsonObject } from "../lib/json.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { validators } from "../protocol/generated/validators.js";
import { fileFindings } from "../protocol/schema-errors.ts";
import { shipped } from "./installation.ts";

/** The files people write that have a schema. */
export type SchemaName = "answers" | "plan_file" | "roles" | "scheduler_config";

/** Of a value with more parts only the first problem is told: to collect all takes ajv time that grows with their square. */
const MAX_PARTS = 20_000;

/**
 * Every way in which a value breaks its schema; empty if it fits. The generated validators decide; only when something is wrong
 * are the schemas compiled again, to find everything that is wrong and not just the first of it. `written` gives the place in the file of
 * a value that is read leniently.
 */
export async function checkSchema(
  schema: SchemaName,
  value: Json,
  written?: (pointer: string) => string,
): Promise<Finding[]> {
  const fits = validators[schema];
  if (fits(value)) return [];
  const errors = countParts(value) > MAX_PARTS ? (fits.errors ?? []) : await allErrors(schema, value);
  return fileFindings(errors, written);
}

/**
 * The limits of a budget that would limit nothing, `owner` being "a role" or "a ticket": tokens and money are counted for the
 * session as a whole only. A limit that is accepted and limits nothing is worse than none.
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

async function allErrors(schema: SchemaName, value: Json): Promise<ErrorObject[]> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false });
  const folder = shipped("schemas");
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".schema.json")) continue;
    ajv.addSchema(JSON.parse(readFileSync(join(folder, file), "utf8")) as JsonObject, file);
  }
  const validate = ajv.getSchema(`${schema}.schema.json`);
  if (validate === undefined) throw new Error(`There is no schema ${schema}.`);
  void validate(value);
  return validate.errors ?? [];
}

function countParts(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((count, part) => count + countParts(part as Json), 1);
}
