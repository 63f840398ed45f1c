import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lockPath } from "../../src/store/lock.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

/** Two sessions that a limit has stopped, and the lock of the first. */
async function twoSessions(here: Rig): Promise<string> {
  const plan = here.write(
    "plan.json",
    tinyPlan([
      { task_id: "one", shell: "true" },
      { task_id: "two", shell: "true", dependencies: ["one"] },
    ]),
  );
  for (const session of ["junk", "sound"]) {
    const { code, stderr } = await typed(here, ["run", "--plan", plan, "--session", session, "--budget-turns", "1"]);
    if (code !== 5) throw new Error(`the run ended with ${code}: ${stderr}`);
  }
  const lock = lockPath(here.home, "junk");
  rmSync(lock);
  return lock;
}

describe("a session whose lock is junk", () => {
  it("is shown as not running, and resume names the file in the way", async () => {
    const here = rig();
    const lock = await twoSessions(here);
    writeFileSync(lock, "something else ".repeat(100));
    const listed = await typed(here, ["status", "--all"]);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(/^sound +stopped .*\njunk +stopped /m);
    expect((await typed(here, ["status", "junk"])).stdout).toContain("junk is stopped");
    const resume = ["resume", "junk", "--budget-turns", "9", "--reporter", "silent"];
    const refused = await typed(here, resume);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(lock);
    rmSync(lock);
    expect((await typed(here, resume)).code).toBe(0);
  });

  it.runIf(process.platform === "linux")("does not hide the others if its owner cannot be read", async () => {
    const here = rig();
    const lock = await twoSessions(here);
    // A plain file whose first page is not mapped, so that no user can read it.
    symlinkSync("/proc/self/mem", lock);
    const listed = await typed(here, ["status"]);
    expect(listed.code).toBe(3);
    expect(listed.stdout).toMatch(/^sound +stopped .*\njunk +unknown \(stopped\) /m);
    expect(listed.stderr).toContain(`junk: The database cannot be used: ${lock} (SQLITE_IOERR`);
    const trouble = listed.stderr.trimEnd().slice("junk: ".length);
    const all = await typed(here, ["status", "--all", "--json"]);
    expect(all.code).toBe(3);
    const [sound, junk] = JSON.parse(all.stdout) as object[];
    expect(sound).toMatchObject({ session_id: "sound", state: "stopped", owner: null });
    expect(sound).not.toHaveProperty("trouble");
    expect(junk).toMatchObject({ session_id: "junk", state: "stopped", owner: null, trouble });
  });
});
