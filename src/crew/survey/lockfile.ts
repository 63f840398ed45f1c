import { posix } from "node:path";
import { type JsonObject, objectOf, textWithin } from "../../lib/json.ts";
import { type Finding, type Found, type Item, shown } from "./finding.ts";
import { lineAt, readJson, type Repository } from "./repository.ts";

export const LOCK = "package-lock.json";
const GROUPS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

type JsonFile = NonNullable<ReturnType<typeof readJson>>;

/** Differences between package.json and the package-lock.json beside it, for which `npm ci` refuses to install. */
export function find(repository: Repository): Found {
  const folders = repository.files
    .filter((path) => posix.basename(path) === "package.json")
    .map((path) => posix.dirname(path))
    .filter((folder) => repository.exists(posix.join(folder, LOCK)));
  const files = folders.length === 1 ? "1 package.json" : `${folders.length} package.json files`;
  return {
    title: "Lock file drift",
    looked_at: `${files} compared with the ${LOCK} in the same folder.`,
    items: folders.flatMap((folder) => driftIn(repository, folder)),
  };
}

function driftIn(repository: Repository, folder: string): Item[] {
  const manifest = readJson(repository, posix.join(folder, "package.json"));
  const lock = readJson(repository, posix.join(folder, LOCK));
  if (manifest === undefined || lock === undefined) return [];
  const broken = [manifest, lock].filter((file) => file.broken !== undefined);
  if (broken.length > 0) return broken.map(brokenItem);
  // The lock file of the root covers its workspaces.
  const packages = Object.entries(objectOf(lock.value["packages"])).filter(([key]) => !key.includes("node_modules/"));
  return packages.flatMap(([key, locked]) => {
    const own = key === "" ? manifest : readJson(repository, posix.join(folder, key, "package.json"));
    return own === undefined ? [] : GROUPS.flatMap((group) => compare(own, lock, key, objectOf(locked), group));
  });
}

function brokenItem({ path, broken = "" }: JsonFile): Item {
  return { severity: "high", file: path, line: 1, text: `is not JSON: ${broken}`, claim: { fault: "broken" } };
}

/** Compares one group of a package.json with the copy of it that the lock file keeps under `key`. */
function compare(manifest: JsonFile, lock: JsonFile, key: string, locked: JsonObject, group: string): Item[] {
  const [declared, recorded] = [objectOf(manifest.value[group]), objectOf(locked[group])];
  const names = [...new Set([...Object.keys(declared), ...Object.keys(recorded)])];
  return names.flatMap((name): Item[] => {
    const [wanted, was] = [declared[name], recorded[name]];
    if (wanted === was) return [];
    // npm records a package only once if it is in two groups, or was moved to another.
    const inAnyGroup = (file: JsonObject) => GROUPS.some((any) => objectOf(file[any])[name] !== undefined);
    if (wanted === undefined ? inAnyGroup(manifest.value) : was === undefined && inAnyGroup(locked)) return [];
    const claim = { fault: "drift", name, key, declared: wanted ?? null, locked: was ?? null };
    const paths = { manifest: manifest.path, lock: lock.path };
    const text =
      wanted === undefined
        ? `${shown(name)} is in the ${group} of the lock file, but no longer in ${shown(manifest.path)}`
        : was === undefined
          ? `${shown(name)}@${shown(textWithin(wanted))} is in ${group}, but not in the lock file`
          : `${shown(name)} is declared as ${shown(textWithin(wanted))}, but locked as ${shown(textWithin(was))}`;
    const [file, start] = wanted === undefined ? [lock, `${JSON.stringify(key)}:`] : [manifest, `"${group}"`];
    const line = lineAt(file.text, `${JSON.stringify(name)}:`, Math.max(0, file.text.indexOf(start)));
    return [{ severity: "high", file: file.path, line, text, claim: { ...claim, ...paths } }];
  });
}

/** Reads both files as plain text and looks for what the claims say. */
export function verify({ items }: Finding, repository: Repository): string[] {
  return items.flatMap(({ file, claim }) => {
    const [fault, name, lock] = [textWithin(claim["fault"]), textWithin(claim["name"]), textWithin(claim["lock"])];
    if (fault === "broken") return readJson(repository, file)?.broken === undefined ? [`${shown(file)} is JSON`] : [];
    const declared = repository.readWhole(textWithin(claim["manifest"])) ?? "";
    const recorded = entryIn(repository.readWhole(lock) ?? "", textWithin(claim["key"])) ?? "";
    const differs = claim["declared"] !== claim["locked"];
    if (differs && says(declared, name, claim["declared"]) && says(recorded, name, claim["locked"])) return [];
    return [`${shown(file)} and ${shown(lock)} agree on ${shown(name)}`];
  });
}

/** The part of a lock file, as plain text, about the package with this key. */
export function entryIn(lock: string, key: string): string | undefined {
  const start = lock.indexOf(`${JSON.stringify(key)}:`);
  return start < 0 ? undefined : lock.slice(start).split(/\n {4}\}/, 1)[0];
}

/** Whether a JSON text gives the name this value; for null, whether it lacks the name. */
function says(text: string, name: string, value: JsonObject[string]): boolean {
  const [, ...values] = text.split(`${JSON.stringify(name)}:`);
  return value === null
    ? values.length === 0
    : values.some((rest) => rest.trimStart().startsWith(JSON.stringify(value)));
}
