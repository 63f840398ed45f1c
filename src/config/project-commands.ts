import { existsSync } from "node:fs";
import { join } from "node:path";
import { objectOf, textOf } from "../lib/json.ts";
import { textIn } from "../lib/files.ts";

/** The scripts and targets that test, build and examine a project. Others may publish or delete. */
const NAMES = ["test", "build", "lint", "typecheck", "type-check", "types", "check"];

/** What `npm init` writes for a project without tests. */
const NO_TEST = /no test specified/;

/** Lock files of the package managers besides npm. */
const MANAGERS = [
  ["pnpm", "pnpm-lock.yaml"],
  ["yarn", "yarn.lock"],
  ["bun", "bun.lock"],
  ["bun", "bun.lockb"],
] as const;

/** Files by which a tool of Python is used in a project, or the word of `pyproject.toml` that says so. */
const PYTHON = [
  ["pytest", "pytest.ini", /\bpytest\b/],
  ["ruff check", "ruff.toml", /^\[tool\.ruff\b/m],
  ["mypy", "mypy.ini", /^\[tool\.mypy\b/m],
] as const;

/** The commands with which a project in this folder is tested, built and examined, by the files that name them. */
export function projectCommands(folder: string): string[] {
  const has = (file: string) => existsSync(join(folder, file));
  const read = (file: string) => textIn(join(folder, file)) ?? "";
  const python = () => {
    const project = read("pyproject.toml");
    const runner = has("uv.lock") ? "uv run " : has("poetry.lock") ? "poetry run " : "";
    return PYTHON.flatMap(([command, file, word]) => (has(file) || word.test(project) ? [`${runner}${command}`] : []));
  };
  return [
    ...scriptsIn(read("package.json"), MANAGERS.find(([, lock]) => has(lock))?.[0] ?? "npm"),
    ...targetsIn(["GNUmakefile", "makefile", "Makefile"].map(read).find((text) => text !== "") ?? ""),
    ...python(),
    ...(has("Cargo.toml") ? ["cargo test", "cargo build", "cargo check", "cargo clippy"] : []),
    ...(has("go.mod") ? ["go test", "go build", "go vet"] : []),
    ...(has("pom.xml") ? ["mvn test"] : []),
    ...(has("gradlew") ? ["./gradlew test", "./gradlew build"] : []),
  ];
}

function scriptsIn(text: string, manager: string): string[] {
  const scripts = objectOf(objectOf(parsed(text)).scripts);
  const there = NAMES.filter((name) => Object.hasOwn(scripts, name) && !NO_TEST.test(textOf(scripts[name])));
  return there.map((name) => (name === "test" && manager === "npm" ? "npm test" : `${manager} run ${name}`));
}

function targetsIn(makefile: string): string[] {
  return NAMES.filter((name) => new RegExp(`^${name}[ \\t]*::?(?!=)`, "m").test(makefile)).map(
    (name) => `make ${name}`,
  );
}

function parsed(text: string) {
  try {
    return JSON.parse(text) as Parameters<typeof objectOf>[0];
  } catch {
    return undefined;
  }
}
