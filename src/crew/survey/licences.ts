import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { counted, type Finding, type Found, type Item, shown, type Survey } from "./finding.ts";
import { lineAt, readJson, type Repository } from "./repository.ts";

const LOCK = "package-lock.json";
const MAX_PACKAGES = 50_000;
/** Real expressions are shorter, and a hostile one could nest without end. */
const MAX_EXPRESSION = 300;
const SHOWN_LICENCES = 12;

const PERMISSIVE =
  /^(?:MIT(?:-0)?|Apache-2\.0|ISC|0BSD|BSD-[1234]-Clause.*|BSD|Unlicense|CC0-1\.0|CC-BY-[34]\.0|Python-2\.0(?:\.1)?|PSF-2\.0|Zlib|BlueOak-1\.0\.0|WTFPL|BSL-1\.0|Artistic-2\.0|Unicode-.*|X11|AFL-.*|OFL-1\.1|PostgreSQL|NCSA|libpng.*)$/i;
const WEAK = /^(?:LGPL|MPL|EPL|CDDL|CPL|MS-RL|EUPL|CC-BY-SA)/i;
const STRONG = /^(?:A?GPL|SSPL|OSL|RPL|CC-BY-NC|BUSL|Elastic)/i;

/** What a licence demands of a product that contains the package, from least to most. */
const DEMANDS = ["permissive", "weak", "strong", "unknown"] as const;
type Demand = (typeof DEMANDS)[number];

interface Package {
  /** Its key in the lock file. */
  readonly key: string;
  readonly name: string;
  readonly licence: string;
  readonly dev: boolean;
}

/** Dependencies in package-lock.json whose licence is unknown or makes demands. Development dependencies are not passed on, and only counted. */
export const licences: Survey = { options: {}, find: findLicences, verify: verifyLicences };

async function findLicences(repository: Repository): Promise<Found> {
  const lock = await readJson(repository, LOCK);
  const packages = lock === undefined ? [] : await lockedPackages(repository, lock.value);
  const counts = new Map<string, number>();
  for (const { licence } of packages) counts.set(licence || "unknown", (counts.get(licence || "unknown") ?? 0) + 1);
  const summary = [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, SHOWN_LICENCES)
    .map(([name, count]) => `${count} ${name}`);
  const unclear = packages.filter(({ dev, licence }) => dev && /strong|unknown/.test(demandOf(licence))).length;
  return {
    title: "Licences of the dependencies",
    looked_at:
      packages.length === 0
        ? `No dependency: ${LOCK} is missing or holds no packages.`
        : `${counted(packages.length, "dependency").replace(/ys$/, "ies")} in ${LOCK}: ${summary.join(", ")}${counts.size > SHOWN_LICENCES ? ", …" : ""}.`,
    notes: [
      ...(packages.length === MAX_PACKAGES ? [`Only the first ${MAX_PACKAGES} packages were read.`] : []),
      ...(unclear > 0 ? [`${unclear} for development only have an unknown or demanding licence.`] : []),
    ],
    items: packages.flatMap((entry) => {
      const item = entry.dev ? undefined : judge(entry);
      const line = lineAt(lock?.text ?? "", `${JSON.stringify(entry.key)}:`);
      return item === undefined ? [] : [{ ...item, file: LOCK, ...(line === undefined ? {} : { line }) }];
    }),
    details: {},
  };
}

async function lockedPackages(repository: Repository, lock: JsonObject): Promise<Package[]> {
  const entries = Object.entries(objectOf(lock["packages"]))
    .map(([key, value]) => ({ key, entry: objectOf(value) }))
    .filter(({ key, entry }) => key.includes("node_modules/") && entry["link"] !== true);
  const packages: Package[] = [];
  for (const { key, entry } of entries.slice(0, MAX_PACKAGES)) {
    const name = textWithin(entry["name"]) || key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
    packages.push({
      key,
      name: `${name}@${textWithin(entry["version"])}`,
      // If the lock file states none, the installed package may.
      licence: licenceIn(entry) || (await installedLicence(repository, key)),
      dev: entry["dev"] === true || entry["devOptional"] === true,
    });
  }
  return packages;
}

async function installedLicence({ root }: Repository, key: string): Promise<string> {
  try {
    return licenceIn(objectOf(JSON.parse(await readFile(join(root, key, "package.json"), "utf8")) as Json));
  } catch {
    return "";
  }
}

function licenceIn({ license, licenses }: JsonObject): string {
  if (typeof license === "string") return license;
  const several = listOf(licenses).map((entry) => textWithin(objectOf(entry)["type"]) || textWithin(entry));
  return textWithin(objectOf(license)["type"]) || several.join(" OR ");
}

function judge({ key, name, licence }: Package): Omit<Item, "file"> | undefined {
  const demand = demandOf(licence);
  if (demand === "permissive") return undefined;
  const what = {
    weak: `its licence ${shown(licence)} asks to publish changes to it`,
    strong: `its licence ${shown(licence)} is copyleft or restricts use`,
    unknown: licence === "" ? "it states no licence" : `its licence ${shown(licence)} is not a known one`,
  }[demand];
  return {
    severity: demand === "weak" ? "low" : "high",
    text: `${shown(name)}: ${what}`,
    claim: { key, licence },
  };
}

/** The demand of an SPDX expression: the least of alternatives, the most of licences that apply together. */
function demandOf(expression: string): Demand {
  if (expression.length > MAX_EXPRESSION) return "unknown";
  const words = expression.replace(/[()]/g, " $& ").split(/\s+/).filter(Boolean);
  const take = (wanted: string): boolean => {
    const found = words[0]?.toUpperCase() === wanted;
    if (found) words.shift();
    return found;
  };
  const one = (): number => {
    if (take("(")) {
      const inner = alternatives();
      take(")");
      return inner;
    }
    const demand = DEMANDS.indexOf(demandOfOne(words.shift() ?? ""));
    if (take("WITH")) words.shift();
    return demand;
  };
  const together = (): number => {
    const demand = one();
    return take("AND") ? Math.max(demand, together()) : demand;
  };
  const alternatives = (): number => {
    const demand = together();
    return take("OR") ? Math.min(demand, alternatives()) : demand;
  };
  const demand = DEMANDS[alternatives()] ?? "unknown";
  return words.length === 0 ? demand : "unknown";
}

function demandOfOne(licence: string): Demand {
  const name = licence.replace(/\+$/, "");
  if (PERMISSIVE.test(name)) return "permissive";
  if (WEAK.test(name)) return "weak";
  return STRONG.test(name) ? "strong" : "unknown";
}

/** Reads the lock file as plain text, from the package's key to the next one. */
async function verifyLicences({ items }: Finding, repository: Repository): Promise<string[]> {
  const lock = (await readJson(repository, LOCK))?.text ?? "";
  const wrong: string[] = [];
  for (const { claim } of items) {
    const key = textWithin(claim["key"]);
    const start = lock.indexOf(`${JSON.stringify(key)}:`);
    const next = lock.indexOf('"node_modules/', start + key.length + 3);
    const entry = lock.slice(start, next < 0 ? undefined : next);
    const stated = /"license":\s*"([^"]*)"/.exec(entry)?.[1] ?? (await installedLicence(repository, key));
    if (start < 0) wrong.push(`${LOCK} has no ${shown(key)}`);
    else if (stated !== claim["licence"]) {
      wrong.push(`${shown(key)} states ${JSON.stringify(stated)}, not ${JSON.stringify(claim["licence"])}`);
    }
  }
  return wrong;
}
