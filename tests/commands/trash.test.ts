import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { databasePath } from "../../src/store/database.ts";
import { TRASH_POINTS } from "../../src/lib/crash-point.ts";
import { typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

/** A home with closed sessions of these names. */
async function closed(...names: string[]): Promise<Rig> {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "echo one > one" }]));
  for (const name of names) expect((await typed(here, ["run", "--plan", plan, "--session", name])).code).toBe(0);
  return here;
}

/** All rows of a session, without the numbers that a database gives them. */
function rowsOf({ home }: Rig, session_id: string): object[] {
  const database = new SqliteDatabase(databasePath(home), { readonly: true });
  const tables = ["records", "state", "artifacts", "inbox", "inbox_outcomes", "sessions"];
  const rows = tables.map((table) =>
    database
      .prepare(`SELECT * FROM ${table} WHERE session = (SELECT session FROM sessions WHERE session_id = ?)`)
      .all(session_id),
  );
  database.close();
  return rows.map((all) => all.map((row) => ({ ...(row as object), session: 0, artifact: 0, epoch: 0 })));
}

const listed = async (here: Rig) =>
  (await typedJson<{ session_id: string }[]>(here, ["status", "--all", "--json"])).map(({ session_id }) => session_id);

describe("rm", () => {
  it("moves a closed session to the trash with all that it has, and --restore brings it back as it was", async () => {
    const here = await closed("s1", "s2");
    const before = rowsOf(here, "s2");
    const files = readdirSync(join(here.home, "logs", "s2"));
    const { stdout } = await typed(here, ["rm", "s2"]);
    expect(stdout).toMatch(/s2 is in the trash.*rm --restore s2/s);
    expect(await listed(here)).toEqual(["s1"]);
    for (const folder of ["logs", "sessions"]) expect(readdirSync(join(here.home, folder))).toEqual(["s1"]);
    const within = await typed(here, ["status", "s2", "--home", join(here.home, "trash", "s2")]);
    expect(within.stdout).toContain("s2 is done");
    // The next session gets the number that the removed one had.
    const plan = join(here.home, "..", "plan.json");
    expect((await typed(here, ["run", "--plan", plan, "--session", "s3"])).code).toBe(0);
    expect((await typed(here, ["rm", "--restore", "s"])).stdout).toContain("s2 is back");
    expect(rowsOf(here, "s2")).toEqual(before);
    expect(readdirSync(join(here.home, "logs", "s2"))).toEqual(files);
    expect((await typed(here, ["replay", "s2", "--verify"])).code).toBe(0);
    expect((await typed(here, ["replay", "s3", "--verify"])).code).toBe(0);
    expect((await typed(here, ["rm", "--restore", "s2"])).code).toBe(2);
  });

  it("refuses a session that is open, and one that a process runs", async () => {
    const here = await closed();
    const plan = here.write("ask.json", ASK);
    expect((await typed(here, ["run", "--plan", plan, "--session", "s1"])).code).toBe(4);
    const { code, stderr } = await typed(here, ["rm", "s1"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/s1 is not closed.*cancel s1/s)]);
    const running = here.start([
      "run",
      "--plan",
      here.write("slow.json", tinyPlan([{ task_id: "a", shell: "cat /dev/zero" }])),
      "--session",
      "s2",
    ]);
    await until("s2 runs", async () => (await typed(here, ["status", "s2"])).stdout.includes("running"));
    expect((await typed(here, ["rm", "s2"])).code).not.toBe(0);
    await typed(here, ["cancel", "s2", "--yes"]);
    await running.done;
  });

  it.each(TRASH_POINTS)(
    "leaves a whole session on one side when it is killed at %s, and the next command finishes",
    async (point) => {
      const here = await closed("s1");
      const back = point === "trash_moved" || point === "trash_emptied";
      if (back) expect((await typed(here, ["rm", "s1"])).code).toBe(0);
      const killed = await here.run(back ? ["rm", "--restore", "s1"] : ["rm", "s1"], {
        env: { BOSUN_CRASH_AT: point },
      });
      expect(killed.signal).toBe("SIGKILL");
      const isThere = point === "trash_copied" || point === "trash_emptied";
      expect(await listed(here)).toEqual(isThere ? ["s1"] : []);
      const status = await typed(here, ["status", "--all"]);
      expect(status.stderr).not.toContain("rebuild");
      if (isThere) expect((await typed(here, ["replay", "s1", "--verify"])).code).toBe(0);
      expect((await typed(here, isThere ? ["rm", "s1"] : ["rm", "--restore", "s1"])).code).toBe(0);
      expect(await listed(here)).toEqual(isThere ? [] : ["s1"]);
      expect(existsSync(join(here.home, "logs", "s1"))).toBe(!isThere);
      expect(readdirSync(join(here.home, "trash")).filter((name) => name !== ".lock")).toEqual(isThere ? ["s1"] : []);
      if (!isThere) expect((await typed(here, ["replay", "s1", "--verify"])).code).toBe(0);
    },
  );
});

describe("prune", () => {
  it("lists with --dry-run, moves what is old enough, and deletes it for good only with --purge", async () => {
    const here = await closed("s1", "s2");
    const dry = await typed(here, ["prune", "--dry-run", "--older-than", "0"]);
    expect(dry.stdout).toMatch(/s1 .*\d kB.*2 sessions would be moved to the trash.*The home takes \d/s);
    expect((await typed(here, ["prune"])).stdout).toContain("0 sessions moved");
    expect(await listed(here)).toEqual(["s2", "s1"]);
    await typed(here, ["prune", "--older-than", "0"]);
    expect(await listed(here)).toEqual([]);
    const refused = await typed(here, ["prune", "--purge"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    const size = readFileSync(databasePath(here.home)).length;
    const purged = await typedJson<{ sessions: object[]; trash_bytes: number }>(here, [
      "prune",
      "--purge",
      "--yes",
      "--json",
    ]);
    expect(purged.sessions).toHaveLength(2);
    expect(readdirSync(join(here.home, "trash"))).toEqual([".lock"]);
    expect(readFileSync(databasePath(here.home)).length).toBeLessThan(size);
    expect((await typed(here, ["rm", "--restore", "s1"])).code).toBe(2);
  });
});
