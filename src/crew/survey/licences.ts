import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { textOf } from "../turn.ts";
import type { Finding, Item, Survey } from "./finding.ts";
import { counted, shown } from "./finding.ts";
import { lineAt, readJson } from "./json-file.ts";
import type { Repository } from "./repository.ts";

const MAX_PACKAGES = 50_000;
/** No real expression is longer; a made-up one could nest without end. */
const MAX_EXPRESSION = 300;

const PERMISSIVE =
  /^(?:MIT(?:-0)?|Apache-2\.0|ISC|0BSD|BSD-[1234]-Clause.*|BSD|Unlicense|CC0-1\.0|CC-BY-[34]\.0|Python-2\.0(?:\.1)?|PSF-2\.0|Zlib|BlueOak-1\.0\.0|WTFPL|BSL-1\.0|Artistic-2\.0|Unicode-.*|X11|AFL-.*|OFL-1\.1|PostgreSQL|NCSA|libpng.*)$/i;
const WEAK = /^(?:LGPL|MPL|EPL|CDDL|CPL|MS-RL|EUPL|CC-BY-SA)/i;
const STRONG = /^(?:A?GPL|SSPL|OSL|RPL|CC-BY-NC|BUSL|Elastic)/i;

/** How much a licence asks of those who pass the work on; a licence nobody can name asks the most attention. */
type Demand = "permissive" | "weak" | "strong" | "unknown";
const DEMANDS: readonly Demand[] = ["permissive", "weak", "strong", "unknown"];

