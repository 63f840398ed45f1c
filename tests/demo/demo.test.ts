import { execSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { DemoEvent } from "../../src/crew/demo/story.ts";
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
  start,
  startProgram,
  Told,
} from "./rig.ts";
import { built } from "../built.ts";
import { isLiving } from "../processes.ts";

afterEach(cleanUp);

/** A demo starts about fifty processes, and the machine may be busy. */
const LONG_MS = 180_000;

const ORDER = "hello scratch questions question question plan killed resumed closed findings verified tampered result";

function expectNothingLeft(at: Place): void {
  expect(readdirSync(at.temporary)).toEqual([]);
  expect(processesOf(at)).toEqual([]);
}

interface Proof {
  readonly ok: boolean;
  readonly completeness: string;
  readonly problems: readonly { readonly sequence: number | null }[];
}

async function verify(at: Place, session: string): Promise<Proof> {
  return JSON.parse((await run(at, ["replay", session, "--verify", "--json"])).stdout) as Proof;
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
      const told = new Told(done.stdout);
      expect(told.order.join(" ")).toBe(ORDER);
      expect(told.one("scratch")).toMatchObject({
        source: directory,
        head: git(at, directory, "rev-parse", "HEAD"),
        uncommitted: 2,
      });
      expect(told.all("question").map(({ answer, by }) => [answer, by])).toEqual([
        ["1 year", "default"],
        ["25", "default"],
      ]);

      const killed = told.one("killed");
      const resumed = told.one("resumed");
      expect(killed.done.length).toBeGreaterThan(0);
      for (const pid of [killed.pid, ...killed.left.map((agent) => agent.pid)]) expect(isLiving(pid)).toBe(false);
      expect(killed.left).toContainEqual(expect.objectContaining({ name: "shell" }));
      expect(resumed).toMatchObject({ ended: killed.left.length, records: killed.records });
      expect(resumed.pid).not.toBe(killed.pid);
      expect(resumed.repeated).toBeGreaterThan(0);
      expect(told.one("closed").tickets).toBe(told.one("plan").tasks.length);
      expect(told.one("closed").sent_back).toBeGreaterThan(0);

      const { session_id, report, findings, log, kept, next } = told.one("result");
      expect(kept).toBeNull();
      // The user's shell may find another Node or none.
      for (const { command } of next.slice(0, 2)) {
        expect(execSync(command, { cwd: at.base, env: { ...at.environment, PATH: "" }, encoding: "utf8" })).toContain(
          session_id,
        );
      }
      expect(JSON.parse(readFileSync(join(report, "../final_report.json"), "utf8"))).toMatchObject({ recoveries: 1 });
      for (const path of [report, findings, log]) expect(existsSync(path)).toBe(true);
      expect(readFileSync(report, "utf8")).not.toContain(at.temporary);
      expect(await verify(at, session_id)).toMatchObject({ ok: true, completeness: "closed", problems: [] });
      expect(told.all("record").map(({ sequence }) => sequence)).toEqual(
        Array.from({ length: told.one("verified").records }, (_, index) => index + 1),
      );

      const { file, sequence } = told.one("tampered");
      expect(readdirSync(log)).toContain(file);
      expect(Number(file.slice(0, 6))).toBe(sequence);

      const found = told.one("findings").items;
      expect(found).toContainEqual(expect.objectContaining({ kind: "links", file: "README.md", line: 3 }));
      expect(found).toContainEqual(expect.objectContaining({ kind: "untested", file: "src/wheel.js" }));
      expect(found.filter(({ kind, file: named }) => kind === "untested" && named === "src/engine.js")).toEqual([]);

      expect(digests(directory)).toEqual(before);
      expect(existsSync(at.marker)).toBe(false);
      expectNothingLeft(at);
      console.log(`The demo took ${(done.elapsed_ms / 1000).toFixed(1)} s on a small repository.`);
    },
    LONG_MS,
  );

  it(
    "tells its story about this repository in 80 columns of plain characters",
    async () => {
      const at = place();
      const done = await run(at, ["demo", "--keep"], ROOT);

      expect([done.code, done.stderr]).toEqual([0, ""]);
      const lines = done.stdout.split("\n");
      expect(lines.filter((line) => /^\d+ {2}/.test(line)).map((line) => line.slice(3, 24))).toEqual([
        "A scratch copy; your ",
        "The manager asks 2 qu",
        "The plan: 6 tasks",
        "The work, at most two",
        "We kill the scheduler",
        "Another process goes ",
        "What the crew found: ",
        "Can you trust the rec",
        expect.stringContaining("Done in"),
      ]);
      expect(done.stdout).toContain("SENT BACK");
      expect(done.stdout).toMatch(/record \d+:/);
      // Paths and commands are for copying and are never broken.
      const last = lines.findIndex((line) => line.includes("  Done in "));
      const told = lines.slice(0, last).filter((line) => !line.includes(at.base));
      expect(told.filter((line) => line.length > 80)).toEqual([]);
      expect(done.stdout.replaceAll(/[\n -~\u00a0-\u{10ffff}]/gu, "")).toBe("");

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
    "copies a folder without a repository and leaves it one",
    async () => {
      const at = place();
      const directory = project(at);
      const before = digests(directory);

      const done = await run(at, ["demo", directory, "--reporter", "json"]);

      expect([done.code, done.stderr]).toEqual([0, ""]);
      const told = new Told(done.stdout);
      expect(told.one("scratch")).toMatchObject({ source: directory, head: null });
      expect(told.one("findings").items).toContainEqual(expect.objectContaining({ kind: "links", file: "README.md" }));
      expect(digests(directory)).toEqual(before);
      expectNothingLeft(at);
    },
    LONG_MS,
  );
});

