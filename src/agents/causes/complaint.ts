import { isJsonObject, type Json, type JsonObject, objectOf, parsedJson } from "../../lib/json.ts";
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

/** Longer texts are bodies, whose reason stands at their beginning. */
const TEXT_CHARACTERS = 8_192;

// Names of fields, in lower case without separators.
const namesIn = (names: string): ReadonlySet<string> => new Set(names.split(" "));

/** Values of these fields are texts for people, or codes. */
const WORDS = namesIn("message detail details errormessage errordescription responsebody body raw");
const KINDS = namesIn("type code kind name reason status error errorkind errorcode apierror codexerrorinfo");
const NUMBERS = namesIn("status statuscode httpstatus httpstatuscode apierrorstatus errorstatus code");
/** Only these are read further: errors of the AI SDK also hold the request, with its prompt. */
const HOLDERS = namesIn(
  "error errors data detail details cause info metadata headers responseheaders body responsebody codexerrorinfo",
);
const AFTER_MS = namesIn("retryafterms retrydelayms");
const AFTER = namesIn("retryafter retryafterseconds retrydelay");
const AT = namesIn("retryat resetat resetsat");

/** Statuses that words name: "status 503", "API Error: 500", "429 Too Many Requests". */
const NAMED_STATUS =
  /(?:\bstatus(?: code)?:? ?|\bHTTP(?:\/[\d.]+)? |\bAPI Error:? \(?|\berror code:? )([45]\d\d)\b|\b([45]\d\d) (?:Bad Gateway|Forbidden|Gateway Time|Internal Server|Not Found|Payment Required|Service Unavailable|Too Many|Unauthorized)/gi;

/** Reads a complaint from whatever was said: a text, an error object, an object in a text, one within another. `now` is in milliseconds. */
export function complaintIn(said: Json | undefined, now: number): Complaint {
  if (typeof said === "string") return inText(said.slice(0, TEXT_CHARACTERS).trim(), now);
  if (Array.isArray(said)) return merged((said as readonly Json[]).map((one) => complaintIn(one, now)));
  if (!isJsonObject(said)) return merged([]);
  return merged(Object.entries(said).map(([name, value]) => inField(plain(name), value, now)));
}

function merged(parts: readonly Partial<Complaint>[]): Complaint {
  return {
    kinds: parts.flatMap(({ kinds = [] }) => kinds),
    words: parts.flatMap(({ words = [] }) => words),
    numbers: parts.flatMap(({ numbers = [] }) => numbers),
    retry_at: parts.find(({ retry_at }) => retry_at !== undefined)?.retry_at,
  };
}

/** Reads a text. An error object at its end, such as the body of a response, says more than the text. */
function inText(text: string, now: number): Complaint {
  const [, before = "", body = ""] = /^([^{[]*)([{[].*)$/s.exec(text) ?? [];
  const inner = complaintIn(parsedJson(body), now);
  const [first, ...others] = inner.words;
  const own = first === undefined ? text : before.trim();
  const words = [`${own} ${first ?? ""}`.trim(), ...others].filter((one) => one !== "");
  const numbers = [...own.matchAll(NAMED_STATUS)].map(([, one, two]) => Number(one ?? two));
  return merged([
    { words, numbers, retry_at: timeTold(own, now) },
    { ...inner, words: [] },
  ]);
}

function inField(key: string, value: Json | undefined, now: number): Partial<Complaint> {
  const own = {
    numbers: typeof value === "number" && NUMBERS.has(key) ? [value] : [],
    retry_at: typeof value === "string" || typeof value === "number" ? retryIn(key, value, now) : undefined,
  };
  if (typeof value !== "string") {
    if (key === "codexerrorinfo") return merged([own, inCodexInfo(objectOf(value), now)]);
    return merged([own, HOLDERS.has(key) ? complaintIn(value, now) : {}]);
  }
  if (!KINDS.has(key) && !WORDS.has(key)) return own;
  const isName = /^[\w.-]+$/.test(value);
  const words = WORDS.has(key) || !isName ? complaintIn(value, now) : {};
  return merged([own, words, isName ? { kinds: [plain(value)] } : {}]);
}

/** Codex: `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`. The status says more than the name. */
function inCodexInfo(info: JsonObject, now: number): Partial<Complaint> {
  const { numbers } = complaintIn(Object.values(info) as Json, now);
  return numbers.length > 0 ? { numbers } : { kinds: Object.keys(info).map(plain) };
}

function retryIn(key: string, value: string | number, now: number): number | undefined {
  const number = value === "" ? Number.NaN : Number(value);
  const isNumber = number >= 0;
  if (AFTER_MS.has(key)) return isNumber ? now + number : undefined;
  // Seconds, a length such as `17s`, or the date of an HTTP header.
  if (AFTER.has(key)) {
    const length = isNumber ? number * 1_000 : lengthIn(String(value));
    return length === undefined ? dateIn(String(value)) : now + length;
  }
  if (!AT.has(key)) return undefined;
  // Milliseconds have passed 100,000,000,000 in 1973, and seconds will in the year 5138.
  return isNumber ? (number < 1e11 ? number * 1_000 : number) : dateIn(String(value));
}

function plain(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();
}

function dateIn(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
