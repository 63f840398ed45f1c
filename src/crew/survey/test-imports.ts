import { basename, extname, posix } from "node:path";

export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** A line that imports or names a source file. */
export interface Use {
  readonly file: string;
  readonly line: number;
}

const QUOTED = /(["'`])((?:\\.|(?!\1)[^\\\n]){1,400})\1/g;
const PYTHON_IMPORT = /^\s*(?:from\s+([\w.]+)\s+import\s+([\w,\s*()]+)|import\s+([\w.,\s]+))/;
const WORD = /[A-Za-z_]\w{2,}/g;
const JAVASCRIPT = new Set(
  ["js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"].map((name) => `.${name}`),
);

/**
 * Reads test files as their language imports code: JavaScript by quoted paths, Python by modules, Go by packages, any
 * other by the name of the file as a word. `usedBy` gives the first line that uses a source file.
 */
export function testImports(tests: readonly SourceText[]): { usedBy(path: string): Use | undefined } {
  const byPath = new Map<string, Use>();
  const byWord = new Map<string, Use>();
  const byFolder = new Map<string, Use>();
  const remember = (map: Map<string, Use>, key: string, use: Use): void => {
    if (!map.has(key)) map.set(key, use);
  };
  for (const { path: file, text } of tests) {
    if (file.endsWith("_test.go")) remember(byFolder, posix.dirname(file), { file, line: 1 });
    for (const [index, line] of text.split("\n").entries()) {
      const use = { file, line: index + 1 };
      for (const key of quotedPaths(file, line)) remember(byPath, key, use);
      if (file.endsWith(".py")) {
        for (const module of pythonModules(line)) remember(byPath, module.replaceAll(".", "/"), use);
      } else if (!JAVASCRIPT.has(extname(file))) {
        for (const [word] of line.matchAll(WORD)) remember(byWord, word, use);
      }
    }
  }
  return {
    usedBy(path) {
      for (const key of sourceKeys(path)) {
        const use = byPath.get(key);
        if (use !== undefined) return use;
      }
      if (JAVASCRIPT.has(extname(path)) || path.endsWith(".py")) return undefined;
      if (path.endsWith(".go")) return byFolder.get(posix.dirname(path));
      const name = basename(path, extname(path));
      return byWord.get(name) ?? byWord.get(pascalCase(name));
    },
  };
}

/** The sources that tests reach through relative imports, each with the line that imports it. */
export function reachedFromTests(tests: readonly SourceText[], sources: readonly SourceText[]): Map<string, Use> {
  const byKey = new Map(sources.map((source) => [`/${stem(source.path)}`, source]));
  const reached = new Map<string, Use>();
  const waiting = [...tests];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [index, line] of next.text.split("\n").entries()) {
      for (const key of quotedPaths(next.path, line)) {
        const source = byKey.get(key);
        if (source === undefined || reached.has(source.path)) continue;
        reached.set(source.path, { file: next.path, line: index + 1 });
        waiting.push(source);
      }
    }
  }
  return reached;
}

/** `user_service` as the name of a class. */
function pascalCase(name: string): string {
  return name.replace(/(?:^|[_-])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The source files that quoted texts of a line may name, as keys: paths from the root begin with a slash, others are
 * the ends of paths.
 */
function quotedPaths(file: string, line: string): string[] {
  return [...line.matchAll(QUOTED)].flatMap(([, , quoted = ""]) => {
    if (quoted.includes("://") || !/[./]/.test(quoted)) return [];
    if (/^\.\.?(?:\/|$)/.test(quoted)) return [`/${stem(posix.normalize(posix.join(posix.dirname(file), quoted)))}`];
    // In an alias such as `@/lib/x` the part before the slash says nothing. One part alone would match too much.
    const parts = quoted
      .replace(/^[@~#]?\//, "")
      .split("/")
      .filter((part) => part !== "." && part !== "");
    return parts.length < 2 ? [] : [stem(parts.join("/")), `/${stem(parts.join("/"))}`];
  });
}

function pythonModules(line: string): string[] {
  const [, from, names, imported] = PYTHON_IMPORT.exec(line) ?? [];
  const words = (list = ""): string[] => list.split(/[\s,()]+/).filter((word) => /^[\w.]+$/.test(word));
  if (from === undefined) return words(imported);
  return [from, ...words(names).map((name) => `${from}.${name}`)].map((name) => name.replace(/^\.+/, ""));
}

/**
 * The keys that may stand for a source file: its path, and the ends of it. A module of Python may be named by its last
 * part alone.
 */
function sourceKeys(path: string): string[] {
  const whole = stem(path);
  const parts = whole.split("/");
  const tails = parts.map((_, index) => parts.slice(index).join("/"));
  return [`/${whole}`, ...(path.endsWith(".py") ? tails : tails.slice(0, -1))];
}

/** A path without the parts that an import may leave out: the extension and `index`. */
function stem(path: string): string {
  return path.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|vue|svelte|astro|py)$/, "").replace(/\/(?:index|__init__)$/, "");
}
