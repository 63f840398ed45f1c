import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { built } from "../built.ts";
import { typed } from "./in-process.ts";
import { rig, ROOT } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

test("the demo of a meeting builds its agents, argues, reports and verifies without a key", async () => {
  const here = endAfterwards(rig());
  const env = { ...here.environment, BOSUN_HOME: here.home, BOSUN_PROGRAM: built("bin.js") };
  const words = [join(ROOT, "examples", "meeting", "run.mjs"), here.workspace];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  expect(readdirSync(join(here.workspace, "agents")).toSorted()).toEqual([
    "architect.json",
    "business_analyst.json",
    "devops.json",
  ]);
  const [report = ""] = readdirSync(join(here.workspace, "reports"));
  expect(readFileSync(join(here.workspace, "reports", report), "utf8")).toMatch(/^# 是否从 PostgreSQL 迁移到 MongoDB/);
  expect(stdout).toMatch(/architect +heard[^]*business_analyst +heard[^]*devops +heard/);
  const [session_id = ""] = here.sessions();
  expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
});
