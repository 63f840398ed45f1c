import { readdirSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { shipped } from "./installation.ts";
import { loadRoles } from "./roles.ts";

/** A named set of roles and the registry file that holds them. */
export interface CrewFile {
  readonly name: string;
  readonly file: string;
}

/**
 * Every crew there is, by name: the shipped ones, then those in the given `crews` folders of the person and the project, of which
 * a later one takes the place of an earlier one with the same name. A folder that is not there holds none.
 */
export function listCrews(folders: readonly string[]): CrewFile[] {
  const crews = new Map<string, CrewFile>();
  for (const folder of [shipped("config", "crews"), ...folders]) {
    for (const file of registryFiles(folder)) {
      const name = basename(file, extname(file));
      crews.set(name, { name, file: join(folder, file) });
    }
  }
  return [...crews.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The roles of the crew with this name; failure `usage` for an unknown one, `configuration` for a wrong file. */
export async function loadCrew(name: string, folders: readonly string[]): Promise<Result<Role[], Failure>> {
  const crews = listCrews(folders);
  const crew = crews.find((candidate) => candidate.name === name);
  if (crew) return loadRoles([], [crew.file]);
  const names = crews.map((candidate) => candidate.name);
  const meant = nearest(name, names);
  const question = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return err(
    failure("usage", `There is no crew called ${JSON.stringify(name)}.${question}`, {
      hint: `The crews are ${names.join(", ")}.`,
    }),
  );
}

function registryFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => [".json", ".yaml", ".yml"].includes(extname(file)))
      .sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  }
}
