import { isJsonObject, type Json, type JsonObject } from "./json.ts";

/** What stands in the place of a secret. */
export const WITHHELD = "[withheld]";

/** A password in an address, as in `postgres://user:password@host`. */
const PASSWORD = /(?<=:\/\/[^\s/@:"\\]*:)[^\s/@"\\]+(?=@)/g;

/** What may stand between two characters of a secret: it may be wrapped, and be in a JSON text in another JSON text. */
const BETWEEN = String.raw`(?:\\[nrt]|u00(?:5[cC]|0[9aAdD]|20)|[\s\\])*`;

/** Fewer characters than this would be found in other words. */
const MIN_LENGTH = 6;

/** The end of a text is only kept back for this much of a secret, in characters. */
const MIN_BEGINNING = 4;

/** Longer lines of a secret of several lines, such as a private key, are secrets of their own. */
const MIN_LINE = 16;

/**
 * Withholds known secrets, and passwords in addresses, from texts that are shown or stored: as they are, wrapped over lines, with the escapes of JSON,
 * and in base64. A part of a secret, and any other encoding, is not found.
 */
export class Withholder {
  /** As `compact` leaves them. */
  readonly #forms: readonly string[];
  #pattern: RegExp | undefined;

  constructor(values: readonly string[]) {
    const lines = values.flatMap((value) => value.split("\n").filter((line) => line.length >= MIN_LINE));
    const all = [...values, ...lines].flatMap((value) => [value, ...inBase64(value)]).map(compact);
    this.#forms = [...new Set(all)].filter((form) => form.length >= MIN_LENGTH).sort((a, b) => b.length - a.length);
  }

  text(text: string): string {
    const shown = this.#without(text);
    return shown.includes("://") ? shown.replace(PASSWORD, WITHHELD) : shown;
  }

  #without(text: string): string {
    if (this.#forms.length === 0) return text;
    const compacted = compact(text);
    if (!this.#forms.some((form) => compacted.includes(form))) return text;
    this.#pattern ??= new RegExp(this.#forms.map(patternOf).join("|"), "g");
    return text.replace(this.#pattern, WITHHELD);
  }

  /** The same for all texts in a JSON value, and the names of its members. */
  json<T extends Json>(value: T): T {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined || this.text(text) === text ? value : (this.#inside(value) as T);
  }

  /** Whether the rest of a secret may follow this text. */
  mayGoOn(text: string): boolean {
    if (this.#forms.length === 0) return false;
    const end = compact(text.slice(-2 * (this.#forms[0]?.length ?? 0)));
    return this.#forms.some((form) => {
      for (let length = Math.min(form.length - 1, end.length); length >= MIN_BEGINNING; length--)
        if (end.endsWith(form.slice(0, length))) return true;
      return false;
    });
  }

  #inside(value: Json | undefined): Json | undefined {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return (value as Json[]).map((one) => this.#inside(one) as Json);
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([key, inner]) => [this.text(key), this.#inside(inner)]);
    return Object.fromEntries(entries) as JsonObject;
  }
}

/** For a turn without secrets. */
export const NO_SECRETS = new Withholder([]);

/** Without white space, its escapes and backslashes, and in one of the two alphabets of base64. */
function compact(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\[nrt]|[\s\\]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
}

function patternOf(form: string): string {
  return form.split("").map(characterPattern).join(BETWEEN);
}

function characterPattern(character: string): string {
  const same = character === "+" ? "+-" : character === "/" ? "/_" : character;
  const code = (one: string) => `u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const either = (text: string) => text.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
  const escaped = same.split("").map((one) => either(code(one)));
  return `(?:[${same.replaceAll(/[\]\\^-]/g, "\\$&")}]|${escaped.join("|")})`;
}

/** A value in base64, after any number of other bytes: the characters that these and later bytes cannot change. */
function inBase64(value: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    return bytes.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
}
