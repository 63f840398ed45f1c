import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseDocument, visit, type YAMLError } from "yaml";
import type { Json } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { MAX_DEPTH } from "../protocol/limits.ts";
import type { Fault, Located, Spot } from "./located.ts";

/** How many values aliases may add to a file. A file that needs more is an attack: aliases of aliases multiply. */
const MAX_ALIASED_VALUES = 10_000;

/**
 * Reads YAML 1.2 as plain data: no tags, no key twice, only texts as keys, one document, at most `MAX_DEPTH` levels and a
 * bounded number of aliased values.
 *
 * With `scalars: "texts"` every value stays the text that was written (`1.10` is not 1.1, nothing is `""`).
 *
 * The value is built here and not by the library's `toJS`, and its `uniqueKeys` is off, because both take time that grows with
 * the square of the number of anchors or keys (20,000 keys: 7 s), and the walk is needed for the places anyhow.
 */
export function readYaml(text: string, scalars: "typed" | "texts"): Result<Located, Fault> {
  const document = parseDocument(text, {
    logLevel: "error",
    merge: false,
    prettyErrors: false,
    resolveKnownTags: false,
    schema: scalars === "texts" ? "failsafe" : "core",
    stringKeys: true,
    uniqueKeys: false,
  });
  const first = document.errors[0];
  if (first) return err(openQuote(first, document) ?? yamlFault(first, text));
  const tag = document.warnings.find((warning) => warning.code === "TAG_RESOLVE_FAILED");
  if (tag) return err(yamlFault(tag, text));
  const build: Build = { spots: new Map(), anchors: new Map(), aliased: 0 };
  const value = plainValue(document.contents, "", undefined, 0, build);
  return value.ok ? ok({ value: value.value, locate: (pointer) => build.spots.get(pointer) }) : value;
}

interface Build {
  readonly spots: Map<string, Spot>;
  readonly anchors: Map<string, Node>;
  aliased: number;
  /** Where the outermost alias being followed stands: what it brings in is placed there. */
  at?: number;
}

function plainValue(
  node: Node | null,
  pointer: string,
  key: number | undefined,
  depth: number,
  build: Build,
): Result<Json, Fault> {
  const offset = build.at ?? node?.range?.[0] ?? key ?? 0;
  build.spots.set(pointer, key === undefined ? { value: offset } : { key, value: offset });
  if (depth > MAX_DEPTH)
    return err({ offset, what: "it is nested too deep", expected: `at most ${MAX_DEPTH} levels`, pointer });
  if (build.at !== undefined) {
    build.aliased += 1;
    if (build.aliased > MAX_ALIASED_VALUES) {
      return err({
        offset,
        what: "its aliases stand for too much",
        expected: `at most ${MAX_ALIASED_VALUES} aliased values in a file`,
        pointer,
      });
    }
  }
  if (isAlias(node)) {
    const target = build.anchors.get(node.source);
    if (target === undefined)
      return err({ offset, what: `the alias *${node.source} stands for nothing before it`, pointer });
    const outermost = build.at === undefined;
    build.at = offset;
    const value = plainValue(target, pointer, key, depth, build);
    if (outermost) delete build.at;
    return value;
  }
  if (node === null) return ok(null);
  if (isScalar(node)) {
    remember(node, build);
    return scalarValue(node.value, offset, pointer);
  }
  if (isSeq(node)) {
    const list: Json[] = [];
    for (const [index, item] of node.items.entries()) {
      const value = plainValue(item as Node | null, pointerTo(pointer, index), undefined, depth + 1, build);
      if (!value.ok) return value;
      list.push(value.value);
    }
    remember(node, build);
    return ok(list);
  }
  if (!isMap(node)) return err({ offset, what: "this is neither a value, a list nor a mapping", pointer });
  const mapping: Record<string, Json> = {};
  for (const pair of node.items) {
    const keyOffset = build.at ?? (pair.key as Node | null)?.range?.[0] ?? offset;
    if (!isScalar(pair.key) || typeof pair.key.value !== "string") {
      return err({ offset: keyOffset, what: "this key is not a text", expected: "a plain or quoted text", pointer });
    }
    const name = pair.key.value;
    const inner = pointerTo(pointer, name);
    if (Object.hasOwn(mapping, name))
      return err({ offset: keyOffset, what: `the key ${JSON.stringify(name)} stands twice here`, pointer: inner });
    if (name === "__proto__") return err({ offset: keyOffset, what: 'the key "__proto__" is not allowed', pointer });
    const value = plainValue(pair.value as Node | null, inner, keyOffset, depth + 1, build);
    if (!value.ok) return value;
    mapping[name] = value.value;
  }
  remember(node, build);
  return ok(mapping);
}

