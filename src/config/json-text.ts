import type { Json } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { MAX_DEPTH } from "../protocol/limits.ts";
import type { Fault, Located, Spot } from "./located.ts";

/**
 * Reads strict JSON: no comments, no trailing commas, no key twice, at most `MAX_DEPTH` levels. The value comes from
 * `JSON.parse`; the scan before it is there because that says neither where a fault is nor that a key stands twice.
 *
 * With `scalars: "texts"` a number or a boolean stays the text that was written; null is none, and stays null.
 */
export function readJson(text: string, scalars: "typed" | "texts" = "typed"): Result<Located, Fault> {
  const fault = new Scan(text).run();
  if (fault) return err(fault);
  let spots: Map<string, Spot> | undefined;
  const locate = (pointer: string): Spot | undefined => {
    if (spots === undefined) {
      spots = new Map();
      new Scan(text, spots).run();
    }
    return spots.get(pointer);
  };
  return ok({ value: JSON.parse(text, scalars === "texts" ? asWritten : undefined) as Json, locate });
}

function asWritten(_key: string, value: Json, context?: { readonly source?: string }): Json {
  return typeof value === "number" || typeof value === "boolean" ? (context?.source ?? String(value)) : value;
}

/** A list or mapping whose end has not come yet. */
interface Open {
  readonly pointer: string;
  readonly opening: number;
  readonly closing: "}" | "]";
  /** Keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  entries: number;
}

const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const WORD = /[A-Za-z_$][\w$-]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERALS = ["true", "false", "null"];
const VALUE = "a text in double quotes, a number, true, false, null, [ ] or { }";

/** One pass over a JSON text, without recursion, so that no depth can overflow the stack. Fills `spots` if given. */
class Scan {
  readonly #text: string;
  readonly #spots: Map<string, Spot> | undefined;
  readonly #stack: Open[] = [];
  #offset = 0;
  #pointer = "";
  #key: number | undefined;

  constructor(text: string, spots?: Map<string, Spot>) {
    this.#text = text;
    this.#spots = spots;
  }

