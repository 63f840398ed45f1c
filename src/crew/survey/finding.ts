import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { isUnsafe, jsonEscaped, replaceEachUnsafe } from "../../lib/terminal-text.ts";
import type { Repository } from "./repository.ts";

/** Worst first. */
export const SEVERITIES = ["high", "medium", "low"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** One thing that a developer may want to change. */
export interface Item {
  readonly severity: Severity;
  /** Path from the repository's root. */
  readonly file: string;
  readonly line?: number;
  readonly text: string;
  /** The facts behind the text, for `verify`. */
  readonly claim: JsonObject;
}

/** What one survey looked at and found. */
export interface Found {
  readonly title: string;
  /** One sentence. */
  readonly looked_at: string;
  /** Limits that were reached, and what was left out. */
  readonly notes: readonly string[];
  readonly items: readonly Item[];
  readonly details: JsonObject;
}

/** The content of `<kind>.json`. */
export interface Finding extends Found {
  readonly kind: string;
  /** The checked-out commit; null before the first one. */
  readonly revision: string | null;
}

/** One kind of survey. It only reads the work tree. Messages of errors that it throws are for the user. */
export interface Survey {
  /** The options of `find`. */
  readonly options: Readonly<Record<string, { readonly type: "string" }>>;
  readonly find: (repository: Repository, options: Options, directory: string) => Promise<Found>;
  /** Checks the claims of a finding in another way than `find`, and returns the false ones as sentences. */
  readonly verify: (finding: Finding, repository: Repository, directory: string) => Promise<readonly string[]>;
}

export type Options = Readonly<Record<string, string | undefined>>;

/** Sorts by severity; equal items keep their order. */
export function worstFirst<T extends { readonly severity: Severity }>(items: readonly T[]): T[] {
  return SEVERITIES.flatMap((severity) => items.filter((item) => item.severity === severity));
}

/** Writes `<kind>.json` into the directory. */
export async function keep(finding: Finding, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${finding.kind}.json`), `${JSON.stringify(finding, null, 2)}\n`);
}

/** Reads a file that `keep` wrote. Throws if there is none, or if it is not a finding. */
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
    title: textWithin(value["title"]),
    revision: typeof value["revision"] === "string" ? value["revision"] : null,
    looked_at: textWithin(value["looked_at"]),
    notes: listOf(value["notes"]).map(textWithin),
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
    file: textWithin(item["file"]),
    ...(typeof line === "number" ? { line } : {}),
    text: textWithin(item["text"]),
    claim: objectOf(item["claim"]),
  };
}

/** A finding as a section of Markdown with at most `most` items. */
export function section({ kind, title, looked_at, notes, items }: Finding, most: number): string {
  const left = items.length - most;
  const shownItems = worstFirst(items)
    .slice(0, most)
    .map((item) => `- ${line(item)}`);
  return [
    `## ${title}`,
    "",
    looked_at,
    "",
    ...(items.length === 0 ? ["Nothing found."] : shownItems),
    ...(left > 0 ? [`- … and ${left} more in ${kind}.json`] : []),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `> ${note}`)]),
    "",
  ].join("\n");
}

/** An item on one line: its place and its text. */
export function line({ file, line: number, text }: Item): string {
  return `\`${shown(file)}${number === undefined ? "" : `:${number}`}\`: ${text}`;
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A file name that cannot break a line, code span or terminal: unusual characters are escaped as in JSON. */
export function shown(file: string): string {
  if (!isUnsafe(file) && !/[\n`"\\]/.test(file)) return file;
  return replaceEachUnsafe(JSON.stringify(file), jsonEscaped).replaceAll("`", jsonEscaped);
}
