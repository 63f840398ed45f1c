import { rmSync } from "node:fs";
import { join } from "node:path";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { changesBetween, treeRestoring } from "./objects.ts";
import { own, type Place, tried } from "./place.ts";

/** Files of tests, by the usual names of many languages. */
const TESTS =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|(?:^|[./_-])(?:test|spec)s?\.[^/]+$|_(?:test|spec)\.[^/]+$|(?:^|\/)test_[^/]+$/i;

/** Existing tests that work changes or removes, and a tree of the work in which they are as they were. Undefined if there are none. */
export function withTestsOf(
  place: Place,
  base: string,
  work: string,
): Promise<Fallible<{ readonly files: readonly string[]; readonly tree: string } | undefined>> {
  return tried("The tests of the base cannot be put back", place.folder, async () => {
    const changes = await changesBetween(place, base, work);
    const files = changes.flatMap(({ path, kind }) => (kind !== "A" && TESTS.test(path) ? [path] : []));
    if (files.length === 0) return ok(undefined);
    const index = join(place.folder, "index.tests");
    for (const file of [index, `${index}.lock`]) rmSync(file, { force: true });
    await own(place, ["read-tree", work], { index });
    const tree = await treeRestoring(place, { index }, base, files);
    rmSync(index, { force: true });
    return ok({ files, tree });
  });
}
