import { defined } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { cut } from "../../protocol/refusal.ts";
import { instant } from "../../protocol/timestamp.ts";
import { CAUSES, type Cause, type CauseName } from "./causes.ts";
import { type Complaint, complaintIn } from "./complaint.ts";
import { ROWS, type Row } from "./rows.ts";

const WORDS_CHARACTERS = 500;

/** Words that say nothing where others say more. */
const EMPTY = /^(?:internal|unknown|unexpected)? ?error\.?$/i;

/** Who failed, when, and what only its program says. */
export interface Program {
  /** The subject of the message: "Role builder (codex)". */
  readonly who: string;
  /** In ms since 1970. */
  readonly now: number;
  readonly rows?: readonly Row[];
  /** Better hints for this program. */
  readonly hints?: Partial<Record<CauseName, string>>;
}

/** The failure that a complaint means: its code, how long the role is held, what was said, and what to do next. */
export function failureOf(complaint: Complaint, program: Program): Failure {
  return failureFor(causeOf(complaint, program.rows) ?? "unknown", complaint, program);
}

/** The failure of a known cause. */
export function failureFor(name: CauseName, complaint: Complaint, { who, now, hints = {} }: Program): Failure {
  const cause: Cause = CAUSES[name];
  const words = complaint.words.find((text) => !EMPTY.test(text)) ?? complaint.words[0] ?? "";
  const [line = ""] = words.trim().split("\n", 1);
  const said = cut(line, WORDS_CHARACTERS).replace(/[.:\s]+$/, "");
  const isHeld = cause.held !== undefined || cause.code === "unavailable";
  const untold = typeof cause.held === "number" ? now + cause.held : undefined;
  const end = isHeld ? (complaint.retry_at ?? untold) : undefined;
  const retry_at = end === undefined ? undefined : instant(end);
  const status = complaint.numbers.find((number) => number > 0);
  const details = defined({ reason: cause.reason, retry_at, status });
  const waits = retry_at === undefined ? undefined : `The role goes on by itself at ${retry_at}.`;
  return failure(cause.code, said === "" ? `${who} ${cause.says}.` : `${who} ${cause.says}: ${said}.`, {
    hint: waits ?? hints[name] ?? cause.hint,
    ...(Object.keys(details).length === 0 ? {} : { details }),
  });
}

/** The failure that the last line with a known cause means, for a program that told it on stderr alone. Undefined if no line has one. */
export function failureOnStderr(stderr_tail: string, program: Program): Failure | undefined {
  const complaints = stderr_tail.split("\n").map((line) => complaintIn(line, program.now));
  const told = complaints.findLast((complaint) => causeOf(complaint, program.rows) !== undefined);
  return told && failureOf(told, program);
}

/**
 * The cause that a complaint means. Codes come before words, and words before numbers, which servers reuse: 401 for an empty account, 500 around a
 * 429. A limit that only money ends is often told as any limit, so there the words decide.
 */
export function causeOf({ kinds, words, numbers }: Complaint, own: readonly Row[] = []): CauseName | undefined {
  const rows = [...own, ...ROWS];
  const first = (fits: (row: Row) => boolean | undefined) => rows.find(fits)?.cause;
  const byKind = first((row) => row.kinds?.split(" ").some((kind) => kinds.includes(kind)));
  const byWords = first((row) => words.some((text) => row.words?.test(text)));
  if (byKind !== undefined && !(byKind === "limit" && byWords === "credit")) return byKind;
  return byWords ?? first((row) => row.numbers?.some((number) => numbers.includes(number)));
}
