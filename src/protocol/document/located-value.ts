import { isAlias, isCollection, isMap, isScalar, isSeq, parseDocument, visit } from "yaml";
import type { Node, Pair, Scalar, YAMLError } from "yaml";
import { isJsonObject, type Json } from "../../lib/json.ts";
import { pointerTo } from "../../lib/json-pointer.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { MAX_DEPTH, parseFile } from "../limits.ts";
import { type Fault, jsonFault, uncapitalized } from "./json-fault.ts";

/** With `texts`, every scalar is kept as the text that was written: `1.10` is not 1.1, and an empty value is `""` in YAML. */
export type Scalars = "typed" | "texts";

/** A value and the offsets of its parts in the text it came from. */
export interface Located {
  readonly value: Json;
  /** The offsets by JSON pointer; undefined for a value that the text lacks. */
  readonly locate: (pointer: string) => Offsets | undefined;
}

/** Offsets in UTF-16 units: of the value, and of its key if it has one. */
export interface Offsets {
  readonly key: number | undefined;
  readonly value: number;
}

/** Maximum number of values that aliases may add to a file. Aliases of aliases multiply: a file that needs more is an attack. */
const MAX_ALIASED_VALUES = 10_000;

const TOO_DEEP = { what: "this is nested too deep", expected: `at most ${MAX_DEPTH} levels` };

/**
 * Reads strict JSON or YAML 1.2 as plain data: no duplicate keys, at most `MAX_DEPTH` levels, and in YAML no tags, only strings as keys, one
 * document, and a bounded number of aliased values.
 *
 * JSON is read without the YAML parser, which takes a hundred times as long. That parser reads it again when a position is needed.
 */
export function readLocated(text: string, syntax: "json" | "yaml", scalars: Scalars): Result<Located, Fault> {
  if (syntax === "yaml") return readYaml(text, scalars);
  const strict = parseFile(Buffer.from(text), MAX_DEPTH);
  if (!strict.ok) {
    const fault = jsonFault(text);
    if (fault !== undefined && fault.offset < text.trimEnd().length) return err(fault);
    // The YAML parser finds duplicate and forbidden keys, values nested too deep, and the start of an unclosed string or bracket.
    const read = readYaml(text, scalars);
    return fault !== undefined && read.ok ? err(fault) : read;
  }
  let located: Result<Located, Fault> | undefined;
  return ok({
    value: (scalars === "texts" ? JSON.parse(text, asWritten) : strict.value) as Json,
    locate: (pointer) => {
      located ??= readYaml(text, scalars);
      return located.ok ? located.value.locate(pointer) : undefined;
    },
  });
}

function asWritten(_key: string, value: Json, context?: { readonly source?: string }): Json {
  return typeof value === "number" || typeof value === "boolean" ? (context?.source ?? String(value)) : value;
}

/**
 * Reads YAML. The value is built here instead of by the library's `toJS`, and `uniqueKeys` is off, because both take quadratic time in the number of
 * anchors or keys (20,000 keys: 7 s), and the offsets need the walk anyway.
 */
function readYaml(text: string, scalars: Scalars): Result<Located, Fault> {
  const options = { logLevel: "error", merge: false, prettyErrors: false, resolveKnownTags: false } as const;
  const schema = scalars === "texts" ? "failsafe" : "core";
  const document = parseDocument(text, { ...options, schema, stringKeys: true, uniqueKeys: false });
  const first = document.errors[0] ?? document.warnings.find((warning) => warning.code === "TAG_RESOLVE_FAILED");
  if (first) return err(unclosed(text, first) ?? yamlFault(first));
  const offsets = new Map<string, Offsets>();
  const value = plainValue(document.contents, offsets);
  return value.ok ? ok({ value: value.value, locate: (pointer) => offsets.get(pointer) }) : value;
}

