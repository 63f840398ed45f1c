import { readdirSync } from "node:fs";
import { basename, extname } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, ok } from "../lib/result.ts";
import type { Problem } from "../protocol/document/problem.ts";
import type { Fallible } from "../protocol/failure.ts";
import { problemsFailure } from "./document.ts";
import { type Folder, sourcesIn } from "./found.ts";
import { shipped } from "../lib/files.ts";
import { pathOf, readText } from "./read-text.ts";

/** A prompt template of the user or the project. */
export interface PromptFile {
  /** The name of the built-in template that it replaces. */
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

const MAX_TEMPLATE_BYTES = 200_000;
const SUFFIX = ".md";

/**
 * Loads the templates in these folders; a later one replaces an earlier one of the same name. Missing folders and hidden files are ignored. Failure
 * `configuration` for a name that no built-in template has, and for a file that cannot be read.
 */
export function loadPrompts(folders: readonly Folder[]): Fallible<PromptFile[]> {
  const known = readdirSync(shipped("config", "prompts"));
  const found = new Map<string, PromptFile>();
  const problems: Problem[] = [];
  for (const folder of folders) {
    const sources = sourcesIn(folder);
    if (!sources.ok) return sources;
    for (const source of sources.value) {
      const file = pathOf(source);
      const name = basename(file);
      if (name.startsWith(".")) continue;
      const text = known.includes(name) ? readText(source, MAX_TEMPLATE_BYTES) : err(unknown(file, known));
      if (text.ok) found.set(name, { name: basename(name, SUFFIX), file, text: text.value });
      else problems.push(text.error);
    }
  }
  return problems.length === 0 ? ok([...found.values()]) : err(problemsFailure(problems));
}

function unknown(file: string, known: readonly string[]): Problem {
  const name = basename(file);
  return {
    file,
    pointer: "",
    what: "there is no prompt of this name",
    expected: `one of ${known.join(", ")}`,
    nearest: nearest(name, known) ?? nearest(basename(name, extname(name)) + SUFFIX, known),
  };
}
