/** The files of a repository or a patch; null for one that goes. */
type Files = Readonly<Record<string, string | null>>;

/** Two tasks on one repository, whose patches meet in a file. */
export interface Pair {
  readonly name: string;
  readonly base: Files;
  readonly one: Files;
  readonly two: Files;
  /** How whoever is sent back resolves it. */
  readonly both: Files;
  /** For each task, what prints `true` if its feature is there. */
  readonly checks: readonly [one: string, two: string];
}

const fn = (name: string, body = "x") => `export function ${name}(x) {\n  return ${body};\n}\n`;
const file = (...parts: readonly string[]) => parts.join("\n");
const list = (...names: readonly string[]) =>
  `export const all = [\n${names.map((name) => `  "${name}",\n`).join("")}];\n`;
const limits = (tries: number, wait: number) => `export const tries = ${tries};\nexport const wait = ${wait};\n`;
const imports = (names: readonly string[], sum: string) =>
  file(names.map((name) => `import { ${name} } from "./fns.mjs";\n`).join(""), fn("total", sum));

const long = ["a", "b", "c", "d", "e"].map((name) => fn(name));
const [, b = "", c = "", d = "", e = ""] = long;

export const PAIRS: readonly Pair[] = [
  {
    name: "two functions of a file",
    base: { "m.mjs": file(...long) },
    one: { "m.mjs": file(fn("a", "x + 1"), b, c, d, e) },
    two: { "m.mjs": file(fn("a"), b, c, d, fn("e", "x + 5")) },
    both: { "m.mjs": file(fn("a", "x + 1"), b, c, d, fn("e", "x + 5")) },
    checks: ["m.a(1) === 2", "m.e(1) === 6"],
  },
  {
    name: "lines beside each other",
    base: { "m.mjs": limits(1, 10) },
    one: { "m.mjs": limits(3, 10) },
    two: { "m.mjs": limits(1, 50) },
    both: { "m.mjs": limits(3, 50) },
    checks: ["m.tries === 3", "m.wait === 50"],
  },
  {
    name: "the same line",
    base: { "m.mjs": fn("price") },
    one: { "m.mjs": fn("price", "Math.abs(x)") },
    two: { "m.mjs": fn("price", "Math.round(x)") },
    both: { "m.mjs": fn("price", "Math.round(Math.abs(x))") },
    checks: ["m.price(-2) === 2", "m.price(2.2) === 2"],
  },
  {
    name: "a renamed file that is edited",
    base: { "m.mjs": 'export * from "./old.mjs";\n', "old.mjs": file(...long) },
    one: { "m.mjs": 'export * from "./new.mjs";\n', "new.mjs": file(...long), "old.mjs": null },
    two: { "old.mjs": file(fn("a"), b, fn("c", "x + 3"), d, e) },
    both: { "new.mjs": file(fn("a"), b, fn("c", "x + 3"), d, e), "old.mjs": null },
    checks: ['!fs.existsSync("old.mjs") && m.a(1) === 1', "m.c(1) === 4"],
  },
  {
    name: "a removed file that is edited",
    base: { "m.mjs": 'export * from "./part.mjs";\n', "part.mjs": fn("part") },
    one: { "m.mjs": fn("part"), "part.mjs": null },
    two: { "part.mjs": fn("part", "x + 2") },
    both: { "m.mjs": fn("part", "x + 2"), "part.mjs": null },
    checks: ['!fs.existsSync("part.mjs") && m.part !== undefined', "m.part(1) === 3"],
  },
  {
    name: "the end of a list",
    base: { "m.mjs": list("home", "about") },
    one: { "m.mjs": list("home", "about", "login") },
    two: { "m.mjs": list("home", "about", "search") },
    both: { "m.mjs": list("home", "about", "login", "search") },
    checks: ['m.all.includes("login")', 'm.all.includes("search")'],
  },
  {
    name: "a block of imports",
    base: { "fns.mjs": file(...long), "m.mjs": imports(["a"], "a(x)") },
    one: { "m.mjs": imports(["a", "b"], "a(x) + b(x) * 10") },
    two: { "m.mjs": imports(["a", "c"], "a(x) + c(x) * 100") },
    both: { "m.mjs": imports(["a", "b", "c"], "a(x) + b(x) * 10 + c(x) * 100") },
    checks: ["m.total(1) % 100 === 11", "m.total(1) > 100"],
  },
  {
    name: "a new file of the same name",
    base: { "readme.txt": "Helpers go into m.mjs.\n" },
    one: { "m.mjs": fn("plural", "`${x}s`") },
    two: { "m.mjs": fn("title", "x.toUpperCase()") },
    both: { "m.mjs": file(fn("plural", "`${x}s`"), fn("title", "x.toUpperCase()")) },
    checks: ['m.plural("a") === "as"', 'm.title("a") === "A"'],
  },
  {
    name: "a renamed function that is used anew",
    base: {
      "lib.mjs": fn("load"),
      "m.mjs": 'import * as lib from "./lib.mjs";\n\nexport const all = [lib.load(1)];\n',
    },
    one: { "lib.mjs": fn("read"), "m.mjs": 'import * as lib from "./lib.mjs";\n\nexport const all = [lib.read(1)];\n' },
    two: {
      "lib.mjs": file(fn("load"), "// Twice.", "export const twice = [load(2), load(2)];\n"),
    },
    both: { "lib.mjs": file(fn("read"), "// Twice.", "export const twice = [read(2), read(2)];\n") },
    checks: ['"read" in lib && m.all[0] === 1', "lib.twice?.length === 2"],
  },
  {
    name: "the same correction, and one more each",
    base: { "m.mjs": file(fn("a", "x - 1"), b, c, d, e) },
    one: { "m.mjs": file(fn("a", "x + 1"), fn("b", "x + 2"), c, d, e) },
    two: { "m.mjs": file(fn("a", "x + 1"), b, c, d, fn("e", "x + 5")) },
    both: { "m.mjs": file(fn("a", "x + 1"), fn("b", "x + 2"), c, d, fn("e", "x + 5")) },
    checks: ["m.a(1) === 2 && m.b(1) === 3", "m.a(1) === 2 && m.e(1) === 6"],
  },
];
