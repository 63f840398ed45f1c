import { basename, extname } from "node:path";
import { counted, type Finding, type Found, type Item, type Options, shown, type Survey } from "./finding.ts";
import { inParallel, type Repository } from "./repository.ts";
import { earlierFindings, wasDisproved } from "./request.ts";
import { isSource, isTest, isTestable, ownSourceFiles } from "./source-files.ts";
import { type SourceText, type Use, usesIn } from "./test-imports.ts";

/** Number of hottest files, in which a missing test weighs more. */
const HOTTEST = 5;
/** Maximum number of source files read to follow imports from the tests. */
const MAX_SOURCES = 5000;

/**
 * Hot source files without a test. The first attempt compares file names, which is fast. If its check finds a false claim, the next attempt follows
 * what the tests import.
 */
export const untested: Survey = { options: {}, find: findUntested, verify: verifyUntested };

async function findUntested(repository: Repository, _options: Options, directory: string): Promise<Found> {
  const hotSpots = (await earlierFindings(directory)).find(({ kind }) => kind === "hot-spots");
  if (hotSpots === undefined) {
    throw new Error("there is no hot-spots.json; make the task depend on the one that finds the hot spots");
  }
  const hot = hotSpots.items.filter(({ file }) => isTestable(file));
  const paths = hot.map(({ file }) => file);
  const tests = testFiles(repository);
  const byImports = await wasDisproved();
  const named = testedByName(tests, repository.files);
  const tested = byImports ? new Set((await usesOf(repository, paths)).keys()) : new Set(paths.filter(named));
  const otherwise = paths.filter((path) => tested.has(path) !== named(path)).length;
  return {
    title: "Hot files without a test",
    looked_at: `${counted(hot.length, "hot file")} and ${counted(tests.length, "test file")}, compared by ${byImports ? "what the tests import" : "name"}.`,
    notes: [
      ...(tests.length === 0 && hot.length > 0 ? ["There is no test file."] : []),
      ...(byImports ? [`Going by imports and not by names changed the result of ${counted(otherwise, "file")}.`] : []),
    ],
    items: hot.flatMap((item, rank) => (tested.has(item.file) ? [] : [withoutTest(item, rank)])),
    details: {},
  };
}

function testFiles(repository: Repository): string[] {
  return repository.files.filter((path) => isTest(path) && isSource(path));
}

function withoutTest({ file, text, claim }: Item, rank: number): Item {
  const changing = Number(claim["commits"]) > 1;
  return {
    severity: rank < HOTTEST && changing ? "high" : "medium",
    file,
    text: `no test uses it; ${text}`,
    claim: {},
  };
}

/** Tells whether a test is named after a source file. A name that several source files share, such as `index`, does not count. */
function testedByName(tests: readonly string[], files: readonly string[]): (path: string) => boolean {
  const sharing = new Map<string, number>();
  for (const path of files) if (!isTest(path)) sharing.set(basename(path), (sharing.get(basename(path)) ?? 0) + 1);
  const affixes = /^test_|[._-](?:test|spec|e2e|bench)s?$|(?<=.)(?:Test|Tests|Spec)$/g;
  const names = new Set(tests.map((path) => basename(path, extname(path)).replace(affixes, "")));
  return (path) => names.has(basename(path, extname(path))) && (sharing.get(basename(path)) ?? 0) < 2;
}

/** Where tests use the files: by an import, by their path in a string, or through other files. */
async function usesOf(repository: Repository, paths: readonly string[]): Promise<Map<string, Use>> {
  const tests = await textsOf(repository, testFiles(repository));
  const own = (await ownSourceFiles(repository)).slice(0, MAX_SOURCES);
  const uses = usesIn(tests, await textsOf(repository, [...new Set([...paths, ...own])]));
  return new Map(
    paths.flatMap((path) => {
      const use = uses.get(path);
      return use === undefined ? [] : [[path, use] as const];
    }),
  );
}

async function textsOf(repository: Repository, paths: readonly string[]): Promise<SourceText[]> {
  return inParallel(paths, async (path) => ({ path, text: (await repository.read(path)) ?? "" }));
}

/** A claim is false if a test uses the file. */
async function verifyUntested({ items }: Finding, repository: Repository): Promise<string[]> {
  const uses = await usesOf(
    repository,
    items.map(({ file }) => file),
  );
  return [...uses].map(([path, { file, line }]) => `${shown(path)} is used by ${shown(file)}:${line}`);
}