  /** The first fault of the text; undefined if it is JSON. */
  run(): Fault | undefined {
    this.#skip();
    let fault = this.#value();
    while (fault === undefined && this.#stack.length > 0) fault = this.#next();
    if (fault || this.#offset === this.#text.length) return fault;
    return { offset: this.#offset, what: "there is something after the end of the value" };
  }

  /** A scalar as a whole, or the beginning of a list or mapping. */
  #value(): Fault | undefined {
    const offset = this.#offset;
    this.#spots?.set(this.#pointer, this.#key === undefined ? { value: offset } : { key: this.#key, value: offset });
    const character = this.#text[offset];
    if (character !== "{" && character !== "[") return this.#scalar();
    if (this.#stack.length === MAX_DEPTH) {
      return { offset, what: "it is nested too deep", expected: `at most ${MAX_DEPTH} levels` };
    }
    const closing = character === "{" ? "}" : "]";
    const keys = closing === "}" ? new Set<string>() : undefined;
    this.#stack.push({ pointer: this.#pointer, opening: offset, closing, keys, entries: 0 });
    this.#advance(offset + 1);
    return undefined;
  }

  /** What follows inside the innermost list or mapping: its end, or its next entry. */
  #next(): Fault | undefined {
    const open = this.#stack.at(-1) as Open;
    if (this.#offset === this.#text.length) {
      const what = `the "${this.#text[open.opening]}" here is never closed`;
      return { offset: open.opening, what, expected: `"${open.closing}" before the end of the file` };
    }
    if (this.#text[this.#offset] === open.closing) {
      this.#stack.pop();
      this.#advance(this.#offset + 1);
      return undefined;
    }
    if (open.entries > 0) {
      const comma = this.#offset;
      if (this.#text[comma] !== ",") {
        const missing = { offset: comma, what: "a comma is missing before this", expected: `"," or "${open.closing}"` };
        return this.#foreign(true) ?? missing;
      }
      this.#advance(comma + 1);
      if (this.#text[this.#offset] === open.closing) {
        const what = "JSON has no comma after the last entry";
        return { offset: comma, what, expected: `"${open.closing}" without a comma before it` };
      }
    }
    open.entries += 1;
    if (open.keys) return this.#name(open, open.keys) ?? this.#value();
    this.#pointer = pointerTo(open.pointer, open.entries - 1);
    this.#key = undefined;
    return this.#value();
  }

  /** A key and the colon after it. */
  #name(open: Open, keys: Set<string>): Fault | undefined {
    const start = this.#offset;
    if (this.#text[start] !== '"') {
      return this.#foreign(false) ?? { offset: start, what: "this is not a key", expected: "a key in double quotes" };
    }
    const fault = this.#string();
    if (fault) return fault;
    const name = JSON.parse(this.#text.slice(start, this.#offset)) as string;
    const pointer = pointerTo(open.pointer, name);
    if (keys.has(name)) return { offset: start, what: `the key ${JSON.stringify(name)} stands twice here`, pointer };
    if (name === "__proto__") return { offset: start, what: `the key ${JSON.stringify(name)} is not allowed`, pointer };
    keys.add(name);
    this.#skip();
    if (this.#text[this.#offset] !== ":") {
      const what = `a colon is missing after the key ${JSON.stringify(name)}`;
      return { offset: this.#offset, what, expected: '":"' };
    }
    this.#advance(this.#offset + 1);
    this.#pointer = pointer;
    this.#key = start;
    return undefined;
  }

  #scalar(): Fault | undefined {
    const offset = this.#offset;
    if (offset === this.#text.length) {
      return { offset, what: "the file ends where a value should be", expected: VALUE };
    }
    if (this.#text[offset] === '"') {
      const fault = this.#string();
      if (!fault) this.#skip();
      return fault;
    }
    const word = this.#match(WORD);
    const number = this.#match(NUMBER);
    const end = word !== undefined && LITERALS.includes(this.#text.slice(offset, word)) ? word : number;
    if (end === undefined) return this.#foreign(false) ?? { offset, what: "this is not a JSON value", expected: VALUE };
    if (end === number && !Number.isFinite(Number(this.#text.slice(offset, number)))) {
      return { offset, what: "this number is too large", expected: "a number below 1.8e308" };
    }
    this.#advance(end);
    return undefined;
  }

  /** Not by one pattern: a text of megabytes would overflow the stack of the pattern's engine. */
  #string(): Fault | undefined {
    const start = this.#offset;
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const character = this.#text.charAt(at);
      if (character === '"') {
        this.#offset = at + 1;
        return undefined;
      }
      if (character === "\n" || character === "\r") {
        const expected = 'a closing ", or \\n in place of a line break';
        return { offset: start, what: "this text is not closed on its line", expected };
      }
      if (character < " ") {
        const expected = "\\t or \\u00.. in its place";
        return { offset: at, what: "there is a raw control character in this text", expected };
      }
      if (character !== "\\") continue;
      this.#offset = at;
      const escaped = this.#match(ESCAPE);
      if (escaped === undefined) {
        const expected = '\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four hexadecimal digits';
        return { offset: at, what: "JSON does not know this escape", expected };
      }
      at = escaped - 1;
    }
    return { offset: start, what: "this text is never closed", expected: 'a closing "' };
  }

  /** What people write from the habit of other formats, each with its own sentence; after an entry a word is just misplaced. */
  #foreign(afterEntry: boolean): Fault | undefined {
    const offset = this.#offset;
    if (["//", "/*", "#"].some((comment) => this.#text.startsWith(comment, offset))) {
      const expected = "the file without them, or a .yaml file, where # begins a comment";
      return { offset, what: "JSON has no comments", expected };
    }
    if (this.#text[offset] === "'") return { offset, what: "JSON has no single quotes", expected: "double quotes" };
    const end = this.#match(WORD);
    if (end === undefined || afterEntry) return undefined;
    const word = this.#text.slice(offset, Math.min(end, offset + 60));
    const what = `the word ${word} stands here without quotes`;
    const expected = "double quotes around texts and keys";
    return { offset, what, expected, nearest: nearest(word, LITERALS) };
  }

  #advance(offset: number): void {
    this.#offset = offset;
    this.#skip();
  }

  #skip(): void {
    this.#offset = this.#match(BLANK) ?? this.#offset;
  }

  #match(pattern: RegExp): number | undefined {
    pattern.lastIndex = this.#offset;
    return pattern.test(this.#text) ? pattern.lastIndex : undefined;
  }
}
