import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWithPackage } from "../../installed.ts";
import { ROOT } from "../../sources.ts";

const MODE = "examples/modes/poll.ts";
const HOST = "tests/kernel/kit/host.ts";

it("a program of its own runs a mode of its own, dies, resumes and proves what was decided", () => {
  const folder = folderWithPackage(MODE, HOST);
  const home = join(folder, "home");
  mkdirSync(home);
  const host = (what: string) => spawnSync(process.execPath, [HOST, home, what], { cwd: folder, encoding: "utf8" });
  expect(host("begin")).toMatchObject({ signal: "SIGKILL", stderr: "" });
  const resumed = host("resume");
  expect(resumed).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(resumed.stdout)).toMatchObject({
    end: { kind: "closed", outcome: "done" },
    ok: true,
    decisions: "ok",
  });
  const log = join(home, "logs", "q-1");
  const report = readdirSync(log).find((name) => name.endsWith("final_report.json")) ?? "";
  expect(JSON.parse(readFileSync(join(log, report), "utf8"))).toMatchObject({
    payload: { mode: "poll", result: { votes: ["ann says yes", "bob says yes"] } },
  });
});

it("a mode that contradicts itself fails in the host that makes it, and says what is wrong", () => {
  const folder = folderWithPackage(MODE, HOST);
  const source = readFileSync(join(folder, MODE), "utf8");
  writeFileSync(join(folder, MODE), source.replace('answered: "voted"', 'answered: "agreed"'));
  const { status, stderr } = spawnSync(process.execPath, [MODE], { cwd: folder, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain('the mode "poll" contradicts itself:');
  expect(stderr).toContain('- "answered" leads from the status "asked" to "agreed", which is none');
  expect(stderr).toContain('- no event leads to the status "voted"');
});

it("the example of a mode has at most 60 lines", () => {
  expect(readFileSync(join(ROOT, MODE), "utf8").split("\n").length - 1).toBeLessThanOrEqual(60);
});
