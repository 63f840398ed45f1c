import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, ROOT } from "./rig.ts";
import { open } from "./terminal.ts";

/** Roles whose programs report what is given, by their ids. */
function roles(here: Rig, said: Readonly<Record<string, string>>): string {
  const made = Object.entries(said).map(([role_id, summary]) => {
    const answers = here.write(
      `${role_id}.json`,
      JSON.stringify({ instruction: ["report", { status: "completed", summary }] }),
    );
    const cli_command = [process.execPath, join(ROOT, "tests/fixtures/agents/given.mjs"), answers];
    return { role_id, type: "participant", cli_command };
  });
  return here.write("roles.json", JSON.stringify({ roles: made }));
}

const SORTS = `steps:
  - role: ann
    transform: { command: [sh, -c, "touch ran; sort"] }
  - role: ben
`;

/** The words that begin a pipeline whose first step is sorted by a program. */
function sorting(here: Rig, ...more: readonly string[]): string[] {
  const file = here.write("steps.yaml", SORTS);
  return ["pipeline", file, "Sort.", "--roles", roles(here, { ann: "b\na", ben: "Done." }), ...more];
}

const ran = (here: Rig) => existsSync(join(here.workspace, "ran"));

describe("a pipeline with a command", () => {
  it("shows it, runs it on the result and hands on what it prints", async () => {
    const here = rig();
    const { code, stdout, stderr } = await typed(here, sorting(here));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /ASKS the pipeline wants to "have Bosun run: sh -c 'touch ran; sort'"[^]*APPROVED for the session by scheduler/,
    );
    const session_id = await onlySession(here);
    const status = JSON.parse((await typed(here, ["report", session_id, "--json"])).stdout);
    expect(status.checks).toMatchObject([{ ticket_id: "1-ann", passed: true, output: "a\nb" }]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("waits until a person allows it where plans are approved, and runs nothing before", async () => {
    const here = rig();
    const config = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    const waiting = await typed(here, sorting(here, "--config", config, "--no-input"));
    expect([waiting.code, ran(here)]).toEqual([4, false]);
    const session_id = await onlySession(here);
    expect((await typed(here, ["inbox"])).stdout).toContain("have Bosun run: sh -c 'touch ran; sort'");
    const allowed = await typed(here, ["answer", session_id, "p1", "allow", "--resume", "--no-input"]);
    expect([allowed.code, ran(here)]).toEqual([0, true]);
  });

  it("is cancelled if a person denies it", async () => {
    const here = rig();
    const config = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    await typed(here, sorting(here, "--config", config, "--no-input"));
    const denied = await typed(here, ["answer", await onlySession(here), "p1", "deny", "--resume", "--no-input"]);
    expect([denied.code, ran(here)]).toEqual([1, false]);
    expect(denied.stdout).toContain("Its commands were not allowed.");
  });

  it("asks at a terminal if no setting says otherwise", async () => {
    const here = rig();
    const pane = open(here, sorting(here));
    await pane.asks("wants to have Bosun run: sh -c");
    expect(ran(here)).toBe(false);
    pane.type("1", "Enter");
    expect([await pane.exit(), ran(here)]).toEqual([0, true]);
  });
});

describe("bosun pipeline", () => {
  it("lets roles with + between them work at once", async () => {
    const here = rig();
    const said = roles(here, { ann: "Facts.", ben: "For it.", eve: "Against it." });
    const { code, stdout } = await typed(here, ["pipeline", "--steps", "ann,ben+eve", "Weigh.", "--roles", said]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/2-ben:\n +For it\.\n +3-eve:\n +Against it\./);
  });

  it.each([
    ["  - { role: ann, task_template: 'Use {result}' }", /steps\.yaml:2:\d+.*unknown placeholder \{result\}/],
    ["  - { role: ghost }", /steps\.yaml:2:\d+.*"ghost"/],
    ["  - { role: ann, transform: { pointer: a } }", /steps\.yaml:2:\d+/],
    ["  []", /steps\.yaml:2:\d+/],
  ])("refuses %s with its place, and begins nothing", async (step, message) => {
    const here = rig();
    const file = here.write("steps.yaml", `steps:\n${step}\n`);
    const { code, stderr } = await typed(here, ["pipeline", file, "Sort.", "--roles", roles(here, { ann: "a" })]);
    expect([code, here.sessions()]).toEqual([3, []]);
    expect(stderr).toMatch(message);
  });
});
