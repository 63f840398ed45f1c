import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { isUnsafe, jsonEscaped, replaceEachUnsafe } from "../../lib/terminal-text.ts";
import { textOf } from "../turn.ts";
import type { Repository } from "./repository.ts";

/** Worst first. */
export const SEVERITIES = ["high", "medium", "low"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** One thing a developer may want to do something about. */
export interface Item {
  readonly severity: Severity;
  /** Path from the repository's root. */
  readonly file: string;
  readonly line?: number;
  readonly text: string;
  /** What the claim rests on, for whoever checks it. */
  readonly claim: JsonObject;
}

/** What one survey found, and what it looked at to find it. */
export interface Finding {
  readonly kind: string;
  readonly title: string;
  /** The commit that was checked out; null before the first one. */
  readonly revision: string | null;
  readonly looked_at: string;
  /** What the reader must know to read it right: limits met, things left out. */
  readonly notes: readonly string[];
  readonly items: readonly Item[];
  readonly details: JsonObject;
}

/** One kind of finding. Both functions only read the work tree; a thrown error's message is meant for the person who asked. */
export interface Survey {
  readonly options: Readonly<Record<string, { readonly type: "string" | "boolean" }>>;
  find(repository: Repository, ask: Ask): Promise<Finding>;
  /** Goes another way over the claims of a finding and returns the false ones, each as a sentence. */
  verify(finding: Finding, repository: Repository, directory: string): Promise<readonly string[]>;
}

/** How a survey was asked for. */
export interface Ask {
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  readonly rest: readonly string[];
  /** Where findings are kept, and whatever else a survey writes. */
  readonly directory: string;
}

/** Worst first; equals stay in the order they were found in. */
export function worstFirst<T extends { readonly severity: Severity }>(items: readonly T[]): T[] {
  return SEVERITIES.flatMap((severity) => items.filter((item) => item.severity === severity));
}

/** Writes `<kind>.json` into the directory. */
export async function keep(finding: Finding, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${finding.kind}.json`), `${JSON.stringify(finding, null, 2)}\n`);
}

/** Reads back what `keep` wrote; throws what is wrong with a file that is not there or is none. */
export async function readFinding(file: string): Promise<Finding> {
  let value: JsonObject;
  try {
    value = objectOf(JSON.parse(await readFile(file, "utf8")) as Json);
  } catch (error) {
    throw new Error(`${file} cannot be read as a finding: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value["kind"] !== "string" || !Array.isArray(value["items"])) {
    throw new Error(`${file} is not a finding: it has no "kind" and "items"`);
  }
  return {
    kind: value["kind"],
    title: textOf(value["title"]),
    revision: typeof value["revision"] === "string" ? value["revision"] : null,
    looked_at: textOf(value["looked_at"]),
    notes: listOf(value["notes"]).map(textOf),
    items: listOf(value["items"]).map((item) => itemOf(objectOf(item), file)),
    details: objectOf(value["details"]),
  };
}

function itemOf(item: JsonObject, file: string): Item {
  const { severity, line } = item;
  const known = SEVERITIES.find((name) => name === severity);
  if (known === undefined) throw new Error(`${file} has an item of severity ${JSON.stringify(severity)}`);
  return {
    severity: known,
    file: textOf(item["file"]),
    ...(typeof line === "number" ? { line } : {}),
    text: textOf(item["text"]),
    claim: objectOf(item["claim"]),
  };
}

/** A finding as a short section of Markdown, at most `most` items of it. */
export function section(finding: Finding, most: number): string {
  const items = worstFirst(finding.items);
  const left = items.length - most;
  return [
    `## ${finding.title}`,
    "",
    finding.looked_at,
    ...(items.length === 0 ? ["", "Nothing found."] : ["", ...items.slice(0, most).map((item) => `- ${line(item)}`)]),
    ...(left > 0 ? [`- … and ${left} more in ${finding.kind}.json`] : []),
    ...(finding.notes.length === 0 ? [] : ["", ...finding.notes.map((note) => `> ${note}`)]),
    "",
  ].join("\n");
}

/** One item on one line: the place, then what is to be said of it. */
export function line(item: Item): string {
  return `${place(item.file, item.line)}: ${item.text}`;
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A place in the repository for reading: a name with unusual characters is written as JSON writes it. */
export function place(file: string, line?: number): string {
  return `\`${shown(file)}${line === undefined ? "" : `:${line}`}\``;
}

/** A file name that cannot break a line or a terminal. */
export function shown(file: string): string {
  // The backtick would end the code span.
  if (!isUnsafe(file) && !/[\n`"\\]/.test(file)) return file;
  return replaceEachUnsafe(JSON.stringify(file), jsonEscaped).replaceAll("`", jsonEscaped);
}
