import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderOf } from "../../src/copies/copy.ts";
import { recover } from "../../src/copies/recovery.ts";
import { failureOf, value } from "../results.ts";
import { begun, copyFor, inSession, merged, rig } from "./rig.ts";

test("recovery removes what killed git processes left, and copies in which no agent has been", async () => {
  const at = rig();
  await begun(at);
  const { tree } = await copyFor(at, "T1");
  const half = folderOf(at.place, "T2");
  mkdirSync(join(half, "tree"), { recursive: true });
  const repository = join(at.place.folder, "repo.git");
  mkdirSync(join(repository, "objects/ab"), { recursive: true });
  const left = ["refs/bosun/session.lock", "HEAD.lock", "objects/ab/tmp_obj_x", "objects/pack/tmp_pack_x"];
  for (const name of left) writeFileSync(join(repository, name), "");
  const found = value(await recover(at.place, { merged: [], intended: [] }));
  expect(found.leftovers.toSorted()).toEqual(left.map((name) => join(repository, name)).toSorted());
  expect(found.unready).toEqual(["T2"]);
  expect([existsSync(tree), existsSync(half), existsSync(join(repository, "HEAD.lock"))]).toEqual([true, false, false]);
  expect(value(await recover(at.place, { merged: [], intended: [] }))).toEqual({
    leftovers: [],
    unready: [],
    unrecorded: [],
  });
});

test("recovery tells intended merges that the record lacks, and refuses a branch that does not agree with the record", async () => {
  const at = rig();
  await begun(at);
  const [one, two] = [await merged(at, "T1", "echo 1 > one"), await merged(at, "T2", "echo 2 > two")];
  const known = async (merged: string[], intended: string[]) => recover(at.place, { merged, intended });
  expect(value(await known([one, two], [])).unrecorded).toEqual([]);
  expect(value(await known([one], [two])).unrecorded).toEqual([{ ticket_id: "T2", attempt: 1, commit: two }]);
  expect(failureOf(await known([one], []))).toMatchObject({
    code: "verification_failed",
    message: expect.stringContaining(two),
  });
  inSession(at, "update-ref", "refs/bosun/session", one);
  expect(failureOf(await known([one, two], [two]))).toMatchObject({
    code: "verification_failed",
    message: expect.stringContaining(two),
  });
});

test("recovery of a session that has no repository yet finds nothing", async () => {
  expect(value(await recover(rig().place, { merged: [], intended: [] })).leftovers).toEqual([]);
});
