import { basename } from "node:path";

type Node = { readonly [keyword: string]: unknown };

/** What no model writes: the scheduler knows it, or does not read it. `status` of a task is an echo. */
const LEFT_OUT: { readonly [key: string]: ((schema: Node) => boolean) | undefined } = {
  usage: () => true,
  metadata: () => true,
  turn_id: () => true,
  ticket_id: () => true,
  status: (schema) => schema["enum"] === undefined,
};

/** A report of progress comes before the answer and is none. */
const NO_ANSWERS: readonly unknown[] = ["progress"];

/** Marks the text of an answer that others read. */
const CONTENT = "output_schema";

const TYPES = `import type { JsonObject } from "../../lib/json.ts";

/**
 * The payloads that answer turns, in the part of JSON Schema that every provider takes: every property is required, what may be absent is
 * nullable, objects are closed, and bounds are left to the validators.
 */
`;

/** The file with the schemas by which models answer. */
export function answersFile(files: ReadonlyMap<string, Node>): string {
  const answers = [...files].filter(([file, schema]) => file.startsWith("payloads/") && isAnswer(file, schema));
  const table = answers.map(([file, schema]) => [documentOf(file), strict(schema, file)]);
  const contents = answers.flatMap(([file, { properties }]) =>
    Object.entries(properties as { [key: string]: Node })
      .filter(([, { $comment }]) => $comment === CONTENT)
      .map(([key]) => [documentOf(file), `/${key}`]),
  );
  return [
    `${TYPES}export const ANSWER_SCHEMAS: Readonly<Record<string, JsonObject>> = ${JSON.stringify(Object.fromEntries(table), null, 1)};`,
    "\n/** The text of an answer that others read, which the role's `output_schema` describes. */",
    `export const CONTENTS: Readonly<Record<string, string>> = ${JSON.stringify(Object.fromEntries(contents), null, 1)};\n`,
  ].join("\n");

  function strict(schema: Node, file: string): Node {
    const { $ref, description } = schema;
    if (typeof $ref === "string") {
      const [target = "", pointer = ""] = $ref.split("#/$defs/");
      const path = target === "" ? file : new URL(target, `file:///${file}`).pathname.slice(1);
      const whole = files.get(path) ?? {};
      const found = strict(pointer === "" ? whole : ((whole["$defs"] as Node)[pointer] as Node), path);
      return description === undefined ? found : { ...found, description };
    }
    return { ...described(schema), ...shape(schema, file) };
  }

  function shape(schema: Node, file: string): Node {
    const { type, properties, items, anyOf } = schema;
    if (Array.isArray(schema["enum"])) {
      return { type: "string", enum: schema["enum"].filter((value) => !NO_ANSWERS.includes(value)) };
    }
    if (type === "array") return { type, items: strict(items as Node, file) };
    if (properties === undefined) return anyOf === undefined ? { type } : choice(anyOf as Node[], file);
    const needed = (schema["required"] ?? []) as string[];
    const members = Object.entries(properties as { [key: string]: Node })
      .filter(([key, inner]) => LEFT_OUT[key]?.(inner) !== true)
      .map(([key, inner]) => {
        const written = strict(inner, file);
        return [key, needed.includes(key) ? written : nullable(written)] as const;
      });
    return {
      type: "object",
      properties: Object.fromEntries(members),
      required: members.map(([key]) => key),
      additionalProperties: false,
    };
  }

  /** A text, where an object with nothing but this text may stand too, is a text. */
  function choice(branches: readonly Node[], file: string): Node {
    const written = branches.map((branch) => strict(branch, file));
    const different = written.filter(({ properties }) => Object.keys(properties ?? { more: "" }).join() !== "text");
    return different.length === 1 ? (different[0] as Node) : { anyOf: different };
  }
}

/** Whether agents answer with it: a payload that may name its turn and tells its usage, but no file that is kept meanwhile. */
function isAnswer(file: string, { properties, required }: Node): boolean {
  const own = properties as Node;
  const mayNameItsTurn = Object.hasOwn(own, "turn_id") && !(required as string[]).includes("turn_id");
  return mayNameItsTurn && Object.hasOwn(own, "usage") && documentOf(file) !== "artifact_ref";
}

/** A pattern is told in words, since not every provider takes it as a rule. */
function described({ description, pattern }: Node): Node {
  const parts = [description, typeof pattern === "string" ? `Matches ${pattern}` : undefined];
  const text = parts.filter((part) => typeof part === "string").join(" ");
  return text === "" ? {} : { description: text };
}

function nullable(schema: Node): Node {
  const { description, anyOf, type, ...rest } = schema;
  const told = description === undefined ? {} : { description };
  if (Array.isArray(anyOf)) return { ...told, anyOf: [...(anyOf as Node[]), { type: "null" }] };
  const scalar = type !== "object" && type !== "array";
  if (scalar && rest["enum"] === undefined) return { ...told, type: [type, "null"], ...rest };
  return { ...told, anyOf: [{ type, ...rest }, { type: "null" }] };
}

function documentOf(path: string): string {
  return basename(path, ".schema.json");
}
