import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { built } from "../../built.ts";
import { ROOT } from "../../sources.ts";

const MODE = "examples/modes/poll.ts";
const HOST = "tests/kernel/kit/host.ts";

/** A folder outside the repository with a program of a host, its mode, and the built package as it is installed. */
function hostFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bosun-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bosun = join(folder, "node_modules", "bosun");
  mkdirSync(bosun, { recursive: true });
  symlinkSync(built(), join(bosun, "dist"));
  copyFileSync(join(ROOT, "package.json"), join(bosun, "package.json"));
  for (const file of [MODE, HOST]) cpSync(join(ROOT, file), join(folder, file));
  return folder;
}

it("a program of its own runs a mode of its own, dies, resumes and proves what was decided", () => {
  const folder = hostFolder();
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

it("the example of a mode has at most 60 lines", () => {
  expect(readFileSync(join(ROOT, MODE), "utf8").split("\n").length - 1).toBeLessThanOrEqual(60);
});
