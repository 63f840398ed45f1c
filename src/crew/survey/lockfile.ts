import { posix } from "node:path";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import { textOf } from "../turn.ts";
import type { Finding, Item, Survey } from "./finding.ts";
import { shown } from "./finding.ts";
import type { JsonFile } from "./json-file.ts";
import { lineAt, readJson } from "./json-file.ts";
import type { Repository } from "./repository.ts";

const GROUPS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
const OTHER_LOCKS = ["yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"];

/** Where package.json and package-lock.json have drifted apart: what `npm ci` would refuse, or install differently from what is declared. */
export const lockfile: Survey = { options: {}, find: findDrift, verify: verifyDrift };

async function findDrift(repository: Repository): Promise<Finding> {
  const manifests = repository.files.filter(
    (path) => posix.basename(path) === "package.json" && isProject(repository, path),
  );
  const items: Item[] = [];
  let compared = 0;
  for (const path of manifests) {
    const drift = await driftOf(repository, path);
    compared += drift === undefined ? 0 : 1;
    items.push(...(drift ?? []));
  }
  return {
    kind: "lockfile",
    title: "Lock file drift",
    revision: repository.head ?? null,
    looked_at:
      manifests.length === 0
        ? "There is no package.json with a lock file to compare."
        : `${compared} of ${manifests.length} package.json compared with the package-lock.json beside them.`,
    notes: [],
    items,
    details: { manifests },
  };
}

/** The root's package.json, and any other that has a lock file of its own; a workspace's is compared through its root. */
function isProject(repository: Repository, path: string): boolean {
  const folder = posix.dirname(path);
  return folder === "." || repository.isTracked(`${folder}/package-lock.json`);
}

/** Undefined when there is nothing to compare. */
async function driftOf(repository: Repository, path: string): Promise<Item[] | undefined> {
  const folder = posix.dirname(path);
  const manifest = await readJson(repository, path);
  if (manifest === undefined) return undefined;
  if (manifest.broken !== undefined)
    return [item(manifest, 1, "high", `is not JSON: ${manifest.broken}`, { fault: "broken" })];
  const lock = await readJson(repository, posix.join(folder, "package-lock.json"));
  const declared = GROUPS.slice(0, 3).flatMap((group) => Object.keys(objectOf(manifest.value[group])));
  if (lock === undefined) {
    const other = OTHER_LOCKS.some((name) => repository.isTracked(posix.join(folder, name)));
    if (other || declared.length === 0) return undefined;
    return [
      item(manifest, undefined, "high", `declares ${declared.length} dependencies and there is no lock file`, {
        fault: "no_lock",
      }),
    ];
  }
  if (lock.broken !== undefined) {
    const conflict = lineAt(lock.text, "<<<<<<<");
    const why = conflict === undefined ? lock.broken : "it has an unresolved merge conflict";
    return [item(lock, conflict, "high", `is not JSON: ${why}`, { fault: "broken" })];
  }
  const packages = objectOf(lock.value["packages"]);
  if (lock.value["packages"] === undefined) {
    return [
      item(
        lock,
        1,
        "medium",
        "has the format of npm 6, which states no declared ranges; run npm install with a newer npm",
        { fault: "old" },
      ),
    ];
  }
  const untracked = repository.isTracked(lock.path)
    ? []
    : [item(lock, undefined, "medium", "is not tracked by git", { fault: "untracked" })];
  const keys = Object.keys(packages).filter((key) => !key.includes("node_modules/"));
  const drift = await Promise.all(
    keys.map(async (key) => {
      const own = key === "" ? manifest : await readJson(repository, posix.join(folder, key, "package.json"));
      return own === undefined ? [] : compare({ manifest: own, lock, key, locked: objectOf(packages[key]), packages });
    }),
  );
  return [...untracked, ...drift.flat()];
}

/** A package.json, and what the lock file keeps of it under `key`. */
interface Pair {
  readonly manifest: JsonFile;
  readonly lock: JsonFile;
  readonly key: string;
  readonly locked: JsonObject;
  readonly packages: JsonObject;
}

function compare(pair: Pair): Item[] {
  return [...GROUPS.flatMap((group) => [...unlocked(pair, group), ...leftOver(pair, group)]), ...otherVersion(pair)];
}

/** What the lock file does not hold as it is declared. */
function unlocked({ manifest, lock, key, locked, packages }: Pair, group: string): Item[] {
  const recorded = objectOf(locked[group]);
  return Object.entries(objectOf(manifest.value[group])).flatMap(([name, value]) => {
    const range = textOf(value);
    const was = recorded[name];
    const fault = (kind: string, text: string) => {
      const claim = { fault: kind, group, name, key, declared: range, locked: textOf(was), lock: lock.path };
      return [item(manifest, lineOf(manifest.text, `"${group}"`, name), "high", text, claim)];
    };
    if (was === undefined) {
      // npm writes an optional dependency under one heading only.
      if (group === "dependencies" && objectOf(locked["optionalDependencies"])[name] !== undefined) return [];
      return fault("missing", `${shown(name)}@${shown(range)} is in ${group} but not in the lock file`);
    }
    if (was !== value) {
      const text = `${shown(name)} is declared as ${shown(range)}, the lock file was made for ${shown(textOf(was))}`;
      return fault("differs", text);
    }
    const must = group === "dependencies" || group === "devDependencies";
    if (!must || installed(packages, key, name)) return [];
    return fault("hollow", `${shown(name)} is declared, but the lock file holds no package for it`);
  });
}

