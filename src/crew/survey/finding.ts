import { readFile } from "node:fs/promises";
import type { JsonObject } from "../../lib/json.ts";
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
  readonly line?: number | undefined;
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
  readonly notes?: readonly string[];
  readonly items: readonly Item[];
  readonly details?: JsonObject;
}

/** The content of `<kind>.json`. */
export interface Finding extends Required<Found> {
  readonly kind: string;
  /** The checked-out commit; null before the first one. */
  readonly revision: string | null;
}

/** One kind of survey: what its file exports. It only reads the work tree. Messages of errors that it throws are for the user. */
export interface Survey {
  /** The options of `find`. */
  readonly options?: Readonly<Record<string, { readonly type: "string" }>>;
  readonly find: (repository: Repository, directory: string, options: Options) => Found | Promise<Found>;
  /** Checks the claims of a finding in another way than `find`, and returns the false ones as sentences. */
  readonly verify: (finding: Finding, repository: Repository, directory: string) => string[] | Promise<string[]>;
}

export type Options = Readonly<Record<string, string | undefined>>;

/** Sorts by severity; equal items keep their order. */
export function worstFirst<T extends { readonly severity: Severity }>(items: readonly T[]): T[] {
  return SEVERITIES.flatMap((severity) => items.filter((item) => item.severity === severity));
}

/** Reads a `<kind>.json`. Throws if there is none, or if it is not a finding. */
export async function readFinding(file: string): Promise<Finding> {
  try {
    const finding = JSON.parse(await readFile(file, "utf8")) as Finding;
    const isItem = ({ severity, text }: Item) => SEVERITIES.includes(severity) && typeof text === "string";
    if (typeof finding.kind === "string" && finding.items.every(isItem)) return finding;
    throw new Error("it has another content");
  } catch (error) {
    throw new Error(`${file} cannot be read as a finding: ${(error as Error).message}`, { cause: error });
  }
}

/** Checks the claims of items, one after another, and returns what the checks say. */
export async function checkEach(items: readonly Item[], check: (item: Item) => Promise<string[]>): Promise<string[]> {
  const said: string[] = [];
  for (const item of items) said.push(...(await check(item)));
  return said;
}

/** An item on one line: its place and its text. */
export function line({ file, line: number, text }: Item): string {
  return `\`${shown(file)}${number === undefined ? "" : `:${number}`}\`: ${text}`;
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun.replace(/y$/, "ie")}s`}`;
}

/** A file name that cannot break a line, code span or terminal: unusual characters are escaped as in JSON. */
export function shown(file: string): string {
  if (!isUnsafe(file) && !/[\n`"\\]/.test(file)) return file;
  return replaceEachUnsafe(JSON.stringify(file), jsonEscaped).replaceAll("`", jsonEscaped);
}
