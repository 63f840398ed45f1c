import { basename, join } from "node:path/posix";

type Node = { readonly [keyword: string]: unknown };

const COMMON = "common.schema.json#/$defs";
const REFERENCE = `${COMMON}/reference`;
const IS_REFERENCE = { type: "object", minProperties: 1, propertyNames: { pattern: "^\\$" } };

/** The payload types whose recorded form has references. */
const WITH_REFERENCES = new Set(["turn_request"]);

/** A record that is no turn request and one that is, as the log has them. */
const EXAMPLES = [
  {
    integrity: {
      hash: "sha256:f7f3f0468434da98d339464c682326464a5e0baa793149fbd23bb817ab2f61ea",
      previous: "sha256:48a6d6fefbe66d958f25c7d15eedaf026ab538c68524185862f25759ed1af9f9",
      sequence: 16,
    },
    payload: { decision: "approved", notes: "Every check passed.", turn_id: "t14" },
    payload_type: "review",
    record: {
      attempt: 1,
      disposition: "applied",
      effects: [{ event: "approved", from: "awaiting_review", ticket_id: "outline", to: "done" }],
      exit: { code: 0, signal: null },
      kind: "fact",
      received_at: "2026-11-22T00:22:21.461Z",
      run: 1,
      ticket_id: "outline",
      turn_id: "t14",
    },
    session_id: "s-try",
    source: "boss",
    target: "scheduler",
    timestamp: "2026-11-22T00:22:21.461Z",
    version: "1.0",
  },
];

/** The schema of a record without its place in the chain. Each payload is checked by a validator of its own. */
export function beforeSealing(record: Node): Node {
  const { allOf: _, required, ...rest } = record;
  return { ...rest, required: (required as string[]).filter((key) => key !== "integrity") };
}

/**
 * The schema of a stored record, made from those of the envelope, of `record` and `integrity` (common.schema.json), and of the payloads.
 * In a recorded turn request a reference may stand wherever its schema has a value.
 */
export function recordSchema(files: ReadonlyMap<string, Node>, payloadTypes: readonly string[]): Node {
  const stored = new Map<string, Node>();
  const envelope = files.get("envelope.schema.json") as { properties: Node; required: string[] };
  const payloads = payloadTypes.map((type) => {
    const schema = `payloads/${type}.schema.json`;
    const $ref = WITH_REFERENCES.has(type) ? storedForm(schema, "") : schema;
    const is = { properties: { payload_type: { const: type } } };
    return { if: is, then: { properties: { payload: { $ref } } } };
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Stored record",
    description:
      "One record of a session's log. Made from the other schemas by `npm run schemas`; every record is checked against it when it is written.",
    type: "object",
    additionalProperties: false,
    required: [...envelope.required, "record", "integrity"],
    properties: {
      ...envelope.properties,
      timestamp: { $ref: `${COMMON}/instant` },
      payload_type: { enum: payloadTypes },
      record: { $ref: `${COMMON}/record_meta` },
      integrity: { $ref: `${COMMON}/integrity` },
    },
    allOf: payloads,
    $defs: Object.fromEntries(stored),
    examples: EXAMPLES,
  };

  /** Refers to the stored form of a schema; to the schema itself if it has no parts. */
  function storedForm(file: string, definition: string): string {
    const name = definition === "" ? basename(file, ".schema.json") : definition;
    const root = files.get(file) as { $defs?: { [name: string]: Node } } & Node;
    const schema = definition === "" ? root : (root.$defs?.[definition] ?? {});
    if (!["properties", "items", "anyOf", "$ref"].some((keyword) => keyword in schema)) {
      return definition === "" ? file : `${file}#/$defs/${definition}`;
    }
    // Before its parts, since they may refer to it.
    if (!stored.has(name)) stored.set(name, {});
    stored.set(name, partsOf(schema, file));
    return `#/$defs/${name}`;
  }

  function value(schema: Node, file: string): Node {
    return { if: IS_REFERENCE, then: { $ref: REFERENCE }, else: partsOf(schema, file) };
  }

  function partsOf(schema: Node, file: string): Node {
    if (typeof schema["$ref"] === "string") {
      const [target = "", definition = ""] = schema["$ref"].split("#/$defs/");
      return { $ref: storedForm(target === "" ? file : join(file, "..", target), definition) };
    }
    const { $schema: _, $defs: __, examples: ___, properties, items, anyOf, ...rest } = schema;
    const named = Object.entries((properties ?? {}) as { [key: string]: Node });
    return {
      ...rest,
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(named.map(([key, inner]) => [key, value(inner, file)])) }),
      ...(items === undefined ? {} : { items: value(items as Node, file) }),
      ...(anyOf === undefined ? {} : { anyOf: (anyOf as Node[]).map((branch) => partsOf(branch, file)) }),
    };
  }
}
