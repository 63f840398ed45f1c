// Keys repeat from record to record: caching their quoted form saves a third of the time. Bounded, because keys may be hostile.
const MAX_CACHED_KEYS = 1_000;
const MAX_CACHED_KEY_LENGTH = 40;
const quotedKeys = new Map<string, string>();

/**
 * The canonical JSON of a value (RFC 8785, JSON Canonicalization Scheme), so that equal values have equal hashes. A key whose value is
 * undefined is left out. Recursive: the caller must bound the depth.
 *
 * Throws a TypeError for values without canonical JSON: NaN, infinities, lone surrogates, and anything that is not JSON.
 */
export function canonicalJson(value: unknown): string {
  return appended("", value);
}

/** Appends to one text, which is faster than concatenating the texts of nested values. */
function appended(text: string, value: unknown): string {
  if (typeof value === "string") return text + quote(value);
  if (typeof value === "object") {
    if (value === null) return `${text}null`;
    return Array.isArray(value) ? withArray(text, value) : withObject(text, value as Record<string, unknown>);
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is not a JSON number`);
    // JSON.stringify and not String, because it writes -0 as 0.
    return text + JSON.stringify(value);
  }
  if (typeof value === "boolean") return text + (value ? "true" : "false");
  throw new TypeError(`A ${typeof value} is not JSON`);
}

/**
 * Longer lists are built in chunks of this many entries. V8 keeps appended pieces until a text is flattened, which `slice` does. Without it, a
 * plan of 24 MB took 100 MB more.
 */
const CHUNK = 500;

function withArray(before: string, values: readonly unknown[]): string {
  let text = `${before}[`;
  if (values.length > CHUNK) {
    for (let from = 0; from < values.length; from += CHUNK) {
      if (from > 0) text += ",";
      text += canonicalJson(values.slice(from, from + CHUNK)).slice(1, -1);
    }
    return `${text}]`;
  }
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ",";
    text = appended(text, values[index]);
  }
  return `${text}]`;
}

function withObject(before: string, value: Readonly<Record<string, unknown>>): string {
  let text = `${before}{`;
  let isFirst = true;
  // `sort` compares UTF-16 code units by default, as RFC 8785 requires.
  for (const key of sortedKeys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    if (!isFirst) text += ",";
    isFirst = false;
    text = appended(text + quotedKey(key), member);
  }
  return `${text}}`;
}

const FEW_KEYS = 32;

/** Most objects have few keys, mostly in order: insertion sort costs a tenth of `sort`, which copies. */
function sortedKeys(value: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(value);
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] as string;
    let place = index;
    for (; place > 0 && (keys[place - 1] as string) > key; place--) keys[place] = keys[place - 1] as string;
    keys[place] = key;
  }
  return keys;
}

function quotedKey(key: string): string {
  const known = quotedKeys.get(key);
  if (known !== undefined) return known;
  const quoted = `${quote(key)}:`;
  if (key.length <= MAX_CACHED_KEY_LENGTH && quotedKeys.size < MAX_CACHED_KEYS) quotedKeys.set(key, quoted);
  return quoted;
}

function quote(text: string): string {
  if (isPlain(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError("A lone surrogate has no UTF-8 form");
  return JSON.stringify(text);
}

/** For longer texts, JSON.stringify is faster than the check. */
const SHORT_TEXT = 100;

/** Whether a text is short and needs no escapes, as most do. The check costs less than JSON.stringify. */
export function isPlain(text: string): boolean {
  if (text.length > SHORT_TEXT) return false;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}
