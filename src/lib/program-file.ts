import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

/** In place of an empty `PATH`, which would be the folder where a program is started. */
const DEFAULT_PATH = "/usr/bin:/bin";

/**
 * A `PATH` with only the absolute folders of another one that are `wanted`. An empty or relative one is the folder where a program is started, often
 * a repository of somebody else, which would choose what runs.
 */
export function absoluteFolders(path: string | undefined, wanted: (folder: string) => boolean = () => true): string {
  const folders = (path ?? "").split(delimiter).filter((folder) => isAbsolute(folder) && wanted(folder));
  return folders.length === 0 ? DEFAULT_PATH : folders.join(delimiter);
}

/** The file that a command would start in this directory with this `PATH`, such as that of a role; undefined if there is no executable one. */
export function programFile(program: string, directory: string, path: string | undefined): string | undefined {
  if (program.includes("/")) return executable(resolve(directory, program));
  for (const folder of (path ?? "").split(delimiter)) {
    const found = folder === "" ? undefined : executable(resolve(directory, folder, program));
    if (found !== undefined) return found;
  }
  return undefined;
}

function executable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
