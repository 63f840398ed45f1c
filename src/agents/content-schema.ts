import type { Answer } from "../kernel/agent.ts";
import { at } from "../lib/json-pointer.ts";
import { CONTENTS } from "../protocol/generated/answers.ts";
import { schemaIn } from "../protocol/content-schema.ts";
import { type Refusal, refusal } from "../protocol/refusal.ts";
import type { Role } from "../protocol/roles.ts";

/** Where answers of these types have such a text, for a prompt: `summary` of a report. */
export function contentsOf(types: readonly string[]): string[] {
  return types.flatMap((type) => (CONTENTS[type] ? [`\`${CONTENTS[type].slice(1)}\` of a ${type}`] : []));
}

/** Why an answer does not fit its role's `output_schema`; undefined if it does. */
export type ContentCheck = (answer: Answer) => Refusal | undefined;

/** The check of a role's answers; undefined if its `output_schema` is no JSON Schema. Only then ajv is loaded. */
export async function contentCheckOf({
  output_schema,
}: Pick<Role, "output_schema">): Promise<ContentCheck | undefined> {
  if (schemaIn(output_schema) === undefined) return undefined;
  const { lackIn } = await import("../protocol/content-check.ts");
  return ({ payload_type, payload }) => {
    const pointer = CONTENTS[payload_type] ?? "";
    const text = at(payload, pointer);
    // A report that the work is blocked, or is discussed, is in words.
    const isOther = payload_type === "report" && payload["status"] !== "completed";
    const lack = typeof text !== "string" || isOther ? undefined : lackIn(output_schema, text);
    if (lack === undefined) return undefined;
    const what = `The text in ${pointer} must be bare JSON of your output_schema: ${lack}. [output_schema]`;
    return refusal(payload_type, "validation_failed", pointer, what);
  };
}
