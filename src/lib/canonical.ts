/**
 * The canonical JSON of a value (RFC 8785, JSON Canonicalization Scheme), so that equal values have equal hashes. A key whose value is
 * undefined is left out. Recursive: the caller must bound the depth.
 *
 * Throws a TypeError for values without canonical JSON: NaN, infinities, lone surrogates, and anything that is not JSON.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) return canonicalObject(value as Readonly<Record<string, unknown>>);
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is not a JSON number`);
  // JSON.stringify and not String, because it writes -0 as 0.
  if (value === null || typeof value === "number" || typeof value === "boolean") return JSON.stringify(value);
  throw new TypeError(`A ${typeof value} is not JSON`);
}

function canonicalObject(value: Readonly<Record<string, unknown>>): string {
  let members = "";
  const keys = Object.keys(value);
  // Most are in order. `sort` compares UTF-16 code units by default, as RFC 8785 requires.
  if (keys.some((key, index) => index > 0 && key < (keys[index - 1] as string))) keys.sort();
  for (const key of keys) {
    const member = value[key];
    if (member !== undefined) members += `${members === "" ? "" : ","}${quote(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
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
