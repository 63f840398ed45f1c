import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { built } from "../built.ts";
import { typed } from "./in-process.ts";
import { rig, ROOT } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

/** Runs an example in a folder of its own, from another one and without a key. Returns what it printed, and the session in the words of seed 2. */
async function ran(file: string) {
  const here = endAfterwards(rig());
  const env = { ...here.environment, BOSUN_HOME: here.home, BOSUN_PROGRAM: built("bin.js") };
  const words = [join(ROOT, "examples", "seed2", file), here.workspace];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env, cwd: tmpdir() });
  const [session_id = ""] = here.sessions();
  expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  const status = JSON.parse((await typed(here, ["status", session_id, "--json"])).stdout);
  const report = JSON.parse((await typed(here, ["report", session_id, "--json"])).stdout);
  expect(report.projection).toEqual(status.projection);
  return { stdout, state: status.projection };
}

test("the example of a pipeline hands summaries and points on, and ends with the report", async () => {
  const { stdout, state } = await ran("05-pipeline.mjs");
  expect(stdout).toMatch(/1-researcher +done[^]*2-analyst +done[^]*3-writer +done/);
  expect(state).toMatchObject({
    task: "帮我研究 AI Agent 的最新发展趋势，写一篇分析报告",
    results: { writer: expect.stringMatching(/^# AI Agent 发展趋势/) },
    status: "done",
    current_step: 3,
    max_steps: 3,
  });
});

test("the example of an orchestration carries out a plan of four steps, changes it once, and ranks the cities", async () => {
  const { stdout, state } = await ran("06-orchestrate.mjs");
  expect(stdout).toContain("the plan changed 1 of at most 3 times");
  expect(state).toMatchObject({
    task: "对比北京、上海、深圳三个城市的宜居性，给出排名和理由",
    status: "done",
    current_step: 5,
    max_steps: 6,
    replans_left: 2,
  });
  const standing = state.steps.map(({ status }: { status: string }) => status);
  expect(standing).toEqual(["done", "done", "skipped", "skipped", "done", "done", "done"]);
  expect(stdout).toContain("# 三城宜居性排名");
});

test("the example of a debate holds a round of rebuttals, and its judge concludes", async () => {
  const { stdout, state } = await ran("07-debate.mjs");
  expect(stdout).toContain("after 2 of 2 rounds");
  expect(state).toMatchObject({
    task: "Python vs Go，哪个更适合开发微服务？",
    plan: [],
    results: { judge: expect.stringContaining("按服务选择"), go_expert: expect.stringContaining("Go") },
    status: "done",
    current_step: 2,
    max_steps: 2,
  });
  expect(state.messages).toHaveLength(8);
});