describe("an interrupted demo", () => {
  const moments: readonly [string, (event: DemoEvent) => boolean][] = [
    [
      "while a worker works",
      (event) => event.type === "record" && event.record.effects?.some(({ to }) => to === "in_progress") === true,
    ],
    ["after the kill", (event) => event.type === "killed"],
  ];
  it.each(moments)(
    "%s leaves no process, no scratch copy and no open session",
    async (_, isMoment) => {
      const at = place();
      let session = "";
      const { child, done } = start(at, ["demo", repository(at), "--json"], at.base, (line) => {
        const event = JSON.parse(line) as DemoEvent;
        if (event.type === "record") session = event.session_id;
        if (isMoment(event)) child.kill("SIGINT");
      });
      const { code, stdout, stderr } = await done;
      expect(code).toBe(130);
      expect(new Told(stdout).one("failed")).toMatchObject({ exit_code: 130 });
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
      const { child, done } = start(at, ["demo", repository(at), "--json"], at.base, (line) => {
        const event = JSON.parse(line) as DemoEvent;
        const works = event.type === "record" && event.payload_type === "instruction";
        if (works) for (const signal of ["SIGTERM", "SIGINT"] as const) child.kill(signal);
      });
      expect([130, 143]).toContain((await done).code);
      expectNothingLeft(at);
    },
    LONG_MS,
  );
});

it(
  "cleans up when the command that started it is killed",
  async () => {
    const at = place();
    let session = "";
    const { child, done } = start(at, ["demo", repository(at), "--json"], at.base, (line) => {
      const event = JSON.parse(line) as DemoEvent;
      if (event.type === "record") session = event.session_id;
      if (event.type === "killed") child.kill("SIGKILL");
    });
    await done;
    await expect.poll(() => processesOf(at)).toEqual([]);
    expectNothingLeft(at);
    const status = JSON.parse((await run(at, ["status", session, "--json"])).stdout) as { outcome: string };
    expect(status.outcome).toBe("cancelled");
  },
  LONG_MS,
);

it(
  "asks its questions and waits for Enter between sections when it is interactive",
  async () => {
    const at = place();
    const { done } = startProgram(
      at,
      [
        ...[built("crew", "demo.js"), "--program", built("cli.js"), "--home", at.home, "--installed", ROOT],
        ...["--plan", join(ROOT, "examples/survey.yaml"), "--next-plan", join(ROOT, "examples/release-check.yaml")],
        ...["--interactive", "--", repository(at)],
      ],
      { input: "all\n\n\n\n\n" },
    );
    const { code, stdout, stderr } = await done;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/answer +all$/m);
    expect(stdout).toMatch(/answer +25$/m);
    expect(stdout.match(/Press Enter/g)).toHaveLength(3);
    expectNothingLeft(at);
  },
  LONG_MS,
);

describe("a demo that cannot start", () => {
  it("names a directory that does not exist", async () => {
    const at = place();
    const { code, stderr } = await run(at, ["demo", "nowhere"]);
    expect(code).toBe(2);
    expect(stderr).toContain("nowhere");
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
