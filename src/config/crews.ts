import { basename, extname } from "node:path";
import { didYouMean } from "../lib/nearest.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Role, RoleRegistry } from "../protocol/roles.ts";
import { loadDocument, problemsFailure } from "./document.ts";
import { EXTENSIONS, type Folder, sourcesIn } from "./found.ts";
import { shipped } from "../lib/files.ts";
import { pathOf, type TextSource } from "./read-text.ts";
import { loadRoles } from "./roles.ts";

/** A named set of roles and the registry file that holds them. */
export interface CrewFile {
  readonly name: string;
  readonly file: TextSource;
}

/** The shipped crews that cost something, in order of preference: agent programs, then a model behind an API if its key is set. */
export const AGENT_CREWS = ["codex-claude", "claude", "codex", "opencode", "gemini", "model"];

/**
 * Lists all crews by name: the shipped ones, and those in the `crews` folders of the user and the project, where a later one replaces an earlier one
 * of the same name. A missing folder has none. Failure `configuration` for a folder that cannot be read.
 */
export function listCrews(folders: readonly Folder[]): Fallible<CrewFile[]> {
  const crews = new Map<string, CrewFile>();
  for (const folder of [shipped("config", "crews"), ...folders]) {
    const files = sourcesIn(folder);
    if (!files.ok) return files;
    for (const file of files.value) {
      const format = extname(pathOf(file));
      const name = basename(pathOf(file), format);
      if (EXTENSIONS.includes(format)) crews.set(name, { name, file });
    }
  }
  return ok([...crews.values()].sort((one, other) => (one.name < other.name ? -1 : 1)));
}

/** The roles of a crew as written in its file, to be copied into another. Fails like `loadCrew`. */
export function crewRegistry(name: string, folders: readonly Folder[]): Fallible<readonly Role[]> {
  const crew = crewCalled(name, folders);
  if (!crew.ok) return crew;
  const document = loadDocument(crew.value.file);
  if (!document.ok) return err(problemsFailure([document.error]));
  return ok((document.value.value as unknown as RoleRegistry).roles);
}

/** Loads the roles of the crew with this name. Failure `usage` for an unknown name, `configuration` for an invalid file. */
export async function loadCrew(
  name: string,
  folders: readonly Folder[],
  standard: readonly Role[] = [],
): Promise<Fallible<Role[]>> {
  const crew = crewCalled(name, folders);
  return crew.ok ? loadRoles([], [crew.value.file], standard) : crew;
}

function crewCalled(name: string, folders: readonly Folder[]): Fallible<CrewFile> {
  const crews = listCrews(folders);
  if (!crews.ok) return crews;
  const crew = crews.value.find((candidate) => candidate.name === name);
  if (crew) return ok(crew);
  const names = crews.value.map((candidate) => candidate.name);
  const what = `There is no crew named ${JSON.stringify(name)}.${didYouMean(name, names)}`;
  return fails("usage", what, { hint: `The crews are ${names.join(", ")}.` });
}
