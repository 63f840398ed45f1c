import { basename, extname } from "node:path";
import { counted, type Finding, type Found, type Item, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { earlierFindings, wasDisproved } from "./request.ts";
import { isSource, isTest, isTestable, ownSourceFiles } from "./source-files.ts";
import { type Use, usesIn } from "./test-imports.ts";

/** Number of hottest files, in which a missing test weighs more. */
const HOTTEST = 5;
/** Maximum number of source files read to follow imports from the tests. */
const MAX_SOURCES = 5000;

/**
 * Hot source files without a test. The first attempt compares file names, which is fast. If its check finds a false claim, the next attempt follows
 * what the tests import.
 */
export async function find(repository: Repository, directory: string): Promise<Found> {
  const hotSpots = (await earlierFindings(directory)).find(({ kind }) => kind === "hot-spots");
  if (hotSpots === undefined) {
    throw new Error("there is no hot-spots.json; make the task depend on the one that finds the hot spots");
  }
  const hot = hotSpots.items.filter(({ file }) => isTestable(file));
  const paths = hot.map(({ file }) => file);
  const tests = testFiles(repository);
  const byImports = wasDisproved();
  const named = testedByName(tests, repository.files);
  const tested = byImports ? await usesOf(repository, paths) : new Set(paths.filter(named));
  const otherwise = paths.filter((path) => tested.has(path) !== named(path)).length;
  return {
    title: "Hot files without a test",
    looked_at: `${counted(hot.length, "hot file")} and ${counted(tests.length, "test file")}, compared by ${byImports ? "what the tests import" : "name"}.`,
    notes: [
      ...(tests.length === 0 && hot.length > 0 ? ["There is no test file."] : []),
      ...(byImports ? [`Going by imports and not by names changed the result of ${counted(otherwise, "file")}.`] : []),
    ],
    items: hot.flatMap(({ file, text, claim }, rank): Item[] => {
      if (tested.has(file)) return [];
      const severity = rank < HOTTEST && Number(claim["commits"]) > 1 ? "high" : "medium";
      return [{ severity, file, text: `no test uses it; ${text}`, claim: {} }];
    }),
  };
}

function testFiles(repository: Repository): string[] {
  return repository.files.filter((path) => isTest(path) && isSource(path));
}

/** Tells whether a test is named after a source file. A name that several source files share, such as `index`, does not count. */
function testedByName(tests: readonly string[], files: readonly string[]): (path: string) => boolean {
  const sharing = Map.groupBy(
    files.filter((path) => !isTest(path)),
    (path) => basename(path),
  );
  const affixes = /^test_|[._-](?:test|spec|e2e|bench)s?$|(?<=.)(?:Test|Tests|Spec)$/g;
  const names = new Set(tests.map((path) => basename(path, extname(path)).replace(affixes, "")));
  return (path) => names.has(basename(path, extname(path))) && (sharing.get(basename(path)) ?? []).length < 2;
}

/** Where tests use the files: by an import, by their path in a string, or through other files. */
async function usesOf(repository: Repository, paths: readonly string[]): Promise<Map<string, Use>> {
  const textsOf = (files: readonly string[]) => files.map((path) => ({ path, text: repository.read(path) ?? "" }));
  const own = (await ownSourceFiles(repository)).slice(0, MAX_SOURCES);
  const uses = usesIn(textsOf(testFiles(repository)), textsOf([...new Set([...paths, ...own])]));
  return new Map([...uses].filter(([path]) => paths.includes(path)));
}

/** A claim is false if a test uses the file. */
export async function verify({ items }: Finding, repository: Repository): Promise<string[]> {
  const files = items.map(({ file }) => file);
  const uses = await usesOf(repository, files);
  return files.flatMap((path) => {
    const use = uses.get(path);
    return use === undefined ? [] : [`${shown(path)} is used by ${shown(use.file)}:${use.line}`];
  });
}
