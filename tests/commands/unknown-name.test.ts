import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

const PLAN = tinyPlan([
  { task_id: "survey", shell: "false" },
  { task_id: "digest", shell: "true", dependencies: ["survey"] },
]);

/** A session whose second ticket waits for the first, and was never worked on. */
async function begun(here: Rig): Promise<string> {
  const settings = here.write("config.json", JSON.stringify({ max_retries: 0, max_escalations: 0 }));
  const plan = here.write("plan.json", PLAN);
  const ran = await typed(here, ["run", "--plan", plan, "--config", settings, "--session", "night-shift"]);
  expect(ran.code).toBe(1);
  return onlySession(here);
}

const told = async (here: Rig, ...args: string[]) => {
  const { code, stdout, stderr } = await typed(here, args);
  return { code, stdout, said: stderr.split("\n")[0] };
};

describe("a ticket that there is not", () => {
  it("is told with the nearest, be it of one that nobody has worked on yet", async () => {
    const here = rig();
    const session_id = await begun(here);
    const said = `Error: The session ${session_id} has no ticket "digst". Did you mean digest?`;
    for (const command of ["log", "cancel", "retry", "review"])
      expect(await told(here, command, session_id, "digst")).toEqual({ code: 2, stdout: "", said });
  });

  it("has no records: replay says so, and shows those that a filter chooses of one that there is", async () => {
    const here = rig();
    const session_id = await begun(here);
    const log = join(here.home, "logs", session_id);
    for (const [name, more] of [
      [session_id, []],
      [log, ["--json"]],
    ] as const) {
      const said = `Error: ${name} has no ticket "digst". Did you mean digest?`;
      expect(await told(here, "replay", name, "--ticket", "digst", ...more)).toEqual({ code: 2, stdout: "", said });
      expect((await told(here, "replay", name, "--ticket", "digest")).code).toBe(0);
    }
    const none = await told(here, "replay", session_id, "--ticket", "digest", "--from", "9999");
    expect(none).toMatchObject({ code: 0, said: expect.stringMatching(/^None of its \d+ records/) as string });
    // What cannot be read may be about it.
    here.write(`home/logs/${session_id}/000003-report.json`, "junk");
    expect(await told(here, "replay", log, "--ticket", "digst")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("cannot be read") as string,
    });
    rmSync(log, { recursive: true });
    expect((await told(here, "replay", session_id, "--ticket", "digst")).said).toMatch(
      /^Error: There is no log folder /,
    );
  });
});

it("a session that there is not is told with the nearest", async () => {
  const here = rig();
  await begun(here);
  const said = 'Error: There is no session "nigth-shift" in this home. Did you mean night-shift?';
  for (const command of ["status", "attach", "resume", "plan", "replay", "stop"])
    expect(await told(here, command, "nigth-shift")).toEqual({ code: 2, stdout: "", said });
});
