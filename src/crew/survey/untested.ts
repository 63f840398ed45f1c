import { basename, extname } from "node:path";
import type { Ask, Finding, Item, Survey } from "./finding.ts";
import { counted, place, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { inParallel } from "./repository.ts";
import { findingOf, readRequest } from "./request.ts";
import { isSource, isTest, isTestable, ownSourceFiles } from "./source-files.ts";
import type { Use } from "./test-imports.ts";
import { reachedThrough, testImports } from "./test-imports.ts";

/** So many of the hottest files weigh more when no test knows them. */
const HOTTEST = 5;
/** So many source files are read to see what tests reach through them. */
const MAX_SOURCES = 5000;
/** How `verify` begins the sentence on a claim that does not hold. */
const DISPROVED = "false claim:";

/**
 * Hot source files without a test. Names are compared first, which needs no test file to be read; when the check of an earlier try has
 * disproved that, what the tests import decides.
 */
export const untested: Survey = {
  options: { from: { type: "string" } },
  find: findUntested,
  verify: verifyUntested,
};

async function findUntested(repository: Repository, { options }: Ask): Promise<Finding> {
  const hot = (await findingOf("hot-spots", options["from"])).items.filter(({ file }) => isTestable(file));
  const request = await readRequest();
  const disproved = request?.failed_checks.some(({ output }) => output.includes(DISPROVED)) === true;
  const tests = testFiles(repository);
  const named = byNames(tests, repository.files);
  const imported = disproved
    ? await usesOf(
        repository,
        hot.map(({ file }) => file),
      )
    : undefined;
  const covered = imported === undefined ? named : (path: string): boolean => imported.has(path);
  const through = disproved ? await indirectUses(repository) : new Map<string, string>();
  const judgedOtherwise = hot.filter(({ file }) => covered(file) !== named(file)).length;
  return {
    kind: "untested",
    title: "Hot files without a test of their own",
    revision: repository.head ?? null,
    looked_at: `${counted(hot.length, "hot file")} against ${counted(tests.length, "test file")}, ${disproved ? "by what the tests import or name by path" : "by name"}.`,
    notes: [
      ...(tests.length === 0 && hot.length > 0 ? ["There is no test file at all: every hot file is without one."] : []),
      ...(disproved
        ? [
            `The first try went by names alone and the check disproved it; by imports ${counted(judgedOtherwise, "file")} came out otherwise.`,
          ]
        : []),
    ],
    items: hot.flatMap((item, rank) => (covered(item.file) ? [] : [withoutTest(item, rank, through.get(item.file))])),
    details: { method: disproved ? "imports" : "names", tests: tests.length, judged_otherwise: judgedOtherwise },
  };
}

function testFiles(repository: Repository): string[] {
  return repository.files.filter((path) => isTest(path) && isSource(path));
}

function withoutTest(item: Item, rank: number, through: string | undefined): Item {
  const changing = Number(item.claim["commits"]) > 1;
  const known = through === undefined ? "no test imports or names it" : `tests reach it only through ${place(through)}`;
  return {
    severity: through !== undefined ? "low" : rank < HOTTEST && changing ? "high" : "medium",
    file: item.file,
    text: `${item.text}, and ${known}`,
    claim: { ...item.claim, rank: rank + 1 },
  };
}

/** A file counts as tested when a test is called after it, and after no other source: whose `index.test.ts` is it in a repository of many packages? */
function byNames(tests: readonly string[], files: readonly string[]): (path: string) => boolean {
  const sharing = new Map<string, number>();
  for (const path of files) if (!isTest(path)) sharing.set(basename(path), (sharing.get(basename(path)) ?? 0) + 1);
  const names = new Set(
    tests.map((path) =>
      bareName(path).replace(/^test_|[._-](?:test|spec|e2e|bench)s?$|(?<=.)(?:Test|Tests|Spec)$/g, ""),
    ),
  );
  return (path) => names.has(bareName(path)) && (sharing.get(basename(path)) ?? 0) < 2;
}

function bareName(path: string): string {
  return basename(path, extname(path));
}

/** Where tests import a file or name its path; files may also hold their own tests, as is the custom in Rust. */
async function usesOf(repository: Repository, files: readonly string[]): Promise<Map<string, Use>> {
  const imports = testImports(await texts(repository, testFiles(repository)));
  const uses = new Map<string, Use>();
  for (const path of files) {
    const use = imports.usedBy(path) ?? (path.endsWith(".rs") ? await ownTests(repository, path) : undefined);
    if (use !== undefined) uses.set(path, use);
  }
  return uses;
}

async function indirectUses(repository: Repository): Promise<Map<string, string>> {
  const sources = (await ownSourceFiles(repository)).slice(0, MAX_SOURCES);
  return reachedThrough(await texts(repository, testFiles(repository)), await texts(repository, sources));
}

async function texts(repository: Repository, paths: readonly string[]): Promise<{ path: string; text: string }[]> {
  return await inParallel(paths, async (path) => ({ path, text: (await repository.read(path)) ?? "" }));
}

async function ownTests(repository: Repository, path: string): Promise<Use | undefined> {
  const lines = ((await repository.read(path)) ?? "").split("\n");
  const index = lines.findIndex((line) => line.includes("#[cfg(test)]"));
  return index < 0 ? undefined : { test: path, line: index + 1 };
}

/** The other way: every claim is false for which a test can be pointed at. */
async function verifyUntested(finding: Finding, repository: Repository): Promise<string[]> {
  const uses = await usesOf(
    repository,
    finding.items.map(({ file }) => file),
  );
  return [...uses].map(([file, use]) => `${shown(file)} is imported or named by ${shown(use.test)}:${use.line}`);
}
