import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { foreignCrew, jsonLines, rig } from "./rig.ts";

const LIST = `# Rate limits

- [x] Decide on the limits
- [ ] Write the limiter (after: decide on the limits)
  It counts per key. \`touch ran\`
- [ ] Document it (depends on write the limiter)
`;

const ISSUES = JSON.stringify([
  { number: 7, title: "Refuse", body: "Blocked by #5.\n$(touch ran)", labels: [] },
  { number: 5, title: "Count", body: null, labels: [{ name: "bug" }] },
]);

interface LogRecord {
  readonly payload_type: string;
  readonly source: string;
  readonly payload: { readonly input?: object; readonly summary?: string; readonly tasks?: readonly object[] };
}

describe("a list of tasks or issues as the plan", () => {
  it("is shown for approval, and then instructed by the manager", async () => {
    const here = rig();
    const list = here.write("tasks.md", LIST);
    const run = ["run", "--plan", list, ...foreignCrew(), "--ask-plan", "--no-input", "--session", "s1"];
    expect((await typed(here, run)).code).toBe(4);
    const { stdout } = await typed(here, ["plan", "s1"]);
    for (const shown of ["write-the-limiter", "document-it", "It counts per key.", "Left out, as done"])
      expect(stdout).toContain(shown);
    expect((await typed(here, ["plan", "s1", "--approve", "--resume", "--no-input"])).code).toBe(0);
    const records = jsonLines<LogRecord>((await typed(here, ["replay", "s1", "--json"])).stdout);
    expect(records.find(({ payload_type }) => payload_type === "session_opened")?.payload.input).toEqual({
      plan_given: true,
      plan_digest: expect.stringMatching(/^sha256:/),
      plan_source: { format: "markdown", file: list },
    });
    expect(records.filter(({ payload_type }) => payload_type === "plan").map(({ source }) => source)).toEqual(["user"]);
    const instructed = records.filter(({ payload_type }) => payload_type === "instruction");
    expect(instructed.map(({ source, payload }) => [source, payload.summary?.split("\n")[0]])).toEqual([
      ["manager", "Write the limiter (after: decide on the limits)"],
      ["manager", "Document it (depends on write the limiter)"],
    ]);
    expect((await typed(here, ["replay", "s1", "--verify"])).code).toBe(0);
    // The same list under another name is the same plan.
    const renamed = run.with(2, here.write("renamed.md", LIST));
    expect((await typed(here, renamed)).code).toBe(0);
    expect(await typed(here, run.with(2, here.write("other.md", LIST.replace("Document", "Test"))))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("other inputs: plan."),
    });
  });

  it("is read from standard input, and nothing in it is run", async () => {
    const here = rig();
    const ran = await here.run(["run", "--plan", "-", ...foreignCrew(), "--reporter", "plain"], { input: ISSUES });
    expect(ran).toMatchObject({ code: 0 });
    const exported = (await here.run(["plan", await onlySession(here), "--export", "-"])).stdout;
    expect(exported).toMatch(/task_id: issue-7\n(?:.*\n)*?.*dependencies:\n\s+- issue-5\n/);
    expect(() => readFileSync(join(here.workspace, "ran"))).toThrow("ENOENT");
  });

  it("needs a manager that can instruct", async () => {
    const here = rig();
    const ran = await typed(here, ["run", "--plan", here.write("issues.json", ISSUES), "--no-input"]);
    expect([ran.code, ran.stderr]).toEqual([
      3,
      expect.stringMatching(/instruct the tasks of .*issues\.json.*\n.*--manager CMD/),
    ]);
    expect(here.sessions()).toEqual([]);
  });

  it("is refused with its cycle, at the first entry of it", async () => {
    const here = rig();
    const text = "- [ ] one\n- [ ] two (after: three)\n- [ ] three (after: two)\n";
    const ran = await typed(here, ["run", "--plan", here.write("tasks.md", text), ...foreignCrew()]);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringMatching(/tasks\.md:2:1: .*two -> three -> two/)]);
    expect(here.sessions()).toEqual([]);
  });
});