/** Only a finished node can be referred to, so an alias inside its own anchor stands for nothing. */
function remember(node: Node & { anchor?: string }, build: Build): void {
  if (node.anchor !== undefined) build.anchors.set(node.anchor, node);
}

function scalarValue(value: unknown, offset: number, pointer: string): Result<Json, Fault> {
  if (typeof value !== "number" || Number.isFinite(value)) return ok(value as Json);
  return err({
    offset,
    what: `${value} is not a number that can be kept`,
    expected: "a finite number, or quotes around it",
    pointer,
  });
}

function yamlFault(error: YAMLError, text: string): Fault {
  const offset = error.pos[0];
  const code: string = error.code;
  switch (code) {
    case "TAB_AS_INDENT":
      return { offset, what: "a tab is used to indent", expected: "blanks: YAML allows no tabs there" };
    case "MULTIPLE_DOCS":
      return { offset, what: 'a second document begins here ("---")', expected: "one document in a file" };
    case "TAG_RESOLVE_FAILED":
      return { offset, what: `the tag ${tagAt(text, offset)} is not allowed`, expected: "plain data without ! tags" };
    case "RESOURCE_EXHAUSTION":
      return { offset, what: "it is nested too deep", expected: `at most ${MAX_DEPTH} levels` };
    case "NON_STRING_KEY":
      return { offset, what: "this key is not a text", expected: "a plain or quoted text" };
    case "BAD_INDENT":
      return error.message.startsWith("Flow ")
        ? {
            offset,
            what: "a [ or { before this is not closed, or this is not indented deeper than its key",
            expected: "] or }",
          }
        : { offset, what: sentence(error), expected: "entries of one list or mapping indented alike" };
    case "BLOCK_AS_IMPLICIT_KEY":
      return error.message.startsWith("Nested mappings")
        ? {
            offset,
            what: 'this text has ": " in it and stands without quotes',
            expected: "quotes around the whole text",
          }
        : { offset, what: sentence(error) };
    default:
      return { offset, what: sentence(error) };
  }
}

/** The library notices a missing quote where the file ends; what helps is where the text begins, the last quoted one there is. */
function openQuote(error: YAMLError, document: Document.Parsed): Fault | undefined {
  if (error.code !== "MISSING_CHAR" || !error.message.includes("quote")) return undefined;
  let offset = error.pos[0];
  visit(document, {
    Scalar: (_key, scalar) => {
      if (scalar.type?.startsWith("QUOTE_")) offset = scalar.range?.[0] ?? offset;
    },
  });
  return { offset, what: "this text is never closed", expected: "the closing quote" };
}

function tagAt(text: string, offset: number): string {
  return /^\S{0,80}/.exec(text.slice(offset, offset + 80))?.[0] ?? "";
}

/** The library's own words, which name the fault well in most cases, begun small to stand after a colon. */
function sentence(error: YAMLError): string {
  const first = error.message.split("\n")[0] ?? error.message;
  return /^[A-Z][a-z]/.test(first) ? first.charAt(0).toLowerCase() + first.slice(1) : first;
}
