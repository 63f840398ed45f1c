import { exec, execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import {
  digests,
  type Place,
  place,
  processesOf,
  repository,
  ROOT,
  run,
  Sections,
  start,
  startProgram,
} from "./rig.ts";
import { built } from "../built.ts";
import { isLiving } from "../processes.ts";

/** A demo starts about fifty processes, and the machine may be busy. */
const LONG_MS = 180_000;

function expectNothingLeft(at: Place): void {
  expect(readdirSync(at.temporary)).toEqual([]);
  expect(processesOf(at)).toEqual([]);
}

async function verify(at: Place, session: string): Promise<object> {
  return JSON.parse((await run(at, ["replay", session, "--verify", "--json"])).stdout) as object;
}

describe.concurrent("bosun demo", () => {
  it(
    "kills its scheduler, resumes, merges a resolved conflict, takes it back, verifies the record and leaves a person's repository alone",
    async ({ onTestFinished }) => {
      const at = place(onTestFinished);
      const directory = repository(at);
      const before = digests(directory);

      // Copies cannot lie in a repository: the record is then in the state folder.
      const done = await run({ ...at, home: join(directory, "home") }, ["demo", ".", "--json"], directory);

      expect([done.code, done.stderr]).toEqual([0, ""]);
      const sections = new Sections(done.stdout);
      expect(sections.order).toBe("scratch questions plan work killed resumed diff merged undone verified result");
      expect(sections.one("questions").questions.map((question) => question.default)).toEqual(["10", "20"]);

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

      // Both tickets changed this line of the same commit, so the second was in conflict.
      expect(sections.one("diff").lines).toEqual([
        "-export const RULES = [];",
        expect.stringMatching(/^\+export const RULES = \["(?:tax", "discount|discount", "tax)"\];$/),
      ]);
      const merged = sections.one("merged");
      expect(merged.tests).toEqual(expect.arrayContaining(["ok discount.mjs", "ok price.mjs", "ok tax.mjs"]));
      expect(merged.receipt).toEqual([expect.stringMatching(/ is 108\.00$/)]);
      expect(sections.one("undone").commit).not.toBe(merged.commit);

      const { report, log, page } = sections.one("result");
      expect(JSON.parse(readFileSync(join(report, "../final_report.json"), "utf8"))).toMatchObject({ recoveries: 1 });
      for (const path of [report, log, page]) expect(existsSync(path)).toBe(true);
      const conflicts = readdirSync(log).filter((name) =>
        readFileSync(join(log, name), "utf8").includes('"state":"conflict"'),
      );
      expect(conflicts).toHaveLength(1);
      expect(await verify(at, log)).toMatchObject({ ok: true, completeness: "closed", problems: [] });
      const { file, sequence } = sections.one("verified").changed;
      expect(readdirSync(log)).toContain(file);
      expect(Number(file.slice(0, 6))).toBe(sequence);

      expect(digests(directory)).toEqual(before);
      expect(existsSync(at.marker)).toBe(false);
      expectNothingLeft(at);
      console.log(`The demo took ${(done.elapsed_ms / 1000).toFixed(1)} s.`);
    },
    LONG_MS,
  );

  it(
    "tells it in 80 columns of plain characters, asks and waits for Enter if it is interactive, and may keep its repository",
    async ({ onTestFinished }) => {
      const at = place(onTestFinished);
      const typed = [process.execPath, built("cli.js"), "--home", at.home].join(" ");
      const about = { program: built("cli.js"), typed, home: at.home, installed: ROOT, reporter: "plain" };
      const wishes = { ...about, keep: true, interactive: true };
      const input = "25\n\n\n\n\n\n\n";
      const done = await startProgram(at, [built("crew", "demo.js"), JSON.stringify(wishes)], { input }).done;

      expect([done.code, done.stderr]).toEqual([0, ""]);
      expect(done.stdout).toMatch(/answer +25$/m);
      expect(done.stdout).toMatch(/answer +20$/m);
      expect(done.stdout).toMatch(/ is 90\.00$/m);
      expect(done.stdout.match(/Press Enter/g)).toHaveLength(5);
      const lines = done.stdout.split("\n");
      const numbers = lines.flatMap((line) => /^\d+(?= {2}\S)/.exec(line) ?? []);
      expect(numbers.map(Number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
      expect(done.stdout).toMatch(/SENT BACK, it conflicts with (?:tax|discount)/);
      expect(done.stdout).toMatch(/record \d+:/);
      // Paths and commands are for copying and are never broken.
      const last = lines.findIndex((line) => line.startsWith("11  "));
      const wrapped = lines.slice(0, last).filter((line) => !line.includes(at.base));
      expect(wrapped.filter((line) => line.length > 80)).toEqual([]);
      expect(done.stdout.replaceAll(/[\n -~\u00a0-\u{10ffff}]/gu, "")).toBe("");

      const commands = lines.filter((line) => /^ +\S.* (?:replay|diff) s-/.test(line));
      expect(commands).toHaveLength(2);
      const said = commands.map((command) => promisify(exec)(command, { env: at.environment }));
      expect((await Promise.all(said)).map(({ stdout }) => stdout).join("")).toContain("+export const RULES");

      const [scratch = ""] = readdirSync(at.temporary);
      const work = join(at.temporary, scratch, "shop");
      const inWork = (...words: string[]) => execFileSync("git", words, { cwd: work, encoding: "utf8" });
      expect(inWork("status", "--porcelain")).toBe("");
      expect(inWork("log", "--first-parent", "--format=%s").replaceAll(/ .*/g, "")).toBe("Undo\nMerge\nA\n");
      expect(done.stdout).toContain(join(at.temporary, scratch));
      expect(processesOf(at)).toEqual([]);
    },
    LONG_MS,
  );
});

describe.concurrent("an interrupted demo", () => {
  it(
    "leaves no process, no scratch repository and no open session",
    async ({ onTestFinished }) => {
      const at = place(onTestFinished);
      const { child, done } = start(at, ["demo"], at.base, (line) => {
        if (line.includes("work starts")) child.kill("SIGINT");
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
    async ({ onTestFinished }) => {
      const at = place(onTestFinished);
      const { child, done } = start(at, ["demo"], at.base, (line) => {
        if (line.includes("work starts")) for (const signal of ["SIGTERM", "SIGINT"] as const) child.kill(signal);
      });
      expect([130, 143]).toContain((await done).code);
      expectNothingLeft(at);
    },
    LONG_MS,
  );

  it(
    "cleans up when the command that started it is killed after it has killed the scheduler",
    async ({ expect: wait, onTestFinished }) => {
      const at = place(onTestFinished);
      const { child, done } = start(at, ["demo"], at.base, (line) => {
        if (line.includes("SIGKILL:")) child.kill("SIGKILL");
      });
      await done;
      await wait.poll(() => processesOf(at)).toEqual([]);
      expectNothingLeft(at);
      const [session = ""] = readdirSync(join(at.home, "logs"));
      const status = JSON.parse((await run(at, ["status", session, "--json"])).stdout) as { outcome: string };
      expect(status.outcome).toBe("cancelled");
    },
    LONG_MS,
  );
});

describe("a demo that cannot start", () => {
  it("names a directory that does not exist", async ({ onTestFinished }) => {
    const at = place(onTestFinished);
    const { code, stderr } = await run(at, ["demo", "nowhere"]);
    expect(code).toBe(2);
    expect(stderr).toContain("nowhere");
    expectNothingLeft(at);
  });

  it("needs a terminal to be interactive", async ({ onTestFinished }) => {
    expect((await run(place(onTestFinished), ["demo", "--interactive"])).code).toBe(2);
  });

  it("says that git is missing", async ({ onTestFinished }) => {
    const at = place(onTestFinished);
    const { code, stderr } = await run({ ...at, environment: { ...at.environment, PATH: "/nowhere" } }, ["demo"]);
    expect(code).toBe(3);
    expect(stderr).toContain("git");
    expectNothingLeft(at);
  });
});
