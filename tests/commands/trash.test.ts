import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

const listed = async (here: Rig) =>
  (await typedJson<{ session_id: string }[]>(here, ["status", "--all", "--json"])).map(({ session_id }) => session_id);

describe("rm", () => {
  it("hides a closed session from every list and lookup, and --restore brings it back as it was", async () => {
    const here = await closed("s1", "s2");
    const { stdout } = await typed(here, ["rm", "s2"]);
    expect(stdout).toMatch(/s2 is in the trash.*rm --restore s2/s);
    expect(await listed(here)).toEqual(["s1"]);
    const gone = await typed(here, ["status", "s2"]);
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringMatching(/s2 is in the trash.*rm --restore s2/s)]);
    expect((await typed(here, ["report"])).stdout).toContain("s1");
    expect((await typed(here, ["report", "s"])).stdout).toContain("s1");
    expect((await typed(here, ["status", "--all"])).stderr).toBe("");
    expect((await typed(here, ["rebuild"])).stdout).not.toContain("s2");
    expect((await typed(here, ["rm", "--restore", "s"])).stdout).toContain("s2 is back");
    expect(await listed(here)).toEqual(["s2", "s1"]);
    expect((await typed(here, ["replay", "s2", "--verify"])).code).toBe(0);
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
    expect((await typed(here, ["prune", "--purge", "--yes"])).stdout).toMatch(/s1 .*2 sessions deleted for good/s);
    for (const folder of ["trash", "logs", "sessions"]) expect(readdirSync(join(here.home, folder))).toEqual([]);
    expect(readFileSync(databasePath(here.home)).length).toBeLessThan(size);
    expect((await typed(here, ["rm", "--restore", "s1"])).code).toBe(2);
  });

  it.each(TRASH_POINTS)("deletes the rest when it was killed at %s, and shows nothing of it before", async (point) => {
    const here = await closed("s1", "s1.keep");
    expect((await typed(here, ["rm", "s1"])).code).toBe(0);
    expect((await here.run(["prune", "--purge", "--yes"], { env: { BOSUN_CRASH_AT: point } })).signal).toBe("SIGKILL");
    const status = await typed(here, ["status", "--all"]);
    expect([status.code, status.stderr]).toEqual([0, ""]);
    expect(await listed(here)).toEqual(["s1.keep"]);
    const restored = await typed(here, ["rm", "--restore", "s1"]);
    expect([restored.code, restored.stderr]).toEqual([2, expect.stringContaining("prune --purge")]);
    expect((await typed(here, ["prune", "--purge", "--yes"])).code).toBe(0);
    for (const folder of ["logs", "sessions"]) expect(readdirSync(join(here.home, folder))).toEqual(["s1.keep"]);
    expect(readdirSync(join(here.home, "trash"))).toEqual([]);
    expect((await typed(here, ["replay", "s1.keep", "--verify"])).code).toBe(0);
  });
});
