import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandsIn } from "../ui/runner.ts";
import { type Done, jsonLines, rig, tinyPlan, withoutRetries } from "./rig.ts";

const HOSTILE = "printf '%s\\n' '::error::mine' '  ::set-output name=a::b' 'x ##[group]mine' '::stop-commands::x'";

const PLAN = tinyPlan([
  { task_id: "write", shell: `${HOSTILE}; ${HOSTILE} >&2` },
  { task_id: "fail", shell: `${HOSTILE} >&2; exit 1`, dependencies: ["write"] },
]);

const written = ({ stdout, stderr }: Done) => commandsIn(`${stdout}\n${stderr}`);

describe("in a GitHub job", () => {
  it("writes a session as a group, annotations and a summary, and no workflow command of an agent", async () => {
    const here = rig();
    const summary = here.write("summary.md", "# Before\n");
    const env = { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: summary, CI: "true" };
    const args = ["--plan", here.write("plan.json", PLAN), "--yes", ...withoutRetries(here)];
    const ran = await here.run(["run", ...args], { env });
    expect(ran.code).toBe(1);
    const [session_id = ""] = here.sessions();
    expect(written(ran)).toEqual([
      `::group::What happens in ${session_id}`,
      "::endgroup::",
      expect.stringContaining(
        `::error title=${session_id}%3A ticket fail failed::step 1 of 1 ended with exit code 1: fail.`,
      ),
    ]);
    expect(ran.stdout).toContain("shell | ::error::mine");
    const said = readFileSync(summary, "utf8");
    expect(said).toMatch(/^# Before\n## Bosun: s-[a-z2-9]{6} is failed\n/);
    expect(said).toContain("| fail | ❌ failed");
    expect(said).toContain("  t0 --> t1\n");
    for (const word of [["log"], ["log", "fail"], ["log", "fail", "--output"], ["status"], ["replay"]]) {
      const shown = await here.run(word, { env });
      expect(written(shown)).toEqual([]);
    }
  });

  it("uses the named reporter, and leaves JSON unchanged", async () => {
    const here = rig();
    const env = { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: join(here.home, "nowhere", "summary.md") };
    const args = ["run", "--plan", here.write("plan.json", PLAN), "--yes", ...withoutRetries(here)];
    const json = await here.run([...args, "--json"], { env });
    expect(written(json)).toEqual([]);
    const texts = jsonLines<{ type: string; text?: string }>(json.stdout).flatMap(({ text }) => text ?? []);
    expect(texts.some((text) => text.includes("x ##[group]mine"))).toBe(true);
    expect(written(await here.run([...args, "--reporter", "plain"], { env }))).toEqual([]);
    const [, ...others] = written(
      await here.run([...args, "--reporter", "github"], { env: { ...env, GITHUB_ACTIONS: "" } }),
    );
    expect(others.filter((line) => line.startsWith("::warning"))).toEqual([expect.stringContaining("ENOENT")]);
  });
});
