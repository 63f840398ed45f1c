import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, withoutRetries } from "./rig.ts";

const PLAN = tinyPlan([
  { task_id: "survey", shell: "false" },
  { task_id: "digest", shell: "true", dependencies: ["survey"] },
]);

/** A session whose second ticket depends on the first, and never started. */
async function begun(here: Rig): Promise<string> {
  const plan = here.write("plan.json", PLAN);
  const ran = await typed(here, ["run", "--plan", plan, ...withoutRetries(here), "--session", "night-shift"]);
  expect(ran.code).toBe(1);
  return onlySession(here);
}

/** The error of a command that is refused for an unknown name. */
const refused = async (here: Rig, ...args: string[]) => {
  const { code, stdout, stderr } = await typed(here, args);
  const isQuiet = args.includes("--json") ? stdout.startsWith('{"type":"error"') : stdout === "";
  expect([args, code, isQuiet]).toEqual([args, 2, true]);
  return stderr;
};

describe("an unknown ticket", () => {
  it("is refused with the nearest id, also of one that never started", async () => {
    const here = rig();
    const session_id = await begun(here);
    for (const command of ["log", "cancel", "retry", "review"])
      expect(await refused(here, command, session_id, "digst")).toContain("Did you mean digest?");
  });

  it("is refused by replay, unless a record that cannot be read may be about it", async () => {
    const here = rig();
    const session_id = await begun(here);
    const log = join(here.home, "logs", session_id);
    for (const [name, more] of [
      [session_id, []],
      [log, ["--json"]],
    ] as const) {
      expect(await refused(here, "replay", name, "--ticket", "digst", ...more)).toContain("Did you mean digest?");
      expect((await typed(here, ["replay", name, "--ticket", "digest"])).code).toBe(0);
    }
    const none = await typed(here, ["replay", session_id, "--ticket", "digest", "--from", "9999"]);
    expect([none.code, none.stderr]).toEqual([0, expect.stringMatching(/\d+/)]);
    const unreadable = "000003-report.json";
    here.write(`home/logs/${session_id}/${unreadable}`, "junk");
    const listed = await typed(here, ["replay", log, "--ticket", "digst"]);
    expect([listed.code, listed.stdout]).toEqual([6, expect.stringContaining(unreadable)]);
    rmSync(log, { recursive: true });
    expect(await refused(here, "replay", session_id, "--ticket", "digst")).toContain(log);
  });
});

it("an unknown session is refused with the nearest id", async () => {
  const here = rig();
  await begun(here);
  for (const command of ["status", "attach", "resume", "plan", "replay", "stop"])
    expect(await refused(here, command, "nigth-shift")).toContain("Did you mean night-shift?");
});
