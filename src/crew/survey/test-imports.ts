import { basename, extname, posix } from "node:path";

/** A place in a test file that brings a source file in. */
export interface Use {
  readonly test: string;
  readonly line: number;
}

/** What test code says, ready to be asked about source files: built once, asked for each of them. */
interface TestImports {
  /** The first place where a test imports the file or names it by its path; undefined when none does. */
  usedBy(path: string): Use | undefined;
}

const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\\n]){1,400})\1/g;
const PYTHON_IMPORT = /^\s*(?:from\s+([\w.]+)\s+import\s+([\w,\s*()]+)|import\s+([\w.,\s]+))/;
const WORD = /[A-Za-z_]\w{2,}/g;
const QUOTING_LANGUAGES = new Set(
  ["js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"].map((name) => `.${name}`),
);

/**
 * Reads test files the way their language brings code in: JavaScript by quoted paths, Python by imported modules, Go by package, any other
 * by the name of the file's main type or module as a word.
 */
export function testImports(tests: readonly { readonly path: string; readonly text: string }[]): TestImports {
  const byPath = new Map<string, Use>();
  const byWord = new Map<string, Use>();
  const byFolder = new Map<string, Use>();
  const remember = (map: Map<string, Use>, key: string, use: Use): void => {
    if (!map.has(key)) map.set(key, use);
  };
  for (const { path: test, text } of tests) {
    if (test.endsWith("_test.go")) remember(byFolder, posix.dirname(test), { test, line: 1 });
    for (const [index, line] of text.split("\n").entries()) {
      const use = { test, line: index + 1 };
      for (const [, , quoted] of line.matchAll(QUOTED)) {
        for (const key of pathKeys(test, quoted ?? "")) remember(byPath, key, use);
      }
      if (test.endsWith(".py"))
        for (const module of pythonModules(line)) remember(byPath, module.replaceAll(".", "/"), use);
      else if (!QUOTING_LANGUAGES.has(extname(test)))
        for (const [word] of line.matchAll(WORD)) remember(byWord, word, use);
    }
  }
  return {
    usedBy(path) {
      const found = sourceKeys(path)
        .map((key) => byPath.get(key))
        .find((use) => use !== undefined);
      if (found !== undefined || QUOTING_LANGUAGES.has(extname(path)) || path.endsWith(".py")) return found;
      if (path.endsWith(".go")) return byFolder.get(posix.dirname(path));
      const name = basename(path, extname(path));
      return byWord.get(name) ?? byWord.get(pascalCase(name));
    },
  };
}

/**
 * Which of the `sources` the tests reach through other sources, each with the one it is reached through. Only imports by relative path are
 * followed, so this is about JavaScript and its kin.
 */
export function reachedThrough(
  tests: readonly { readonly path: string; readonly text: string }[],
  sources: readonly { readonly path: string; readonly text: string }[],
): Map<string, string> {
  const byKey = new Map(sources.map((source) => [`/${stem(source.path)}`, source]));
  const through = new Map<string, string>();
  const waiting = [...tests];
  const met = new Set(tests.map(({ path }) => path));
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const { path, text } = file;
    for (const [, , quoted] of text.matchAll(QUOTED)) {
      for (const key of pathKeys(path, quoted ?? "")) {
        const source = byKey.get(key);
        if (source === undefined || met.has(source.path)) continue;
        met.add(source.path);
        through.set(source.path, path);
        waiting.push(source);
      }
    }
  }
  return through;
}

/** `user_service` as the class it usually holds. */
function pascalCase(name: string): string {
  return name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What a quoted text in a test may stand for: a path from the test's folder, or the end of a path from the root. */
function pathKeys(test: string, quoted: string): string[] {
  if (quoted.includes("://") || !/[./]/.test(quoted)) return [];
  if (/^\.\.?(?:\/|$)/.test(quoted)) return [`/${stem(posix.normalize(posix.join(posix.dirname(test), quoted)))}`];
  // An alias such as `@/lib/x` or `~/lib/x` says nothing before its first slash; two parts at least, or anything would match.
  const parts = quoted
    .replace(/^[@~#]?\//, "")
    .split("/")
    .filter((part) => part !== "." && part !== "");
  return parts.length < 2 ? [] : [stem(parts.join("/")), `/${stem(parts.join("/"))}`];
}

function pythonModules(line: string): string[] {
  const [, from, names, imported] = PYTHON_IMPORT.exec(line) ?? [];
  const words = (list: string | undefined): string[] =>
    (list ?? "").split(/[\s,()]+/).filter((word) => /^[\w.]+$/.test(word));
  if (from !== undefined)
    return [from, ...words(names).map((name) => `${from}.${name}`)].map((name) => name.replace(/^\.+/, ""));
  return words(imported);
}

/** Every key under which a source file can have been remembered: the whole path, and its ends of one part and more for modules. */
function sourceKeys(path: string): string[] {
  const whole = stem(path);
  const parts = whole.split("/");
  const tails = parts.map((_, index) => parts.slice(index).join("/"));
  return [`/${whole}`, ...(path.endsWith(".py") ? tails : tails.slice(0, -1))];
}

/** A path without what an import may leave out: the extension of code, and `index`. */
function stem(path: string): string {
  return path.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|vue|svelte|astro|py)$/, "").replace(/\/(?:index|__init__)$/, "");
}
