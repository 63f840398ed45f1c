import { type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import { counted, type Finding, type Found, type Item, shown } from "./finding.ts";
import { lineAt, readJson, type Repository } from "./repository.ts";

const LOCK = "package-lock.json";
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

type Package = ReturnType<typeof lockedPackages>[number];

/** Dependencies in package-lock.json whose licence is unknown or makes demands. Development dependencies are not passed on, and only counted. */
export function find(repository: Repository): Found {
  const lock = readJson(repository, LOCK);
  const packages = lockedPackages(repository, lock?.value ?? {});
  const counts = Map.groupBy(packages, ({ licence }) => licence || "unknown");
  const summary = [...counts]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, SHOWN_LICENCES)
    .map(([name, own]) => `${own.length} ${name}`);
  const unclear = packages.filter(({ dev, licence }) => dev && /strong|unknown/.test(demandOf(licence))).length;
  return {
    title: "Licences of the dependencies",
    looked_at:
      packages.length === 0
        ? `No dependency: ${LOCK} is missing or holds no packages.`
        : `${counted(packages.length, "dependency")} in ${LOCK}: ${summary.join(", ")}${counts.size > SHOWN_LICENCES ? ", …" : ""}.`,
    notes: unclear > 0 ? [`${unclear} for development only have an unknown or demanding licence.`] : [],
    items: packages.flatMap((entry) => (entry.dev ? [] : judge(entry, lock?.text ?? ""))),
  };
}

/** The dependencies, by their keys in the lock file. */
function lockedPackages(repository: Repository, lock: JsonObject) {
  const entries = Object.entries(objectOf(lock["packages"]))
    .map(([key, value]) => ({ key, entry: objectOf(value) }))
    .filter(({ key, entry }) => key.includes("node_modules/") && entry["link"] !== true);
  return entries.map(({ key, entry }) => {
    const name = textWithin(entry["name"]) || key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
    return {
      key,
      name: `${name}@${textWithin(entry["version"])}`,
      // If the lock file states none, the installed package may.
      licence: licenceIn(entry) || installedLicence(repository, key),
      dev: entry["dev"] === true || entry["devOptional"] === true,
    };
  });
}

function installedLicence(repository: Repository, key: string): string {
  return licenceIn(readJson(repository, `${key}/package.json`)?.value ?? {});
}

function licenceIn({ license, licenses }: JsonObject): string {
  if (typeof license === "string") return license;
  const several = listOf(licenses).map((entry) => textWithin(objectOf(entry)["type"]) || textWithin(entry));
  return textWithin(objectOf(license)["type"]) || several.join(" OR ");
}

function judge({ key, name, licence }: Package, lock: string): Item[] {
  const demand = demandOf(licence);
  if (demand === "permissive") return [];
  const what = {
    weak: `its licence ${shown(licence)} asks to publish changes to it`,
    strong: `its licence ${shown(licence)} is copyleft or restricts use`,
    unknown: licence === "" ? "it states no licence" : `its licence ${shown(licence)} is not a known one`,
  }[demand];
  return [
    {
      severity: demand === "weak" ? "low" : "high",
      file: LOCK,
      line: lineAt(lock, `${JSON.stringify(key)}:`),
      text: `${shown(name)}: ${what}`,
      claim: { key, licence },
    },
  ];
}

/** The demand of an SPDX expression: the least of alternatives, the most of licences that apply together. */
function demandOf(expression: string): Demand {
  if (expression.length > MAX_EXPRESSION) return "unknown";
  const opened = expression.replace(/\(([^()]*)\)/g, (_, inner: string) => ` ${demandOf(inner)} `);
  if (opened !== expression) return demandOf(opened);
  const demands = expression.split(/\sOR\s/i).map((alternative) => {
    const together = alternative.split(/\sAND\s/i);
    return Math.max(...together.map((licence) => DEMANDS.indexOf(demandOfOne(licence.trim()))));
  });
  return DEMANDS[Math.min(...demands)] ?? "unknown";
}

/** The demand of one licence, or of a part of an expression that is judged already. */
function demandOfOne(licence: string): Demand {
  const name = licence.replace(/\sWITH\s.*$/i, "").replace(/\+$/, "");
  if (PERMISSIVE.test(name)) return "permissive";
  if (WEAK.test(name)) return "weak";
  return STRONG.test(name) ? "strong" : (DEMANDS.find((demand) => demand === name) ?? "unknown");
}

/** Reads the lock file as plain text, from the package's key to the next one. */
export function verify({ items }: Finding, repository: Repository): string[] {
  const lock = repository.readWhole(LOCK) ?? "";
  return items.flatMap(({ claim }) => {
    const key = textWithin(claim["key"]);
    const start = lock.indexOf(`${JSON.stringify(key)}:`);
    if (start < 0) return [`${LOCK} has no ${shown(key)}`];
    const next = lock.indexOf('"node_modules/', start + key.length + 3);
    const entry = lock.slice(start, next < 0 ? undefined : next);
    const stated = /"license":\s*"([^"]*)"/.exec(entry)?.[1] ?? installedLicence(repository, key);
    if (stated === claim["licence"]) return [];
    return [`${shown(key)} states ${JSON.stringify(stated)}, not ${JSON.stringify(claim["licence"])}`];
  });
}
