import { basename, extname, posix } from "node:path";

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
      const names = [...relativePaths(file, line), ...(isTest.has(file) ? looseNames(file, line) : [])];
      for (const { source } of names.flatMap((name) => byName.get(name) ?? [])) {
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
  const whole = stem(path);
  const parts = whole.split("/");
  const ends = parts.map((_, index) => parts.slice(index).join("/"));
  if (path.endsWith(".py")) return [`/${whole}`, ...ends];
  if (JAVASCRIPT.test(path)) return [`/${whole}`, ...ends.slice(0, -1)];
  const name = basename(path, extname(path));
  const className = name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return [`/${whole}`, ...ends.slice(0, -1), ...new Set([name, className])];
}

function relativePaths(file: string, line: string): string[] {
  return [...line.matchAll(QUOTED)]
    .filter(([, , quoted = ""]) => /^\.\.?(?:\/|$)/.test(quoted))
    .map(([, , quoted = ""]) => `/${stem(posix.join(posix.dirname(file), quoted))}`);
}

function looseNames(file: string, line: string): string[] {
  if (file.endsWith(".go")) return [`${posix.dirname(file)}/*.go`];
  // In an alias such as `@/lib/x`, the part before the slash is not part of the path.
  const ends = [...line.matchAll(QUOTED)].map(([, , quoted = ""]) => stem(quoted.replace(/^[@~#]?\//, "")));
  if (JAVASCRIPT.test(file)) return ends;
  if (!file.endsWith(".py")) return [...ends, ...(line.match(/[A-Za-z_]\w{2,}/g) ?? [])];
  const modules = PYTHON_IMPORT.test(line) ? (line.match(/\w[\w.]*/g) ?? []) : [];
  return [...ends, ...modules.map((name) => name.replaceAll(".", "/"))];
}

/** A path without the parts that an import may leave out: the extension and `index`. */
function stem(path: string): string {
  return path.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|vue|svelte|astro|py)$/, "").replace(/\/(?:index|__init__)$/, "");
}