/** Converts YAML nodes to plain data, and records the offsets of each value. All values behind an alias get the offset of the outermost one. */
function plainValue(contents: Node | null, offsets: Map<string, Offsets>): Result<Json, Fault> {
  const anchors = new Map<string, Node>();
  let aliased = 0;
  /** The first fault; nothing is built after it. */
  let fault: Fault | undefined;
  const whole = build(contents, "", 0);
  return fault === undefined ? ok(whole) : err(fault);

  function refuse(offset: number, pointer: string, what: string, expected?: string): null {
    fault ??= { offset, pointer, what, expected };
    return null;
  }

  function build(node: Node | null, pointer: string, depth: number, key?: number, alias?: number): Json {
    if (fault) return null;
    const offset = alias ?? node?.range?.[0] ?? key ?? 0;
    offsets.set(pointer, { key, value: offset });
    if (depth > MAX_DEPTH) return refuse(offset, pointer, TOO_DEEP.what, TOO_DEEP.expected);
    if (alias !== undefined && ++aliased > MAX_ALIASED_VALUES) {
      const expected = `at most ${MAX_ALIASED_VALUES} aliased values in a file`;
      return refuse(offset, pointer, "the aliases add too many values", expected);
    }
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) return build(target, pointer, depth, key, offset);
      return refuse(offset, pointer, `there is no anchor &${node.source} before this alias`);
    }
    const nested = (inner: unknown, name: string | number, at?: number) =>
      build(inner as Node | null, pointerTo(pointer, name), depth + 1, at, alias);
    const value = isMap<Scalar<string>>(node)
      ? mapping(node.items, pointer, nested, alias)
      : isSeq(node)
        ? node.items.map((item, index) => nested(item, index))
        : ((node as Scalar<Json> | null)?.value ?? null);
    // Only a finished node can be referred to: an alias inside its own anchor has no target.
    if (node?.anchor !== undefined) anchors.set(node.anchor, node);
    return value;
  }

  function mapping(
    items: readonly Pair<Scalar<string>>[],
    pointer: string,
    nested: (inner: unknown, name: string, at: number) => Json,
    alias: number | undefined,
  ): Json {
    const own = new Map<string, Json>();
    let merged: Json | undefined;
    for (const { key, value } of items) {
      const name = key.value;
      const [start = 0, end = 0] = key.range ?? [];
      // Without quotes. The bundle of the crew lacks the library's `type`: nothing else reads it.
      const merges = name === "<<" && end - start === name.length;
      if (merges ? merged !== undefined : own.has(name)) {
        return refuse(alias ?? start, pointerTo(pointer, name), `the key ${JSON.stringify(name)} is a duplicate`);
      }
      const inner = nested(value, name, alias ?? start);
      if (merges) merged = inner;
      else own.set(name, inner);
    }
    for (const [name, value, from] of merged === undefined ? [] : behind(merged, pointerTo(pointer, "<<"))) {
      if (own.has(name)) continue;
      own.set(name, value);
      offsets.set(pointerTo(pointer, name), offsets.get(from) as Offsets);
    }
    return Object.fromEntries(own);
  }

  /** The entries of the mapping behind a merge key, or of a list of them, each with its own pointer. */
  function behind(value: Json, from: string): [name: string, value: Json, from: string][] {
    const parts = Object.entries(typeof value === "object" ? (value ?? {}) : {}) as [string, Json][];
    if (Array.isArray(value)) return parts.flatMap(([index, one]) => behind(one, pointerTo(from, index)));
    if (!isJsonObject(value)) {
      refuse(offsets.get(from)?.value ?? 0, from, "<< leads to no mapping", "<<: *anchor of a mapping");
    }
    return parts.map(([name, one]) => [name, one, pointerTo(from, name)]);
  }
}

/** Faults in our words, by the library's code. */
const YAML_FAULTS: { readonly [code: string]: Pick<Fault, "what" | "expected"> | undefined } = {
  MULTIPLE_DOCS: { what: 'a second document begins here ("---")', expected: "one document in a file" },
  NON_STRING_KEY: { what: "this key is not a string", expected: "a plain or quoted string" },
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: { what: "a tab is used to indent", expected: "spaces: YAML allows no tabs there" },
  TAG_RESOLVE_FAILED: { what: "a tag is not allowed", expected: "plain data without ! tags" },
};

function yamlFault({ code, message, pos: [offset] }: YAMLError): Fault {
  const words = uncapitalized(message.split("\n")[0] ?? "");
  if (!message.startsWith("Nested mappings")) return { offset, ...(YAML_FAULTS[code] ?? { what: words }) };
  return { offset, what: 'this unquoted string contains ": "', expected: "quotes around the whole string" };
}

/** Returns the fault at the start of the last unclosed quote or bracket. The library reports it only where the text continues or ends. */
function unclosed(text: string, error: YAMLError): Fault | undefined {
  const isQuote = error.code === "MISSING_CHAR" && error.message.includes("quote");
  if (!isQuote && !/^Flow .* end with/.test(error.message)) return undefined;
  let offset: number | undefined;
  visit(parseDocument(text, { logLevel: "silent", prettyErrors: false, keepSourceTokens: true }), {
    Node: (_key, node) => {
      const token = node.srcToken;
      const isOpen = isQuote
        ? isScalar(node) && node.type?.startsWith("QUOTE_")
        : isCollection(node) && token?.type === "flow-collection" && token.end.length === 0;
      if (isOpen) offset = node.range?.[0];
    },
  });
  if (offset === undefined) return undefined;
  return { offset, what: isQuote ? "this string is never closed" : `the ${text.charAt(offset)} here is never closed` };
}
