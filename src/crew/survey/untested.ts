import { basename, extname, posix } from "node:path";
import { counted, type Finding, type Found, type Item, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { earlierFindings, wasDisproved } from "./request.ts";
import { isSource, isTest, isTestable, ownSourceFiles } from "./source-files.ts";

/** Number of hottest files, in which a missing test weighs more. */
const HOTTEST = 5;
/** Maximum number of source files read to follow imports from the tests. */
const MAX_SOURCES = 5000;

/**
 * Hot source files without a test. The first attempt compares file names, which is fast. If its check finds a false claim, the next attempt follows
 * what the tests import.
 */
export async function find(repository: Repository, directory: string): Promise<Found> {
  const hotSpots = (await earlierFindings(directory)).find(({ kind }) => kind === "hot-spots");
  if (hotSpots === undefined) {
    throw new Error("there is no hot-spots.json; make the task depend on the one that finds the hot spots");
  }
  const hot = hotSpots.items.filter(({ file }) => isTestable(file));
  const paths = hot.map(({ file }) => file);
  const tests = testFiles(repository);
  const byImports = wasDisproved();
  const named = testedByName(tests, repository.files);
  const tested = byImports ? usesOf(repository, paths) : new Set(paths.filter(named));
  const otherwise = paths.filter((path) => tested.has(path) !== named(path)).length;
  return {
    title: "Hot files without a test",
    looked_at: `${counted(hot.length, "hot file")} and ${counted(tests.length, "test file")}, compared by ${byImports ? "what the tests import" : "name"}.`,
    notes: [
      ...(tests.length === 0 && hot.length > 0 ? ["There is no test file."] : []),
      ...(byImports ? [`Going by imports and not by names changed the result of ${counted(otherwise, "file")}.`] : []),
    ],
    items: hot.flatMap(({ file, text, claim }, rank): Item[] => {
      if (tested.has(file)) return [];
      const severity = rank < HOTTEST && Number(claim["commits"]) > 1 ? "high" : "medium";
      return [{ severity, file, text: `no test uses it; ${text}`, claim: {} }];
    }),
  };
}

function testFiles(repository: Repository): string[] {
  return repository.files.filter((path) => isTest(path) && isSource(path));
}

/** Tells whether a test is named after a source file. A name that several source files share, such as `index`, does not count. */
function testedByName(tests: readonly string[], files: readonly string[]): (path: string) => boolean {
  const sharing = Map.groupBy(
    files.filter((path) => !isTest(path)),
    (path) => basename(path),
  );
  const affixes = /^test_|[._-](?:test|spec|e2e|bench)s?$|(?<=.)(?:Test|Tests|Spec)$/g;
  const names = new Set(tests.map((path) => basename(path, extname(path)).replace(affixes, "")));
  return (path) => names.has(basename(path, extname(path))) && (sharing.get(basename(path)) ?? []).length < 2;
}

/** Where tests use the files: by an import, by their path in a string, or through other files. */
function usesOf(repository: Repository, paths: readonly string[]): Map<string, Use> {
  const textsOf = (files: readonly string[]) => files.map((path) => ({ path, text: repository.read(path) ?? "" }));
  const own = ownSourceFiles(repository).slice(0, MAX_SOURCES);
  const uses = usesIn(textsOf(testFiles(repository)), textsOf([...new Set([...paths, ...own])]));
  return new Map([...uses].filter(([path]) => paths.includes(path)));
}

interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** A line that imports or names a source file. */
interface Use {
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
function usesIn(tests: readonly SourceText[], sources: readonly SourceText[]): Map<string, Use> {
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
  return (isSource(path) ? path.slice(0, -extname(path).length) : path).replace(
    /(?:^|\/)(?:index|__init__)$|^\.\/?$/,
    "",
  );
}

/** A claim is false if a test uses the file. */
export function verify({ items }: Finding, repository: Repository): string[] {
  const files = items.map(({ file }) => file);
  const uses = usesOf(repository, files);
  return files.flatMap((path) => {
    const use = uses.get(path);
    return use === undefined ? [] : [`${shown(path)} is used by ${shown(use.file)}:${use.line}`];
  });
}
