import { extname, posix } from "node:path";
import { isSource } from "./source-files.ts";

interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** A line that imports or names a source file. */
export interface Use {
  readonly file: string;
  readonly line: number;
}

const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\\n]){1,400})\1/g;
const PYTHON_IMPORT = /^\s*(?:from|import)\s/;
const JAVASCRIPT = /\.(?:[cm]?[jt]sx?|vue|svelte|astro)$/;

/**
 * Finds the source files that tests use, each with the first line found to use it: a relative path in quotes, also through other sources; the end of
 * a path in quotes; an import in Python; a Go test in the same folder; in other languages the file's name as a word. If a name fits several files,
 * all of them count as used.
 */
export function usesIn(tests: readonly SourceText[], sources: readonly SourceText[]): Map<string, Use> {
  const named = sources.flatMap((source) => namesOf(source.path).map((name) => ({ name, source })));
  const byName = Map.groupBy(named, ({ name }) => name);
  const uses = new Map<string, Use>();
  // Tests first, then the sources that they reach: the loop also visits what it adds.
  const files = [...tests];
  const isTest = new Set(tests.map(({ path }) => path));
  for (const { path: file, text } of files) {
    for (const [index, line] of text.split("\n").entries()) {
      for (const { source } of namesIn(file, line, isTest.has(file)).flatMap((name) => byName.get(name) ?? [])) {
        if (uses.has(source.path)) continue;
        uses.set(source.path, { file, line: index + 1 });
        files.push(source);
      }
    }
  }
  return uses;
}

/** The names under which a test may refer to a source file; a path from the root begins with a slash. */
function namesOf(path: string): string[] {
  if (path.endsWith(".go")) return [`${posix.dirname(path)}/*.go`];
  const parts = stem(path).split("/");
  const ends = parts.map((_, index) => parts.slice(index).join("/"));
  const name = parts.at(-1) ?? "";
  const className = name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return [`/${stem(path)}`, ...(JAVASCRIPT.test(path) ? ends.slice(0, -1) : new Set([...ends, className]))];
}

/** The names in a line that may be of source files: relative paths in quotes and, in tests, ends of paths, imports of Python, and words. */
function namesIn(file: string, line: string, isTest: boolean): string[] {
  const quoted = [...line.matchAll(QUOTED)].map(([, , text = ""]) => text);
  const relative = quoted
    .filter((text) => /^\.\.?(?:\/|$)/.test(text))
    .map((text) => `/${stem(posix.join(posix.dirname(file), text))}`);
  if (!isTest) return relative;
  if (file.endsWith(".go")) return [`${posix.dirname(file)}/*.go`];
  // In an alias such as `@/lib/x`, the part before the slash is not part of the path.
  const names = [...relative, ...quoted.map((text) => stem(text.replace(/^[@~#]?\//, "")))];
  if (JAVASCRIPT.test(file) || (file.endsWith(".py") && !PYTHON_IMPORT.test(line))) return names;
  return [...names, ...(line.match(/[A-Za-z_][\w.]{2,}/g) ?? []).map((word) => word.replaceAll(".", "/"))];
}

/** A path without the parts that an import may leave out: the extension and `index`. */
function stem(path: string): string {
  return (isSource(path) ? path.slice(0, -extname(path).length) : path).replace(/\/(?:index|__init__)$/, "");
}
