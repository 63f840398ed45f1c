import { execSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  cleanUp,
  digests,
  git,
  type Place,
  place,
  processesOf,
  project,
  repository,
  ROOT,
  run,
  Sections,
  start,
  startProgram,
} from "./rig.ts";
import { built } from "../built.ts";
import { isLiving } from "../processes.ts";

afterEach(cleanUp);

/** A demo starts about fifty processes, and the machine may be busy. */
const LONG_MS = 180_000;

function expectNothingLeft(at: Place): void {
  expect(readdirSync(at.temporary)).toEqual([]);
  expect(processesOf(at)).toEqual([]);
}

async function verify(at: Place, session: string): Promise<object> {
  return JSON.parse((await run(at, ["replay", session, "--verify", "--json"])).stdout) as object;
}

describe("bosun demo", () => {
  it(
    "kills its scheduler, resumes, verifies the record and leaves the repository alone",
    async () => {
      const at = place();
      const directory = repository(at);
      writeFileSync(join(directory, "src/wheel.js"), "// changed and not committed\n");
      writeFileSync(join(directory, "new.txt"), "new\n");
      const before = digests(directory);

      const done = await run(at, ["demo", directory, "--json"]);

      expect([done.code, done.stderr]).toEqual([0, ""]);
      const sections = new Sections(done.stdout);
      expect(sections.order).toBe("scratch questions plan work killed resumed findings verified result");
      const head = git(at, directory, "rev-parse", "HEAD");
      expect(sections.one("scratch")).toMatchObject({ source: directory, head, uncommitted: 2 });
      expect(sections.one("questions").questions.map((question) => question.default)).toEqual(["1 year", "25"]);
      expect(sections.one("plan").tasks.at(-1)?.dependencies).toHaveLength(5);

      const killed = sections.one("killed");
      const resumed = sections.one("resumed");
      expect(killed.done.length).toBeGreaterThan(0);
      expect(killed.agents).toContainEqual(expect.objectContaining({ name: expect.stringContaining("shell") }));
      for (const { pid } of [killed, ...killed.agents]) expect(isLiving(pid)).toBe(false);
      expect(resumed).toMatchObject({ ended: killed.agents.length });
      // A record that was committed at the kill reaches the log folder with the resume.
      expect(resumed.records).toBeGreaterThanOrEqual(killed.records);
      expect(resumed.pid).not.toBe(killed.pid);
      expect(resumed.repeated).toBeGreaterThan(0);

      const { items } = sections.one("findings");
      expect(items).toContainEqual(expect.objectContaining({ file: "README.md", line: 3 }));
      expect(items).toContainEqual(expect.objectContaining({ file: "src/wheel.js" }));
      expect(items.filter(({ file, text }) => file === "src/engine.js" && text.includes("no test"))).toEqual([]);

      const { session_id, report, findings, log, page } = sections.one("result");
      expect(JSON.parse(readFileSync(join(report, "../final_report.json"), "utf8"))).toMatchObject({ recoveries: 1 });
      for (const path of [report, findings, log, page]) expect(existsSync(path)).toBe(true);
      expect(readFileSync(report, "utf8")).not.toContain(at.temporary);
      expect(await verify(at, session_id)).toMatchObject({ ok: true, completeness: "closed", problems: [] });
      const { file, sequence } = sections.one("verified").changed;
      expect(readdirSync(log)).toContain(file);
      expect(Number(file.slice(0, 6))).toBe(sequence);

      expect(digests(directory)).toEqual(before);
      expect(existsSync(at.marker)).toBe(false);
      expectNothingLeft(at);
      console.log(`The demo took ${(done.elapsed_ms / 1000).toFixed(1)} s on a small repository.`);
    },
    LONG_MS,
  );

  it(
    "prints nine sections about this repository in 80 columns of plain characters",
    async () => {
      const at = place();
      const done = await run(at, ["demo", "--keep"], ROOT);

      expect([done.code, done.stderr]).toEqual([0, ""]);
      const lines = done.stdout.split("\n");
      const numbers = lines.flatMap((line) => /^\d+(?= {2}\S)/.exec(line) ?? []);
      expect(numbers.map(Number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(done.stdout).toContain("SENT BACK");
      expect(done.stdout).toMatch(/record \d+:/);
      // Paths and commands are for copying and are never broken.
      const last = lines.findIndex((line) => line.startsWith("9  "));
      const wrapped = lines.slice(0, last).filter((line) => !line.includes(at.base));
      expect(wrapped.filter((line) => line.length > 80)).toEqual([]);
      expect(done.stdout.replaceAll(/[\n -~\u00a0-\u{10ffff}]/gu, "")).toBe("");

      // The user's shell may find another Node or none.
      const commands = lines.filter((line) => /^ +\S.* (?:replay|status) s-/.test(line));
      expect(commands).toHaveLength(2);
      for (const command of commands) execSync(command, { cwd: ROOT, env: { ...at.environment, PATH: "" } });

      const [scratch = ""] = readdirSync(at.temporary);
      const [work = ""] = readdirSync(join(at.temporary, scratch, "work"));
      expect(git(at, join(at.temporary, scratch, "work", work), "status", "--porcelain")).toBe("");
      expect(done.stdout).toContain(join(at.temporary, scratch));
      expect(processesOf(at)).toEqual([]);
      console.log(`The demo took ${(done.elapsed_ms / 1000).toFixed(1)} s on this repository.`);
    },
    LONG_MS,
  );

  it(
    "asks its questions and waits for Enter between sections when it is interactive",
    async () => {
      const at = place();
      const about = { program: built("cli.js"), typed: "bosun", home: at.home, installed: ROOT, reporter: "plain" };
      const wishes = { ...about, keep: false, interactive: true, directory: repository(at) };
      const { done } = startProgram(at, [built("crew", "demo.js"), JSON.stringify(wishes)], { input: "all\n\n\n\n\n" });
      const { code, stdout, stderr } = await done;
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/answer +all$/m);
      expect(stdout).toMatch(/answer +25$/m);
      expect(stdout.match(/Press Enter/g)).toHaveLength(3);
      expectNothingLeft(at);
    },
    LONG_MS,
  );
});

describe("an interrupted demo", () => {
  it.each([
    ["while a worker works", "work starts"],
    ["after the kill", "SIGKILL:"],
  ])(
    "%s leaves no process, no scratch copy and no open session",
    async (_, moment) => {
      const at = place();
      const { child, done } = start(at, ["demo", repository(at)], at.base, (line) => {
        if (line.includes(moment)) child.kill("SIGINT");
      });
      const { code, stderr } = await done;
      expect(code).toBe(130);
      const [session = ""] = readdirSync(join(at.home, "logs"));
      expect(stderr).toContain(session);
      expectNothingLeft(at);
      expect(await verify(at, session)).toMatchObject({ ok: true, completeness: "closed" });
    },
    LONG_MS,
  );

  it(
    "stops at once when it is interrupted twice, and cleans up too",
    async () => {
      const at = place();
      const { child, done } = start(at, ["demo", repository(at)], at.base, (line) => {
        if (line.includes("work starts")) for (const signal of ["SIGTERM", "SIGINT"] as const) child.kill(signal);
      });
      expect([130, 143]).toContain((await done).code);
      expectNothingLeft(at);
    },
    LONG_MS,
  );

  it(
    "cleans up when the command that started it is killed",
    async () => {
      const at = place();
      const { child, done } = start(at, ["demo", repository(at)], at.base, (line) => {
        if (line.includes("SIGKILL:")) child.kill("SIGKILL");
      });
      await done;
      await expect.poll(() => processesOf(at)).toEqual([]);
      expectNothingLeft(at);
      const [session = ""] = readdirSync(join(at.home, "logs"));
      const status = JSON.parse((await run(at, ["status", session, "--json"])).stdout) as { outcome: string };
      expect(status.outcome).toBe("cancelled");
    },
    LONG_MS,
  );
});

describe("a demo that cannot start", () => {
  it("names a directory that does not exist", async () => {
    const at = place();
    const { code, stderr } = await run(at, ["demo", "nowhere"]);
    expect(code).toBe(2);
    expect(stderr).toContain("nowhere");
    expectNothingLeft(at);
  });

  it("names a folder that has no commit to clone", async () => {
    const at = place();
    const directory = project(at);
    const { code, stderr } = await run(at, ["demo", directory]);
    expect(code).toBe(2);
    expect(stderr).toContain(directory);
    expectNothingLeft(at);
  });

  it("needs a terminal to be interactive", async () => {
    expect((await run(place(), ["demo", "--interactive"])).code).toBe(2);
  });

  it("says that git is missing", async () => {
    const at = place();
    const { code, stderr } = await run({ ...at, environment: { ...at.environment, PATH: "/nowhere" } }, ["demo"]);
    expect(code).toBe(3);
    expect(stderr).toContain("git");
    expectNothingLeft(at);
  });
});