/** What the lock file holds and nobody declares any more. */
function leftOver({ manifest, lock, key, locked }: Pair, group: string): Item[] {
  return Object.entries(objectOf(locked[group])).flatMap(([name, value]) => {
    if (GROUPS.some((any) => objectOf(manifest.value[any])[name] !== undefined)) return [];
    const text = `${shown(name)} is still in the lock file's ${group}, and no longer in ${shown(manifest.path)}`;
    const was = { declared: "", locked: textOf(value), lock: lock.path, manifest: manifest.path };
    const claim = { fault: "extra", group, name, key, ...was };
    return [item(lock, lineOf(lock.text, `${JSON.stringify(key)}:`, name), "high", text, claim)];
  });
}

function otherVersion({ manifest, lock, locked }: Pair): Item[] {
  const own = textOf(manifest.value["version"]);
  if (locked["version"] === undefined || own === "" || own === locked["version"]) return [];
  const text = `is version ${shown(own)}, the lock file says ${shown(textOf(locked["version"]))}; run npm install --package-lock-only`;
  const claim = { fault: "version", lock: lock.path, declared: own };
  return [item(manifest, lineAt(manifest.text, '"version"'), "medium", text, claim)];
}

/** The line of a name, at or after where the section first stands that has it. */
function lineOf(text: string, section: string, name: string): number | undefined {
  return lineAt(text, `${JSON.stringify(name)}:`, Math.max(0, text.indexOf(section)));
}

function installed(packages: JsonObject, key: string, name: string): boolean {
  return (
    packages[`node_modules/${name}`] !== undefined || packages[posix.join(key, "node_modules", name)] !== undefined
  );
}

function item(
  file: JsonFile,
  line: number | undefined,
  severity: Item["severity"],
  text: string,
  claim: JsonObject,
): Item {
  return { severity, file: file.path, ...(line === undefined ? {} : { line }), text, claim };
}

/** The other way: both files are read as text, and the words of the claim are looked for in them. */
async function verifyDrift(finding: Finding, repository: Repository): Promise<string[]> {
  const wrong: string[] = [];
  for (const { file, claim } of finding.items) {
    const own = (await readJson(repository, file))?.text ?? "";
    const sentence = await contradiction(repository, file, own, claim);
    if (sentence !== undefined) wrong.push(`${shown(file)}: ${sentence}`);
  }
  return wrong;
}

async function contradiction(
  repository: Repository,
  file: string,
  own: string,
  claim: JsonObject,
): Promise<string | undefined> {
  const [fault, name, declared] = [textOf(claim["fault"]), textOf(claim["name"]), textOf(claim["declared"])];
  const lock = (await readJson(repository, textOf(claim["lock"])))?.text ?? "";
  const key = textOf(claim["key"]);
  const entry = lock.slice(Math.max(0, lock.indexOf(`${JSON.stringify(key)}:`)));
  // What the lock file keeps of a package.json ends where the next package begins.
  const kept = entry.slice(0, entry.search(/\n {4}\}/) + 1 || undefined);
  switch (fault) {
    case "missing":
      return says(own, name, declared) && !says(kept, name) ? undefined : `${shown(name)} is in the lock file`;
    case "differs":
      return says(own, name, declared) && !says(kept, name, declared)
        ? undefined
        : `both say ${shown(name)}@${shown(declared)}`;
    case "hollow":
      return lock.includes(`node_modules/${name}":`) ? `the lock file holds a package for ${shown(name)}` : undefined;
    case "extra": {
      const manifest = (await readJson(repository, textOf(claim["manifest"])))?.text ?? "";
      return !says(manifest, name) && says(kept, name) ? undefined : `${shown(name)} is still declared`;
    }
    case "version":
      return says(lock.slice(0, lock.indexOf('"node_modules/')), "version", declared)
        ? "the versions agree"
        : undefined;
    case "no_lock":
      return (await readJson(repository, posix.join(posix.dirname(file), "package-lock.json"))) === undefined
        ? undefined
        : "there is a lock file";
    case "untracked":
      return repository.isTracked(file) ? "it is tracked by git" : undefined;
    case "old":
      return own.includes('"packages"') ? "it has the newer format" : undefined;
    default:
      return (await readJson(repository, file))?.broken === undefined ? "it is good JSON" : undefined;
  }
}

function says(text: string, name: string, value?: string): boolean {
  const key = `${JSON.stringify(name)}:`;
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    if (
      value === undefined ||
      text
        .slice(at + key.length)
        .trimStart()
        .startsWith(JSON.stringify(value))
    )
      return true;
  }
  return false;
}
