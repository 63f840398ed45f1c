import { isJsonObject, type JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { FailureCode } from "./failure.ts";
import { quote, type Refusal, refusal } from "./refusal.ts";

/** Maximum size of an envelope line without its line feed, in bytes: 8 MiB. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/**
 * Maximum size of a payload as canonical JSON, in bytes: 64 MiB. An agent's line is always smaller, even with its numbers written out. A payload from
 * a file is measured; one that the scheduler builds is cut to this size.
 */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** Maximum size of a record, in bytes: twice a payload, so that the effects on every ticket of the largest plan fit beside it. */
export const MAX_RECORD_BYTES = 2 * MAX_PAYLOAD_BYTES;

/** Maximum number of levels of nested objects and lists. Beyond a few thousand, code that walks a value overflows its stack. */
export const MAX_DEPTH = 64;

/**
 * Maximum number of members, which are keys and entries of lists; an empty object or list counts as one. Members, not bytes, are what a line costs:
 * parsing, checking and recording a million takes seconds.
 */
export const MAX_MEMBERS = 20_000;

/** The maximum in a turn that expects a plan, whose 100,000 tasks have some members each. */
export const MAX_PLAN_MEMBERS = 1_000_000;

/** The maximum in a file that replaces a plan's tasks: it may have eight times the bytes of a line. */
export const MAX_FILE_MEMBERS = 4_000_000;

/** The maximum number of members of a line in a turn that expects these types. */
export function membersFor(expects: readonly string[]): number {
  return expects.includes("plan") ? MAX_PLAN_MEMBERS : MAX_MEMBERS;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Parses one line as a JSON object that later code can trust: within its limits, valid UTF-8, no duplicate keys, no key that reaches a prototype,
 * every number finite, every string well formed. Its limits are checked before it is parsed. Takes linear time and never throws. Refuses with
 * `output_limit` for bytes and members and with `malformed_output` for the rest; the refusal's `payload_type` is empty.
 */
export function parseLine(line: Uint8Array, members = MAX_MEMBERS): Result<JsonObject, Refusal> {
  if (line.length > MAX_LINE_BYTES) {
    return refuse(
      `The line has ${line.length} bytes; at most ${MAX_LINE_BYTES} are read. Put large content into an artifact. [size]`,
      "output_limit",
    );
  }
  const value = parseValue(line, MAX_DEPTH, members, "line");
  if (!value.ok) return value;
  if (!isJsonObject(value.value)) {
    return refuse("The line is JSON, but not an object. [object]");
  }
  return ok(value.value);
}

/** Parses a JSON file as strictly as a line, without a limit on its bytes, and on its members unless it is an agent's; it may hold any value. `holder` is what messages call it. */
export function parseFile(
  bytes: Uint8Array,
  depth: number,
  members = Infinity,
  holder = "file",
): Result<unknown, Refusal> {
  return parseValue(bytes, depth, members, holder);
}

function parseValue(bytes: Uint8Array, depth: number, members: number, holder: string): Result<unknown, Refusal> {
  const shape = scan(bytes);
  if (shape.depth > depth) {
    return refuse(`The ${holder} nests ${shape.depth} levels deep; at most ${depth} are read. [depth]`);
  }
  if (shape.members > members) {
    const found = `The ${holder} has ${shape.members} keys and list entries; at most ${members} are read.`;
    return refuse(`${found} Put large content into an artifact. [members]`, "output_limit");
  }
  const text = decode(bytes);
  if (text === undefined) return refuse(`The ${holder} is not UTF-8. [utf8]`);
  const value = parse(text);
  if (!value.ok) return refuse(`The ${holder} is not JSON: ${value.error} [json]`);
  const isScalar = typeof value.value !== "object" || value.value === null;
  const found = isScalar ? { keys: 0, wrong: firstViolation(value.value) } : inspect(value.value, depth);
  if (found.wrong !== undefined) return err(refusalOfUnfit("", "malformed_output", found.wrong));
  // JSON.parse keeps only the last of equal keys, so fewer keys than colons means a duplicate.
  if (found.keys !== shape.colons) {
    return refuse(`The key ${quote(repeatedKey(text))} is a duplicate in its object. [duplicate_key]`);
  }
  return ok(value.value);
}

function refuse(message: string, code: FailureCode = "malformed_output"): Result<never, Refusal> {
  return err(refusal("", code, "", message));
}

function decode(line: Uint8Array): string | undefined {
  try {
    // A byte order mark is kept and then refused as JSON: RFC 8259 forbids it between programs.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    return undefined;
  }
}

function parse(text: string): Result<unknown, string> {
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (thrown) {
    // Drop the excerpt that some messages have: it is the sender's text, which may contain control characters.
    const [what = ""] = (thrown as Error).message.split(/, (?:\.\.\.)?"/);
    return err(`${JSON.stringify(what).slice(1, -1)}.`);
  }
}

// Scanning bytes is enough: in UTF-8, no byte of a longer sequence equals a bracket, quote or colon.
function scan(line: Uint8Array): { readonly depth: number; readonly colons: number; readonly members: number } {
  let depth = 0;
  let deepest = 0;
  let colons = 0;
  let members = 0;
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if (quoted) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === COLON) colons++;
    else if (byte === COMMA) members++;
    else if (byte === 0x7b || byte === 0x5b) {
      members++;
      deepest = Math.max(deepest, ++depth);
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return { depth: deepest, colons, members };
}

/** A part of a value that no record may contain. */
export interface Unfit {
  /** JSON pointer to it, ill-formed if one of its keys is. */
  readonly pointer: string;
  readonly at: "key" | "value";
  /** A predicate, such as "is a number too large to keep". */
  readonly what: string;
  readonly rule: "depth" | "finite" | "prototype" | "well_formed";
}

/**
 * Returns the first part of a value that no record may contain, by the rules of `parseLine` except for duplicate keys, which only a text can have.
 * For values that did not arrive as a line. Takes linear time.
 */
export function firstViolation(value: unknown): Unfit | undefined {
  if (typeof value === "object" && value !== null) return inspect(value, MAX_DEPTH).wrong;
  const wrong = wrongValue(value);
  return wrong && { pointer: "", at: "value", ...wrong };
}

/** The refusal of a value with such a part. */
export function refusalOfUnfit(payloadType: string, code: FailureCode, { pointer, what, rule }: Unfit): Refusal {
  return refusal(payloadType, code, pointer, `${pointer === "" ? "It" : quote(pointer)} ${what}. [${rule}]`);
}

/** An object or list still to be walked. */
interface Container {
  readonly value: object;
  readonly key: string | number;
  /** Levels from the root, which is level 1. */
  readonly depth: number;
  readonly parent?: Container;
}

/** Walks a value without recursion: counts the keys, and stops at the first part that no record may contain. */
function inspect(root: object, most: number): { readonly keys: number; readonly wrong?: Unfit } {
  let keys = 0;
  const open: Container[] = [{ value: root, key: "", depth: 1 }];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    const depth = parent.depth + 1;
    const isList = Array.isArray(parent.value);
    const names = isList ? (parent.value as unknown[]).keys() : Object.keys(parent.value);
    for (const key of names) {
      const value = (parent.value as Record<string | number, unknown>)[key];
      if (!isList) keys++;
      const wrongInKey = isList ? undefined : wrongKey(key as string, value);
      const wrong = wrongInKey ?? wrongValue(value) ?? (depth > most ? tooDeep(value, most) : undefined);
      if (wrong !== undefined) {
        const pointer = pointerTo(pointerOf(parent), key);
        return { keys, wrong: { pointer, at: wrongInKey === undefined ? "value" : "key", ...wrong } };
      }
      if (typeof value === "object" && value !== null) open.push({ value, key, depth, parent });
    }
  }
  return { keys };
}

type Wrong = Pick<Unfit, "what" | "rule">;

const PROTOTYPE: Wrong = { what: "is a key that can reach a prototype", rule: "prototype" };
const HALF_IN_KEY: Wrong = { what: "has half a surrogate pair in its key", rule: "well_formed" };
const HALF: Wrong = { what: "holds half a surrogate pair", rule: "well_formed" };
const TOO_LARGE: Wrong = { what: "is a number too large to keep", rule: "finite" };

function wrongKey(key: string, value: unknown): Wrong | undefined {
  if (key === "__proto__") return PROTOTYPE;
  if (key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype")) {
    return PROTOTYPE;
  }
  return key.isWellFormed() ? undefined : HALF_IN_KEY;
}

function wrongValue(value: unknown): Wrong | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) return TOO_LARGE;
  if (typeof value === "string" && !value.isWellFormed()) return HALF;
  return undefined;
}

function tooDeep(value: unknown, most: number): Wrong | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return { what: `nests deeper than the ${most} levels that are read`, rule: "depth" };
}

function pointerOf({ parent, key }: Container): string {
  return parent === undefined ? "" : pointerTo(pointerOf(parent), key);
}

/** The first duplicate key of a valid JSON text. */
function repeatedKey(text: string): string {
  const open: Set<string>[] = [];
  let string = "";
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const start = at++;
      while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
      string = text.slice(start, at + 1);
    } else if (character === "{" || character === "[") open.push(new Set());
    else if (character === "}" || character === "]") open.pop();
    else if (character === ":") {
      const key = string.includes("\\") ? (JSON.parse(string) as string) : string.slice(1, -1);
      const keys = open.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
  }
  return "";
}
