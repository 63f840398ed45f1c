import { type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import { counted, type Finding, type Found, type Item, type Severity, shown } from "./finding.ts";
import { entryIn, LOCK } from "./lockfile.ts";
import { lineAt, readJson, type Repository } from "./repository.ts";

/** Real expressions are shorter, and a hostile one could nest without end. */
const MAX_EXPRESSION = 300;
const SHOWN_LICENCES = 12;

/** What licences demand of a product that contains the package, from least to most, and what a finding says of them. */
const DEMANDS: readonly { readonly licences: RegExp; readonly severity?: Severity; readonly says?: string }[] = [
  {
    licences:
      /^(?:MIT(?:-0)?|Apache-2\.0|ISC|0BSD|BSD-[1234]-Clause.*|BSD|Unlicense|CC0-1\.0|CC-BY-[34]\.0|Python-2\.0(?:\.1)?|PSF-2\.0|Zlib|BlueOak-1\.0\.0|WTFPL|BSL-1\.0|Artistic-2\.0|Unicode-.*|X11|AFL-.*|OFL-1\.1|PostgreSQL|NCSA|libpng.*)$/i,
  },
  {
    licences: /^(?:LGPL|MPL|EPL|CDDL|CPL|MS-RL|EUPL|CC-BY-SA)/i,
    severity: "low",
    says: "asks to publish changes to it",
  },
  {
    licences: /^(?:A?GPL|SSPL|OSL|RPL|CC-BY-NC|BUSL|Elastic)/i,
    severity: "high",
    says: "is copyleft or restricts use",
  },
  { licences: /^/, severity: "high", says: "is not a known one" },
];

/** Dependencies in package-lock.json whose licence is unknown or makes demands. Development dependencies are not passed on, and only counted. */
export function find(repository: Repository): Found {
  const lock = readJson(repository, LOCK);
  const packages = lockedPackages(lock?.value ?? {});
  const counts = Map.groupBy(packages, ({ licence }) => licence || "unknown");
  const summary = [...counts]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, SHOWN_LICENCES)
    .map(([name, own]) => `${own.length} ${name}`);
  const unclear = packages.filter(({ isDevelopment, licence }) => isDevelopment && demandOf(licence) > 1).length;
  const development = unclear > 0 ? `; ${unclear} for development only have an unknown or demanding licence` : "";
  return {
    title: "Licences of the dependencies",
    looked_at:
      packages.length === 0
        ? `No dependency: ${LOCK} is missing or holds no packages.`
        : `${counted(packages.length, "dependency")} in ${LOCK}: ${summary.join(", ")}${development}.`,
    notes: [],
    items: packages.flatMap(({ key, name, licence, isDevelopment }): Item[] => {
      const { severity, says = "" } = DEMANDS[demandOf(licence)] ?? {};
      if (isDevelopment || severity === undefined) return [];
      const what = licence === "" ? "the lock file states no licence" : `its licence ${shown(licence)} ${says}`;
      const line = lineAt(lock?.text ?? "", `${JSON.stringify(key)}:`);
      return [{ severity, file: LOCK, line, text: `${shown(name)}: ${what}`, claim: { key, licence } }];
    }),
  };
}

/** The dependencies, by their keys in the lock file. */
function lockedPackages(lock: JsonObject) {
  return Object.entries(objectOf(lock["packages"]))
    .map(([key, value]) => ({ key, entry: objectOf(value) }))
    .filter(({ key, entry }) => key.includes("node_modules/") && entry["link"] !== true)
    .map(({ key, entry }) => {
      const name = textOf(entry["name"]) || key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
      return {
        key,
        name: `${name}@${textOf(entry["version"])}`,
        licence: textOf(entry["license"]),
        isDevelopment: entry["dev"] === true || entry["devOptional"] === true,
      };
    });
}

/** The number of an SPDX expression's demand: the least of alternatives, the most of licences that apply together. */
function demandOf(expression: string): number {
  if (expression.length > MAX_EXPRESSION) return DEMANDS.length - 1;
  const opened = expression.replace(/\(([^()]*)\)/g, (_, inner: string) => ` ${demandOf(inner)} `);
  if (opened !== expression) return demandOf(opened);
  const alternatives = expression.split(/\sOR\s/i).map((alternative) => alternative.split(/\sAND\s/i));
  return Math.min(...alternatives.map((together) => Math.max(...together.map(demandOfOne))));
}

/** The demand of one licence, or of a part of an expression that is its number already. */
function demandOfOne(licence: string): number {
  const name = licence.trim().replace(/(?:\sWITH\s.*|\+)$/i, "");
  return /^[0-3]$/.test(name) ? Number(name) : DEMANDS.findIndex(({ licences }) => licences.test(name));
}

/** Reads the lock file as plain text. */
export function verify({ items }: Finding, repository: Repository): string[] {
  const lock = repository.readWhole(LOCK) ?? "";
  return items.flatMap(({ claim }) => {
    const [key, licence] = [textOf(claim["key"]), textOf(claim["licence"])];
    const entry = entryIn(lock, key);
    if (entry === undefined) return [`${LOCK} has no ${shown(key)}`];
    const stated = /"license":\s*"([^"]*)"/.exec(entry)?.[1] ?? "";
    return stated === licence ? [] : [`${shown(key)} states ${JSON.stringify(stated)}, not ${JSON.stringify(licence)}`];
  });
}
