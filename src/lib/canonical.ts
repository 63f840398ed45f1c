// Object keys repeat from record to record; quoting each once saves a third of the time. Bounded, because keys may be hostile.
const QUOTED_KEYS_KEPT = 1_000;
const LONGEST_KEY_KEPT = 40;
const quotedKeys = new Map<string, string>();

/**
 * The one text a value has under RFC 8785 (JSON Canonicalization Scheme), so that equal values have equal hashes. A key whose
 * value is undefined is left out. Depth must be bounded by whoever let the value in: this recurses.
 *
 * Throws a TypeError for what has no such text: NaN, infinities, lone surrogates, and anything that is not JSON.
 */
export function canonicalJson(value: unknown): string {
  return appended("", value);
}

/** Everything is added to the one text: texts of their own for what is inside would only have to be put together again. */
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
 * So many entries of a longer list are made a text of their own first, whose `slice` puts it together: what is added to a text is kept
 * beside it until that is done, and beside a plan's 24 MB that was another 100.
 */
const PIECE = 500;

function withArray(before: string, values: readonly unknown[]): string {
  let text = `${before}[`;
  if (values.length > PIECE) {
    for (let from = 0; from < values.length; from += PIECE) {
      if (from > 0) text += ",";
      text += canonicalJson(values.slice(from, from + PIECE)).slice(1, -1);
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
  // The default order of `sort` is by UTF-16 code units, which is the order RFC 8785 asks for.
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

/** Most objects have few keys, and these mostly in order: sorting in place costs a tenth of `sort`, which copies. */
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
  if (key.length <= LONGEST_KEY_KEPT && quotedKeys.size < QUOTED_KEYS_KEPT) quotedKeys.set(key, quoted);
  return quoted;
}

function quote(text: string): string {
  if (isPlain(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError("A lone surrogate has no UTF-8 form");
  return JSON.stringify(text);
}

/** A longer text is not looked through: JSON.stringify is faster at that. */
const SHORT_TEXT = 100;

/** Short, and only of printable ASCII that stands for itself, as most texts are: to see that costs less than to call JSON.stringify. */
export function isPlain(text: string): boolean {
  if (text.length > SHORT_TEXT) return false;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}