interface Package {
  /** Where it stands: its key in the lock file, or its folder. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly dev: boolean;
}

/** Licences of the installed dependencies that somebody should look at: unknown ones, and those with strong conditions. */
export const licences: Survey = { options: {}, find: findLicences, verify: verifyLicences };

async function findLicences(repository: Repository): Promise<Finding> {
  const lock = await readJson(repository, "package-lock.json");
  const { source, packages } =
    lock === undefined
      ? { source: "node_modules", packages: await installedPackages(repository.root) }
      : { source: "package-lock.json", packages: await lockedPackages(repository.root, lock.value) };
  const counts = new Map<string, number>();
  for (const { licence } of packages) counts.set(licence || "unknown", (counts.get(licence || "unknown") ?? 0) + 1);
  const summary = [...counts].toSorted((one, other) => other[1] - one[1]).map(([name, count]) => `${count} ${name}`);
  return {
    kind: "licences",
    title: "Licences of the dependencies",
    revision: repository.head ?? null,
    looked_at:
      packages.length === 0
        ? "No dependency: there is neither a package-lock.json with packages nor an installed node_modules."
        : `${counted(packages.length, "package")} in ${source}: ${summary.slice(0, 12).join(", ")}${summary.length > 12 ? ", …" : ""}.`,
    notes: packages.length >= MAX_PACKAGES ? [`Only the first ${MAX_PACKAGES} packages were looked at.`] : [],
    items: packages.flatMap((entry) => {
      const item = judge(entry);
      if (item === undefined) return [];
      const at = lock === undefined ? undefined : lineAt(lock.text, `${JSON.stringify(entry.key)}:`);
      return [
        {
          ...item,
          file: lock === undefined ? `${entry.key}/package.json` : "package-lock.json",
          ...(at === undefined ? {} : { line: at }),
        },
      ];
    }),
    details: { source, packages: packages.length, licences: Object.fromEntries(counts) },
  };
}

function judge({ key, name, version, licence, dev }: Package): Omit<Item, "file"> | undefined {
  const demand = demandOf(licence);
  if (demand === "permissive" || (demand === "weak" && dev)) return undefined;
  const use = dev ? "used for development only" : "shipped with the product";
  const what = {
    weak: "asks to publish changes to it",
    strong: "is copyleft or restricts use",
    unknown: "is not known",
  }[demand];
  return {
    severity: demand === "weak" ? "low" : dev ? "medium" : "high",
    text: `${shown(`${name}@${version}`)} (${use}): its licence ${licence === "" ? "is not stated" : `${shown(licence)} ${what}`}`,
    claim: { key, name, version, licence },
  };
}

/** What an SPDX expression demands: of alternatives the mildest, of all that apply at once the strictest. */
function demandOf(expression: string): Demand {
  if (expression.length > MAX_EXPRESSION) return "unknown";
  const words = expression.replace(/[()]/g, " $& ").split(/\s+/).filter(Boolean);
  let at = 0;
  const primary = (): number => {
    const word = words[at++];
    if (word === "(") {
      const inner = either();
      if (words[at] === ")") at += 1;
      return inner;
    }
    if (words[at]?.toUpperCase() === "WITH") at += 2;
    return DEMANDS.indexOf(demandOfOne(word ?? ""));
  };
  const both = (): number => {
    let demand = primary();
    while (words[at]?.toUpperCase() === "AND") {
      at += 1;
      demand = Math.max(demand, primary());
    }
    return demand;
  };
  const either = (): number => {
    let demand = both();
    while (words[at]?.toUpperCase() === "OR") {
      at += 1;
      demand = Math.min(demand, both());
    }
    return demand;
  };
  const demand = DEMANDS[either()] ?? "unknown";
  return at < words.length ? "unknown" : demand;
}

function demandOfOne(licence: string): Demand {
  const name = licence.replace(/\+$/, "");
  if (PERMISSIVE.test(name)) return "permissive";
  if (WEAK.test(name)) return "weak";
  return STRONG.test(name) ? "strong" : "unknown";
}

async function lockedPackages(root: string, lock: JsonObject): Promise<Package[]> {
  const entries = Object.entries(objectOf(lock["packages"])).filter(([key]) => key.includes("node_modules/"));
  const packages: Package[] = [];
  for (const [key, value] of entries.slice(0, MAX_PACKAGES)) {
    const entry = objectOf(value);
    if (entry["link"] === true) continue;
    // Lock files of npm 6 and older, and packages from elsewhere, state no licence; the installed package may.
    const licence = licenceOf(entry) || licenceOf(await packageJson(join(root, key)));
    const name = textOf(entry["name"]) || key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
    packages.push({
      key,
      name,
      version: textOf(entry["version"]),
      licence,
      dev: entry["dev"] === true || entry["devOptional"] === true,
    });
  }
  return packages;
}

async function installedPackages(root: string): Promise<Package[]> {
  const packages: Package[] = [];
  const waiting = ["node_modules"];
  for (let folder = waiting.pop(); folder !== undefined && packages.length < MAX_PACKAGES; folder = waiting.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    for (const { name } of entries
      .filter((entry) => entry.isDirectory())
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const key = `${folder}/${name}`;
      if (name === ".pnpm") waiting.push(...(await nested(root, key)));
      if (name.startsWith(".")) continue;
      if (name.startsWith("@") && folder.endsWith("node_modules")) {
        waiting.push(key);
        continue;
      }
      const about = await packageJson(join(root, key));
      if (about["version"] === undefined) continue;
      packages.push({
        key,
        name: textOf(about["name"]) || name,
        version: textOf(about["version"]),
        licence: licenceOf(about),
        dev: false,
      });
      waiting.push(`${key}/node_modules`);
    }
  }
  return packages;
}

async function nested(root: string, store: string): Promise<string[]> {
  const entries = await readdir(join(root, store)).catch(() => []);
  return entries.map((entry) => `${store}/${entry}/node_modules`);
}

async function packageJson(folder: string): Promise<JsonObject> {
  try {
    return objectOf(JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Json);
  } catch {
    return {};
  }
}

function licenceOf(about: JsonObject): string {
  const { license, licenses } = about;
  if (typeof license === "string") return license;
  const one = textOf(objectOf(license)["type"]);
  return (
    one ||
    listOf(licenses)
      .map((entry) => textOf(objectOf(entry)["type"]) || textOf(entry))
      .join(" OR ")
  );
}

/** The other way: the lock file is read as text, from the package's key to the next, without understanding it as JSON. */
async function verifyLicences(finding: Finding, repository: Repository): Promise<string[]> {
  const lock =
    finding.details["source"] === "package-lock.json"
      ? ((await repository.read("package-lock.json")) ?? (await readAll(repository)))
      : undefined;
  const wrong: string[] = [];
  for (const { claim } of finding.items) {
    const key = textOf(claim["key"]);
    const found = lock === undefined ? undefined : stated(lock, key);
    const installed = (await readFile(join(repository.root, key, "package.json"), "utf8").catch(() => "")) || undefined;
    const real = found ?? (installed === undefined ? "" : licenceOf(await packageJson(join(repository.root, key))));
    if (lock !== undefined && !lock.includes(`${JSON.stringify(key)}:`))
      wrong.push(`package-lock.json has no ${shown(key)}`);
    else if (real !== claim["licence"])
      wrong.push(`${shown(key)} states ${JSON.stringify(real)}, claimed was ${JSON.stringify(claim["licence"])}`);
  }
  return wrong;
}

async function readAll(repository: Repository): Promise<string> {
  return await readFile(join(repository.root, "package-lock.json"), "utf8");
}

function stated(lock: string, key: string): string | undefined {
  const start = lock.indexOf(`${JSON.stringify(key)}:`);
  const next = lock.indexOf('"node_modules/', start + key.length + 3);
  const entry = lock.slice(start, next < 0 ? undefined : next);
  return /"license":\s*"([^"]*)"/.exec(entry)?.[1];
}
