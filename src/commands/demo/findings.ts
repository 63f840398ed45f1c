import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { StoreReader } from "../../store/store.ts";
import { wordsOf } from "../../ui/words.ts";
import type { FoundItem } from "./events.ts";

/** What the crew found, and where the whole of it is to be read. */
interface Findings {
  /** Worst first. */
  readonly items: readonly FoundItem[];
  /** The kept report, absolute. */
  readonly report: string;
}

/** Reads what the digest kept. Failure `not_found` if it kept none. */
export function readFindings(reader: StoreReader, home: string, session_id: string): Result<Findings, Failure> {
  const kept = reader.artifacts(session_id).filter(({ subject }) => subject === "digest");
  const digest = kept.findLast(({ label }) => label === "digest.json");
  const report = kept.findLast(({ label }) => label === "report.md");
  if (digest === undefined || report === undefined) {
    return err(failure("not_found", "The crew has kept no report of what it found."));
  }
  const { items } = JSON.parse(readFileSync(join(home, digest.path), "utf8")) as { items: JsonObject[] };
  return ok({ items: items.map(itemOf), report: join(home, report.path) });
}

/** The first few, worst first, but each file once and at most `each` of one kind, so that one long list does not hide the others. */
export function topFindings(items: readonly FoundItem[], most: number, each: number): FoundItem[] {
  const files = new Set<string>();
  const kinds = new Map<string, number>();
  const top: FoundItem[] = [];
  for (const item of items) {
    const { file, kind } = item;
    const before = kinds.get(kind) ?? 0;
    if (files.has(file) || before >= each || top.length >= most) continue;
    files.add(file);
    kinds.set(kind, before + 1);
    top.push(item);
  }
  return top;
}

function itemOf({ severity, file, line, text, claim }: JsonObject): FoundItem {
  return {
    kind: wordsOf((claim as JsonObject | undefined)?.from),
    severity: wordsOf(severity),
    file: wordsOf(file),
    line: typeof line === "number" ? line : null,
    text: wordsOf(text),
  };
}
