import { isAlias, isCollection, isMap, isScalar, isSeq, type Node, parseDocument, visit, type YAMLError } from "yaml";
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
  readonly key?: number;
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
  if (first) return err(unclosed(text, first) ?? yamlFault(first, text));
  const builder = new ValueBuilder();
  const value = builder.build(document.contents, "", undefined, 0);
  return builder.fault ? err(builder.fault) : ok({ value, locate: (pointer) => builder.offsets.get(pointer) });
}

/** Converts YAML nodes to plain data, and records the offsets of each value. */
class ValueBuilder {
  readonly offsets = new Map<string, Offsets>();
  /** The first fault; nothing is built after it. */
  fault: Fault | undefined;
  readonly #anchors = new Map<string, Node>();
  #aliased = 0;
  /** The offset of the outermost alias being followed, which all values behind it get. */
  #alias: number | undefined;

  build(node: Node | null, pointer: string, key: number | undefined, depth: number): Json {
    const offset = this.#alias ?? node?.range?.[0] ?? key ?? 0;
    this.offsets.set(pointer, key === undefined ? { value: offset } : { key, value: offset });
    if (depth > MAX_DEPTH) return this.#refuse({ offset, pointer, ...TOO_DEEP });
    if (this.#alias !== undefined && ++this.#aliased > MAX_ALIASED_VALUES) {
      const expected = `at most ${MAX_ALIASED_VALUES} aliased values in a file`;
      return this.#refuse({ offset, pointer, what: "the aliases add too many values", expected });
    }
    if (node === null) return null;
    if (isAlias(node)) return this.#follow(node.source, offset, pointer, key, depth);
    const value = this.#plain(node, offset, pointer, depth);
    // Only a finished node can be referred to: an alias inside its own anchor has no target.
    if ("anchor" in node && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    return value;
  }

  #follow(name: string, offset: number, pointer: string, key: number | undefined, depth: number): Json {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      return this.#refuse({ offset, pointer, what: `there is no anchor &${name} before this alias` });
    }
    const outer = this.#alias;
    this.#alias = offset;
    const value = this.build(target, pointer, key, depth);
    this.#alias = outer;
    return value;
  }

  #plain(node: Node, offset: number, pointer: string, depth: number): Json {
    if (isScalar(node)) {
      const { value } = node;
      if (typeof value !== "number" || Number.isFinite(value)) return value as Json;
      return this.#refuse({
        offset,
        pointer,
        what: "this number is not finite",
        expected: "quotes, if it is a string",
      });
    }
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.fault ? null : this.build(item as Node | null, pointerTo(pointer, index), undefined, depth + 1),
      );
    }
    if (!isMap(node)) return this.#refuse({ offset, pointer, what: "this is not a scalar, a list or a mapping" });
    const mapping: Record<string, Json> = {};
    let merged: { readonly value: Json; readonly from: string } | undefined;
    for (const pair of node.items) {
      const at = this.#alias ?? (pair.key as Node | null)?.range?.[0] ?? offset;
      if (!isScalar(pair.key) || typeof pair.key.value !== "string") {
        return this.#refuse({ offset: at, pointer, ...NO_STRING_KEY });
      }
      const name = pair.key.value;
      const inner = pointerTo(pointer, name);
      // Without quotes. The bundle of the crew lacks the library's `type`: nothing else reads it.
      const [start = 0, end = 0] = pair.key.range ?? [];
      const merges = name === "<<" && end - start === name.length;
      const isTwice = merges ? merged !== undefined : Object.hasOwn(mapping, name);
      const wrong = isTwice ? "a duplicate" : name === "__proto__" ? "not allowed" : undefined;
      if (wrong !== undefined) {
        return this.#refuse({ offset: at, pointer: inner, what: `the key ${JSON.stringify(name)} is ${wrong}` });
      }
      const value = this.build(pair.value as Node | null, inner, at, depth + 1);
      if (merges) merged = { value, from: inner };
      else mapping[name] = value;
      if (this.fault) return null;
    }
    for (const [name, value, from] of merged === undefined ? [] : this.#behind(merged.value, merged.from)) {
      if (Object.hasOwn(mapping, name)) continue;
      mapping[name] = value;
      this.offsets.set(pointerTo(pointer, name), this.offsets.get(from) as Offsets);
    }
    return mapping;
  }

  /** The entries of the mapping behind a merge key, or of a list of them, each with its own pointer. */
  #behind(value: Json, from: string): [name: string, value: Json, from: string][] {
    if (Array.isArray(value))
      return (value as Json[]).flatMap((one, index) => this.#behind(one, pointerTo(from, index)));
    if (isJsonObject(value))
      return Object.entries(value).map(([name, one]) => [name, one as Json, pointerTo(from, name)]);
    const offset = this.offsets.get(from)?.value ?? 0;
    this.#refuse({ offset, pointer: from, what: "<< leads to no mapping", expected: "<<: *anchor of a mapping" });
    return [];
  }

  #refuse(fault: Fault): null {
    this.fault ??= fault;
    return null;
  }
}

const NO_STRING_KEY = { what: "this key is not a string", expected: "a plain or quoted string" };

function yamlFault(error: YAMLError, text: string): Fault {
  const offset = error.pos[0];
  switch (error.code as string) {
    case "TAB_AS_INDENT":
      return { offset, what: "a tab is used to indent", expected: "spaces: YAML allows no tabs there" };
    case "MULTIPLE_DOCS":
      return { offset, what: 'a second document begins here ("---")', expected: "one document in a file" };
    case "TAG_RESOLVE_FAILED": {
      const tag = /^\S{0,80}/.exec(text.slice(offset, offset + 80))?.[0];
      return { offset, what: `the tag ${tag} is not allowed`, expected: "plain data without ! tags" };
    }
    case "RESOURCE_EXHAUSTION":
      return { offset, ...TOO_DEEP };
    case "NON_STRING_KEY":
      return { offset, ...NO_STRING_KEY };
    case "BLOCK_AS_IMPLICIT_KEY":
      if (!error.message.startsWith("Nested mappings")) break;
      return { offset, what: 'this unquoted string contains ": "', expected: "quotes around the whole string" };
  }
  return { offset, what: uncapitalized(error.message.split("\n")[0] ?? "") };
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
