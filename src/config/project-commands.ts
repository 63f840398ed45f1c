import { existsSync } from "node:fs";
import { join } from "node:path";
import { textIn } from "../lib/files.ts";
import { objectOf, textOf } from "../lib/json.ts";
import { loadDocument } from "./document.ts";

/** The scripts and targets that test, build and examine a project. Others may publish or delete. */
const NAMES = ["test", "build", "lint", "typecheck", "type-check", "types", "check"];

/** The other package managers by their lock files. */
const MANAGERS = { "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun" };

/** Tools of Python, each with what says in a project's `pyproject.toml` that it is used. */
const PYTHON = { pytest: /\bpytest\b/, "ruff check": /^\[tool\.ruff\b/m, mypy: /^\[tool\.mypy\b/m };

/** The commands with which a project in this folder is tested, built and examined, by the files that name them. */
export function projectCommands(folder: string): string[] {
  const has = (file: string) => existsSync(join(folder, file));
  const manager = Object.entries(MANAGERS).find(([lock]) => has(lock))?.[1] ?? "npm";
  const project = has("package.json") ? loadDocument(join(folder, "package.json")) : undefined;
  const scripts = objectOf(project?.ok === true ? objectOf(project.value.value).scripts : undefined);
  // What `npm init` writes for a project without tests.
  const isThere = (name: string) => name in scripts && !textOf(scripts[name]).includes("no test specified");
  const makefile = textIn(join(folder, "Makefile")) ?? "";
  const python = textIn(join(folder, "pyproject.toml")) ?? "";
  return [
    ...NAMES.filter(isThere).map((name) => `${manager}${name === "test" ? "" : " run"} ${name}`),
    ...NAMES.filter((name) => new RegExp(`^${name}[ \\t]*:(?!=)`, "m").test(makefile)).map((name) => `make ${name}`),
    ...Object.entries(PYTHON).flatMap(([command, word]) => (word.test(python) ? [command] : [])),
    ...(has("Cargo.toml") ? ["cargo test", "cargo build", "cargo check", "cargo clippy"] : []),
    ...(has("go.mod") ? ["go test", "go build", "go vet"] : []),
  ];
}
