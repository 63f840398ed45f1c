import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { built, compiledOnce } from "../built.ts";
import { type Rig, rig, ROOT } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

let here: Rig;
let clone: string;
let programs: string;

beforeEach(() => {
  here = rig();
  clone = join(dirname(here.home), "a clone");
  // Other tests write to the compile cache meanwhile.
  const { NODE_COMPILE_CACHE } = compiledOnce();
  cpSync(built(), join(clone, "dist"), { recursive: true, filter: (from) => from !== NODE_COMPILE_CACHE });
  for (const name of ["package.json", "schemas", "migrations", "config"])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  programs = join(dirname(here.home), "programs");
  mkdirSync(programs);
  symlinkSync(process.execPath, join(programs, "node"));
});

/** Runs a shell command with a `PATH` that has no `bosun`, unless the test adds one. */
function shell(command: string, directory: string = clone) {
  const without = (process.env.PATH ?? "").split(delimiter).filter((folder) => !existsSync(join(folder, "bosun")));
  const env = { ...here.environment, PATH: [programs, ...without].join(delimiter), BOSUN_HOME: here.home };
  return spawnSync("sh", ["-c", command], { cwd: directory, env, encoding: "utf8" });
}

function nextIn(stdout: string): string[] {
  const lines = stdout.trimEnd().split("\n");
  return lines.slice(lines.findLastIndex((line) => line.startsWith("next    "))).map((line) => line.slice(8));
}

describe("printed commands in a clone that is not installed", () => {
  it("can be copied", () => {
    const asked = shell(`node dist/bin.js run --plan ${here.write("ask.json", ASK)} --session s`);
    expect(asked.status).toBe(4);
    const [answer = "", resume = ""] = nextIn(asked.stdout);
    expect([answer, resume]).toEqual(["node dist/bin.js answer s c1.name Ada", "node dist/bin.js resume s"]);
    expect(shell("node dist/bin.js inbox").stdout).toContain(`      ${answer}\n`);
    expect(shell(answer).stdout).toContain(`  ${resume}\n`);
    const done = shell(resume);
    expect(nextIn(done.stdout)).toEqual(["node dist/bin.js report s", "node dist/bin.js replay s --verify"]);
    expect(shell(nextIn(done.stdout).at(-1) ?? "").status).toBe(0);
    expect(shell("node dist/bin.js status nope").stderr).toContain("`node dist/bin.js status` lists the sessions");
    expect(shell("node dist/bin.js help run").stdout).toMatch(/^Usage: bosun run [^]*\n {2}bosun run --plan /);
    expect(shell("node dist/bin.js nope").stderr).toContain("(`node dist/bin.js help` lists the commands");
  });

  it("have the home as typed, and absolute paths elsewhere and in notifications", () => {
    const notify = { command: ["sh", "-c", "cat >>told"], on: ["stopped"] };
    const config = here.write("config.json", JSON.stringify({ notify }));
    const plan = here.write("ask.json", ASK);
    const near = "node dist/bin.js --home 'my home'";
    const absolute = `node '${clone}/dist/bin.js' --home '${clone}/my home'`;
    const ran = shell(`${near} run --plan ${plan} --session s --config ${config}`);
    expect(nextIn(ran.stdout)).toEqual([`${near} answer s c1.name Ada`, `${near} resume s`]);
    const { next } = JSON.parse(readFileSync(join(clone, "told"), "utf8")) as { next: string[] };
    expect(next).toEqual([`${absolute} answer s c1.name Ada`, `${absolute} resume s`]);
    for (const command of next) expect(shell(command, "/").status).toBe(0);
    const afar = nextIn(shell(`${absolute} status s`, here.workspace).stdout);
    expect(afar).toEqual([`${absolute} report s`, `${absolute} replay s --verify`]);
    expect(shell(afar.at(-1) ?? "", here.workspace).status).toBe(0);
  });

  it("name this Node if the shell finds another, or only one that npm lends", () => {
    const older = join(programs, "node");
    writeFileSync(join(programs, "older"), "#!/bin/sh\nexit 1\n");
    chmodSync(join(programs, "older"), 0o755);
    const typed = (path: string, npm = "") =>
      shell(`${npm} PATH='${path}':$PATH '${process.execPath}' dist/bin.js status`).stdout;
    expect(typed(programs)).toContain("next    node dist/bin.js run");
    const lent = join(dirname(here.home), "node_modules", ".bin");
    mkdirSync(lent, { recursive: true });
    symlinkSync(older, join(lent, "node"));
    const whole = `next    ${process.execPath} dist/bin.js run`;
    expect(typed(lent, "npm_execpath=/npm")).toContain(whole);
    // Without npm the folder is in the PATH of the next command, too.
    expect(typed(lent)).toContain("next    node dist/bin.js run");
    const another = join(dirname(here.home), "another");
    mkdirSync(another);
    symlinkSync(join(programs, "older"), join(another, "node"));
    expect(typed(another)).toContain(whole);
  });

  it("are `bosun` if that is on the PATH", () => {
    chmodSync(join(clone, "dist", "bin.js"), 0o755);
    symlinkSync(join(clone, "dist", "bin.js"), join(programs, "bosun"));
    expect(shell("bosun status").stdout).toContain("next    bosun run");
    expect(shell("node dist/bin.js status").stdout).toContain("next    bosun run");
  });
});
