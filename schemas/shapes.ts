import { basename } from "node:path";

type Node = { readonly [keyword: string]: unknown };

/** As in the generated file. */
interface ObjectShape {
  readonly fields: { readonly [key: string]: Shape | string };
  readonly required: readonly string[];
  readonly text?: string;
}

type Shape = ObjectShape | { readonly list: Shape | string };

/** The objects, by definition, that a text may stand for, and the field that it fills. */
const TEXT_FIELDS: { readonly [definition: string]: string } = { question: "text", assignment: "role_id" };

const TYPES = `/** A value's shape, as far as a lenient reader needs it. */
export type Shape = ObjectShape | { readonly list: ObjectShape | string };

export interface ObjectShape {
  readonly fields: Readonly<Record<string, Shape | string>>;
  /** The fields whose null is not as if they were absent. */
  readonly required: readonly string[];
  /** The field that a text in the object's place fills; \`""\` if the text itself may stand there. */
  readonly text?: string;
}

/** Shapes by name. In place of a shape stands its name, or \`""\` where everything is read as it is written. */
`;

/** The file with the shapes of these schemas, and of those that they refer to. */
export function shapesFile(files: ReadonlyMap<string, Node>, names: readonly string[]): string {
  const shapes = new Map<string, Shape | string>();
  for (const name of names) add(name);
  const table = JSON.stringify(Object.fromEntries([...shapes].filter(([, shape]) => shape !== "")), null, 1);
  return `${TYPES}export const SHAPES: Readonly<Record<string, Shape | string>> = ${table};\n`;

  /** Adds a schema, `<file>` or `<file>.<definition>`, and gives what stands in place of its shape. */
  function add(name: string): string {
    if (!shapes.has(name)) {
      const [document = "", definition = ""] = name.split(".");
      const file = [...files.keys()].find((path) => documentOf(path) === document) ?? "";
      const schema = files.get(file) ?? {};
      const text = TEXT_FIELDS[definition];
      const shape = shapeOf(definition === "" ? schema : ((schema["$defs"] as Node)[definition] as Node), document);
      const isObject = typeof shape === "object" && "fields" in shape;
      shapes.set(name, isObject && text !== undefined ? { ...shape, text } : shape);
    }
    return shapes.get(name) === "" ? "" : name;
  }

  function shapeOf(schema: Node, document: string): Shape | string {
    if (typeof schema["$ref"] === "string") {
      const [target = "", pointer = ""] = schema["$ref"].split("#/$defs/");
      return add([target === "" ? document : documentOf(target), pointer].filter((part) => part !== "").join("."));
    }
    if (schema["type"] === "array") {
      const list = shapeOf(schema["items"] as Node, document);
      return list === "" ? "" : { list };
    }
    if (!("properties" in schema)) return choiceOf((schema["anyOf"] ?? []) as Node[], document);
    const properties = Object.entries(schema["properties"] as { [key: string]: Node });
    const isNullable = ({ type }: Node) => Array.isArray(type) && type.includes("null");
    const nullable = properties.filter(([, inner]) => isNullable(inner)).map(([key]) => key);
    return {
      fields: Object.fromEntries(properties.map(([key, inner]) => [key, shapeOf(inner, document)])),
      required: [...new Set([...((schema["required"] ?? []) as string[]), ...nullable])],
    };
  }

  /** The shape of an object that may also be a text. */
  function choiceOf(branches: readonly Node[], document: string): Shape | string {
    const found = branches.map((branch) => shapeOf(branch, document)).find((shape) => shape !== "") ?? "";
    const shape = typeof found === "string" ? shapes.get(found) : found;
    const isText = branches.some(({ type }) => type === "string");
    return isText && typeof shape === "object" && "fields" in shape ? { ...shape, text: "" } : found;
  }
}

function documentOf(path: string): string {
  return basename(path, ".schema.json");
}
