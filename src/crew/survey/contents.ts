import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { textOf } from "../turn.ts";
import type { Ask, Finding, Item, Survey } from "./finding.ts";
import { counted, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";

const PRIVATE_FILE =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample)[^/]*)?|\.npmrc|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]+\.(?:pem|key|p12|pfx))$/i;
const NPM_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * What `npm pack` would publish: files that package.json promises and that are not in it, and files that nobody should get. `--in` names
 * the folder to pack, where the work tree itself has not been built.
 */
export const contents: Survey = { options: { in: { type: "string" } }, find: findContents, verify: verifyContents };

async function findContents(repository: Repository, { options }: Ask): Promise<Finding> {
  const folder = typeof options["in"] === "string" ? options["in"] : repository.root;
  if (!(await repository.exists("package.json"))) throw new Error("there is no package.json; this is no npm package");
  const manifest = await manifestOf(folder);
  const packed = await dryRun(folder);
  const missing = promised(manifest).filter(({ path }) => !resolves(packed.files, path));
  const items: Item[] = [
    ...missing.map(({ field, path }): Item => {
      const text = `${field} names ${shown(path)}, and the package would not hold it`;
      return { severity: "high", file: "package.json", text, claim: { fault: "missing", path } };
    }),
    ...[...packed.files]
      .filter((path) => PRIVATE_FILE.test(path))
      .map((path): Item => {
        const text = `${shown(path)} would be published; it looks like something private`;
        return { severity: "high", file: "package.json", text, claim: { fault: "private", path } };
      }),
  ];
  return {
    kind: "contents",
    title: "What would be published",
    revision: repository.head ?? null,
    looked_at: `${counted(packed.files.size, "file")}, ${packed.bytes} bytes unpacked, by npm pack --dry-run.`,
    notes: manifest["private"] === true ? ["package.json says private: npm would refuse to publish it."] : [],
    items,
    details: { folder, files: [...packed.files], bytes: packed.bytes },
  };
}

async function manifestOf(folder: string): Promise<JsonObject> {
  return objectOf(JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Json);
}

async function dryRun(folder: string): Promise<{ files: Set<string>; bytes: number }> {
  // The package's own scripts would build into the folder; what is to be packed must be there already.
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: folder, maxBuffer: NPM_OUTPUT_BYTES });
  // One entry in a list, or since npm 12 in an object by the package's name.
  const answer = JSON.parse(stdout) as Json;
  const packed = objectOf(Array.isArray(answer) ? (answer as Json[])[0] : Object.values(objectOf(answer))[0]);
  const files = listOf(packed["files"]).map((file) => textOf(objectOf(file)["path"]));
  return { files: new Set(files), bytes: Number(packed["unpackedSize"] ?? 0) };
}

/** The files that a package's users are sent to by package.json. */
function promised(manifest: JsonObject): { field: string; path: string }[] {
  const found: { field: string; path: string }[] = [];
  const walk = (field: string, value: Json | undefined): void => {
    if (typeof value === "string") found.push({ field, path: posix.normalize(value) });
    else if (Array.isArray(value)) for (const entry of value as Json[]) walk(field, entry);
    else for (const entry of Object.values(objectOf(value))) walk(field, entry);
  };
  for (const field of ["main", "module", "types", "typings", "browser", "bin"]) walk(field, manifest[field]);
  walk("exports", manifest["exports"]);
  return found;
}

function resolves(files: ReadonlySet<string>, path: string): boolean {
  if (!path.includes("*"))
    return [path, `${path}.js`, `${path}.json`, `${path}/index.js`].some((name) => files.has(posix.normalize(name)));
  const [before = "", after = ""] = path.split("*");
  return [...files].some((file) => file.startsWith(before) && file.endsWith(after));
}

/** npm is asked anew, and package.json read anew: the claims must be those of the files as they are now. */
async function verifyContents(finding: Finding): Promise<string[]> {
  const folder = textOf(finding.details["folder"]);
  const { files } = await dryRun(folder);
  const names = new Set(promised(await manifestOf(folder)).map(({ path }) => path));
  return finding.items.flatMap(({ claim }) => {
    const path = textOf(claim["path"]);
    if (claim["fault"] === "private") return files.has(path) ? [] : [`the package does not hold ${shown(path)}`];
    if (!names.has(path)) return [`package.json does not name ${shown(path)}`];
    return files.has(path) ? [`the package holds ${shown(path)}`] : [];
  });
}
