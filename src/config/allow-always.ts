import { mkdirSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { parseDocument } from "yaml";
import { repositoryRoot } from "../lib/git-directories.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { readProject } from "./configuration.ts";
import { type Environment, findProjectConfiguration } from "./found.ts";
import { filesOf, isTrusted, trustWritten } from "./trust.ts";

/** Adds a command to `allowed_commands` of the project's settings, which stay trusted. Returns the file. Failures: `trust`, `configuration`, `environment`. */
export function allowAlways(environment: Environment, workspace: string, command: string): Fallible<string> {
  const found = findProjectConfiguration(workspace);
  const before = found.ok ? found.value && readProject(found.value) : found;
  if (before?.ok === false) return before;
  const folder = before?.value.found.folder ?? join(repositoryRoot(workspace) ?? workspace, ".bosun");
  const untrusted = () => fails("trust", `${folder} is not trusted.`, { hint: "Read it, and run bosun trust." });
  if (before && !isTrusted(environment, before.value)) return untrusted();
  const file = before?.value.settings?.path ?? join(folder, "scheduler_config.yaml");
  const files = before ? filesOf(before.value) : new Map<string, string>();
  try {
    const document = parseDocument(files.get(file) ?? "");
    if (document.has("allowed_commands")) document.addIn(["allowed_commands"], command);
    else document.set("allowed_commands", [command]);
    files.set(file, extname(file) === ".json" ? `${JSON.stringify(document, undefined, 2)}\n` : String(document));
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, files.get(file) ?? "");
  } catch (error) {
    return fails("environment", `${file} cannot be changed: ${(error as Error).message}.`);
  }
  const trusted = trustWritten(environment, workspace, files);
  if (!trusted.ok) return trusted;
  return trusted.value ? ok(file) : untrusted();
}
