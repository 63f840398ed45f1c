import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { StoreReader } from "../../store/store.ts";
import type { FoundItem } from "./events.ts";

/** What the crew found, and where the whole of it is to be read. */
export interface Findings {
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

/** The first few, worst first, but at most `each` of one kind, so that one long list does not hide the others. */
export function topFindings(items: readonly FoundItem[], most: number, each: number): FoundItem[] {
  const taken = new Map<string, number>();
  return items
    .filter(({ kind }) => {
      taken.set(kind, (taken.get(kind) ?? 0) + 1);
      return (taken.get(kind) ?? 0) <= each;
    })
    .slice(0, most);
}

function itemOf({ severity, file, line, text, claim }: JsonObject): FoundItem {
  return {
    kind: String((claim as JsonObject | undefined)?.from ?? ""),
    severity: String(severity),
    file: String(file),
    line: typeof line === "number" ? line : null,
    text: String(text),
  };
}
