import { isJsonObject, type JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { FailureCode } from "./failure.ts";
import { quote, type Refusal, refusal } from "./refusal.ts";

/** The most an envelope line may hold, in bytes without its line feed: 8 MiB. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

/**
 * The most a payload may have as canonical JSON, in bytes: 64 MiB. An agent's line has less, also with its numbers written out; what
 * comes as a file is measured, and what the scheduler puts together is cut to it.
 */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** The most a record may have, in bytes: twice a payload, so that the effects on every ticket of the largest plan have room beside it. */
export const MAX_RECORD_BYTES = 2 * MAX_PAYLOAD_BYTES;

/** How many objects and lists may stand in each other. Past some thousands, ordinary code that walks a value overflows its stack. */
export const MAX_DEPTH = 64;

export interface LineLimits {
  readonly bytes: number;
  readonly depth: number;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Reads one line as a JSON object that later code can trust: within its limits, real UTF-8, no key twice, no key that reaches a
 * prototype, every number finite, every string well formed. Takes time in proportion to the line and never throws. Refuses with
 * `output_limit` for size and `malformed_output` for the rest; the refusal's `payload_type` is empty, since none was read.
 */
export function parseLine(
  line: Uint8Array,
  limits: LineLimits = { bytes: MAX_LINE_BYTES, depth: MAX_DEPTH },
): Result<JsonObject, Refusal> {
  if (line.length > limits.bytes) {
    return refuse(
      `The line has ${line.length} bytes; at most ${limits.bytes} are read. Put what is large into an artifact. [size]`,
      "output_limit",
    );
  }
  const value = parseValue(line, limits.depth, "line");
  if (!value.ok) return value;
  if (!isJsonObject(value.value)) {
    return refuse("The line is JSON, but not an object. [object]");
  }
  return ok(value.value);
}

/** Reads what an agent has put into a file as strictly as a line, but for its size; it may hold any value. */
export function parseFile(bytes: Uint8Array, depth: number): Result<unknown, Refusal> {
  return parseValue(bytes, depth, "file");
}

function parseValue(bytes: Uint8Array, depth: number, holder: "file" | "line"): Result<unknown, Refusal> {
  const text = decode(bytes);
  if (text === undefined) return refuse(`The ${holder} is not UTF-8. [utf8]`);
  const shape = scan(bytes);
  if (shape.depth > depth) {
    return refuse(`The ${holder} nests ${shape.depth} levels deep; at most ${depth} are read. [depth]`);
  }
  const value = parse(text);
  if (!value.ok) return refuse(`The ${holder} is not JSON: ${value.error} [json]`);
  const isScalar = typeof value.value !== "object" || value.value === null;
  const found = isScalar ? { keys: 0, wrong: unfitIn(value.value) } : inspect(value.value, depth);
  if (found.wrong !== undefined) return err(refusalOfUnfit("", "malformed_output", found.wrong));
  // Parsing keeps the last of equal keys, however each was written; so fewer keys than colons means that one stood twice.
  if (found.keys !== shape.colons) {
    return refuse(`The key ${quote(repeatedKey(text))} stands twice in one object. [duplicate_key]`);
  }
  return ok(value.value);
}

function refuse(message: string, code: FailureCode = "malformed_output"): Result<never, Refusal> {
  return err(refusal("", code, "", message));
}

function decode(line: Uint8Array): string | undefined {
  try {
    // A byte order mark is kept, and is then no JSON: RFC 8259 forbids it between programs.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    return undefined;
  }
}

function parse(text: string): Result<unknown, string> {
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (thrown) {
    // Without the excerpt that some messages carry: it is the sender's text, with whatever control characters are in it.
    const [what = ""] = (thrown as Error).message.split(/, (?:\.\.\.)?"/);
    return err(`${JSON.stringify(what).slice(1, -1)}.`);
  }
}

// Bytes suffice: those of a longer UTF-8 sequence are never a bracket, quote or colon.
function scan(line: Uint8Array): { readonly depth: number; readonly colons: number } {
  let depth = 0;
  let deepest = 0;
  let colons = 0;
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if (quoted) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === COLON) colons++;
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return { depth: deepest, colons };
}

/** What a value holds that no record may. */
export interface Unfit {
  /** JSON pointer to it; as ill-formed as its keys are. */
  readonly pointer: string;
  /** Whether the value there is unfit, or the key. */
  readonly at: "key" | "value";
  /** A sentence without its subject and its full stop. */
  readonly what: string;
  readonly rule: "depth" | "finite" | "prototype" | "well_formed";
}

/**
 * The first thing in a value that no record may hold, for what did not come as a line: the same rules but for keys that stand
 * twice, which only a text can have. Takes time in proportion to the value.
 */
export function unfitIn(value: unknown): Unfit | undefined {
  if (typeof value === "object" && value !== null) return inspect(value, MAX_DEPTH).wrong;
  const wrong = wrongValue(value);
  return wrong && { pointer: "", at: "value", ...wrong };
}

/** The refusal of a value for what it holds that no record may. */
export function refusalOfUnfit(payloadType: string, code: FailureCode, { pointer, what, rule }: Unfit): Refusal {
  return refusal(payloadType, code, pointer, `${pointer === "" ? "It" : quote(pointer)} ${what}. [${rule}]`);
}

interface Place {
  readonly value: object;
  readonly key: string | number;
  /** How many objects and lists it stands in, itself being one. */
  readonly depth: number;
  readonly parent?: Place;
}

/** Walks without recursion; counts keys, and stops at the first thing no record may hold. */
function inspect(root: object, most: number): { readonly keys: number; readonly wrong?: Unfit } {
  let keys = 0;
  const open: Place[] = [{ value: root, key: "", depth: 1 }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const parent = place;
    const depth = place.depth + 1;
    const isList = Array.isArray(place.value);
    const names = isList ? (place.value as unknown[]).keys() : Object.keys(place.value);
    for (const key of names) {
      const value = (place.value as Record<string | number, unknown>)[key];
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

const PROTOTYPE: Wrong = { what: "is a key that may reach a prototype", rule: "prototype" };
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

function pointerOf({ parent, key }: Place): string {
  return parent === undefined ? "" : pointerTo(pointerOf(parent), key);
}

/** The first key that its object already has, in text that is known to be JSON. */
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
      const key = JSON.parse(string) as string;
      const keys = open.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
  }
  return "";
}
