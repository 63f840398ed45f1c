import { isJsonObject, type Json, type JsonObject } from "../../lib/json.ts";
import { lengthIn, timeTold } from "./told-times.ts";

/** What a program, an agent or a provider said went wrong, in whatever form it came. */
export interface Complaint {
  /** Error codes and kinds, in lower case without separators: `usage_limit_exceeded` and `usageLimitExceeded` are one. */
  readonly kinds: readonly string[];
  /** What it says to people; the first text is shown. */
  readonly words: readonly string[];
  /** HTTP statuses, and codes of JSON-RPC. */
  readonly numbers: readonly number[];
  /** When it may be tried again, if it says so, in ms since 1970. */
  readonly retry_at?: number | undefined;
}

/** Maximum number of objects and texts within each other. */
const MAX_DEPTH = 6;

/** Values of these fields are texts for people, or codes. Names are in lower case without separators. */
const WORDS = new Set([
  "message",
  "detail",
  "details",
  "errormessage",
  "errordescription",
  "responsebody",
  "body",
  "raw",
]);
const KINDS = new Set([
  "type",
  "code",
  "kind",
  "name",
  "reason",
  "status",
  "error",
  "errorkind",
  "errorcode",
  "apierror",
  "codexerrorinfo",
]);
const NUMBERS = new Set([
  "status",
  "statuscode",
  "httpstatus",
  "httpstatuscode",
  "apierrorstatus",
  "errorstatus",
  "code",
]);
/** Only these are read further: errors of the AI SDK also hold the request, with its prompt. */
const HOLDERS = new Set([
  "error",
  "errors",
  "data",
  "detail",
  "details",
  "cause",
  "info",
  "metadata",
  "headers",
  "responseheaders",
  "body",
  "responsebody",
  "codexerrorinfo",
]);
const AFTER_MS = new Set(["retryafterms", "retrydelayms"]);
const AFTER = new Set(["retryafter", "retryafterseconds", "retrydelay"]);
const AT = new Set(["retryat", "resetat", "resetsat"]);

/** Says nothing: the reason stands deeper. */
const EMPTY = /^(?:internal|unknown|unexpected)? ?error\.?$/i;

/** Statuses that words name: "status 503", "API Error: 500", "429 Too Many Requests". */
const NAMED_STATUS =
  /(?:\bstatus(?: code)?:? ?|\bHTTP(?:\/[\d.]+)? |\bAPI Error:? \(?|\berror code:? )([45]\d\d)\b|\b([45]\d\d) (?:Bad Gateway|Forbidden|Gateway Time|Internal Server|Not Found|Payment Required|Service Unavailable|Too Many|Unauthorized)/gi;

/** Reads a complaint from whatever was said: a text, an error object, an object in a text, one within another. `now` is in milliseconds. */
export function complaintIn(said: Json | undefined, now: number): Complaint {
  const reading = new Reading(now);
  reading.take(said, 0);
  return reading.complaint();
}

class Reading {
  readonly #now: number;
  readonly #kinds: string[] = [];
  readonly #words: string[] = [];
  readonly #numbers: number[] = [];
  #retry_at: number | undefined;

  constructor(now: number) {
    this.#now = now;
  }

  complaint(): Complaint {
    const words = this.#words.toSorted((one, other) => Number(EMPTY.test(one)) - Number(EMPTY.test(other)));
    const named = words.flatMap((text) => [...text.matchAll(NAMED_STATUS)].map(([, one, two]) => Number(one ?? two)));
    const told = this.#retry_at ?? words.map((text) => timeTold(text, this.#now)).find((time) => time !== undefined);
    return { kinds: this.#kinds, words, numbers: [...named, ...this.#numbers], retry_at: told };
  }

  take(said: Json | undefined, depth: number): void {
    if (depth > MAX_DEPTH) return;
    if (typeof said === "string") this.#text(said, depth);
    else if (Array.isArray(said)) for (const one of said as readonly Json[]) this.take(one, depth + 1);
    else if (isJsonObject(said)) for (const [key, value] of Object.entries(said)) this.#field(plain(key), value, depth);
  }

  /** Takes a text. An error object within it, such as the body of a response, says more than the text. */
  #text(text: string, depth: number): void {
    const [, before = "", body = ""] = /^([^{]*)(\{[\s\S]*\})\s*$/.exec(text) ?? [];
    const inner = body === "" ? undefined : parsed(body);
    const lead = (inner === undefined ? text : before).trim();
    if (inner !== undefined) {
      const count = this.#words.length;
      this.take(inner, depth + 1);
      if (this.#words.length > count && lead !== "") this.#words.splice(count, 1, `${lead} ${this.#words[count]}`);
      if (this.#words.length > count) return;
    }
    if (lead !== "") this.#words.push(lead);
  }

  #field(key: string, value: Json | undefined, depth: number): void {
    if (typeof value === "number" && NUMBERS.has(key)) this.#numbers.push(value);
    if (typeof value === "string") {
      if (KINDS.has(key) || WORDS.has(key)) this.#said(key, value, depth);
    } else if (key === "codexerrorinfo") this.#codexInfo(value, depth);
    else if (HOLDERS.has(key)) this.take(value, depth + 1);
    this.#retry_at ??= this.#retryAt(key, value);
  }

  #said(key: string, text: string, depth: number): void {
    const isName = /^[\w.-]+$/.test(text);
    if (isName) this.#kinds.push(plain(text));
    if (WORDS.has(key) || !isName) this.#text(text, depth);
  }

  /** Codex: `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`. The status says more than the name. */
  #codexInfo(info: Json | undefined, depth: number): void {
    if (!isJsonObject(info)) return;
    const count = this.#numbers.length;
    for (const inner of Object.values(info)) this.take(inner, depth + 1);
    if (this.#numbers.length === count) this.#kinds.push(...Object.keys(info).map(plain));
  }

  #retryAt(key: string, value: Json | undefined): number | undefined {
    if (value === null || value === "" || (typeof value !== "string" && typeof value !== "number")) return undefined;
    const number = Number(value);
    if (AFTER_MS.has(key)) return number >= 0 ? this.#now + number : undefined;
    if (AFTER.has(key)) return number >= 0 ? this.#now + number * 1_000 : this.#after(String(value));
    // Seconds or milliseconds: the latter only pass 100,000,000,000 since 1973.
    if (AT.has(key)) return number >= 0 ? (number < 1e11 ? number * 1_000 : number) : dateIn(String(value));
    return undefined;
  }

  /** A length such as `17s`, or the date of an HTTP header. */
  #after(text: string): number | undefined {
    const length = lengthIn(text);
    return length === undefined ? dateIn(text) : this.#now + length;
  }
}

function plain(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();
}

function dateIn(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
