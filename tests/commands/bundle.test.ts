import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ROOT, rig, until } from "./rig.ts";
import { letGo, taskRuns, WAIT } from "./waiting-task.ts";

/** Inside the package, because the program looks for what is shipped with it in the folders above its own. */
const CACHE = join(ROOT, "node_modules", ".cache");

let dist = "";

beforeAll(() => {
  mkdirSync(CACHE, { recursive: true });
  dist = mkdtempSync(join(CACHE, "bosun-bundle-"));
  execFileSync(process.execPath, [join(ROOT, "build.config.ts"), dist], { cwd: ROOT });
});

afterAll(() => rmSync(dist, { recursive: true, force: true }));

const bosun = (args: readonly string[], options: { readonly node?: readonly string[]; readonly cwd?: string } = {}) =>
  spawnSync(process.execPath, [...(options.node ?? []), join(dist, "bin.js"), ...args], {
    encoding: "utf8",
    cwd: options.cwd ?? dist,
  });

const VERSION = (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;

describe("the bundled program", () => {
  it("tells its version by itself and among other words", () => {
    expect(bosun(["--version"])).toMatchObject({ status: 0, stdout: `${VERSION}\n`, stderr: "" });
    expect(bosun(["--home", dist, "--version"])).toMatchObject({ status: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("says in one clear sentence which Node it needs, on one that is too old, and reads nothing else", () => {
    for (const version of ["12.22.0", "20.20.2", "22.13.1"]) {
      const pretend = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"${version}"})`;
      const refused = bosun(["status"], { node: ["--import", pretend] });
      expect(refused.status).toBe(3);
      expect(refused.stderr).toMatch(
        new RegExp(`^Error: Bosun needs Node 22\\.14 or later, and this is Node ${version} \\(`),
      );
      expect(refused.stdout).toBe("");
    }
  });

  it("starts the crew that it was built with, wherever it was put", () => {
    const here = rig();
    const { stdout } = bosun(["--home", here.home, "roles", "--json"], { cwd: here.workspace });
    const { roles } = JSON.parse(stdout) as { roles: { cli_command: string[] }[] };
    const [playbook, shell] = roles.map(({ cli_command }) => cli_command[1]);
    expect([playbook, shell]).toEqual([join(dist, "crew", "playbook.js"), join(dist, "crew", "shell.js")]);
  });

  it("keeps to syntax that an old Node can read up to that sentence", () => {
    const text = readFileSync(join(dist, "bin.js"), "utf8");
    expect(text.startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(text).not.toMatch(/\?\?|\?\.|\bawait\b|^import /m);
  });

  it("opens no inspector for whoever asks with a signal", async () => {
    const here = rig();
    const args = ["--home", here.home, "run", "x", "--manager", "sleep 60", "--worker", "cat", "--json"];
    const child = spawn(process.execPath, [join(dist, "bin.js"), ...args], {
      cwd: here.workspace,
      env: { ...here.environment },
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    await until("the session to be open", () => stdout.includes("session_opened"));
    child.kill("SIGUSR1");
    child.kill("SIGINT");
    await new Promise((settle) => child.once("close", settle));
    expect(child.exitCode).toBe(130);
    expect(stderr).not.toContain("Debugger");
  });

  it("shows the end of a session though another version was installed since it began to look", async () => {
    const here = rig();
    const earlier = mkdtempSync(join(CACHE, "bosun-bundle-"));
    onTestFinished(() => rmSync(earlier, { recursive: true, force: true }));
    cpSync(dist, earlier, { recursive: true });
    const owner = here.start(["run", "--plan", here.write("plan.json", WAIT)]);
    await taskRuns(here);
    const viewer = spawn(process.execPath, [join(earlier, "bin.js"), "--home", here.home, "attach"], {
      cwd: here.workspace,
      env: { ...here.environment },
    });
    let shown = "";
    for (const stream of [viewer.stdout, viewer.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (shown += text));
    await until("the viewer to be there", () => shown.includes("pending -> in_progress"));
    rmSync(join(earlier, "chunks"), { recursive: true });
    letGo(here);
    await new Promise((settle) => viewer.once("close", settle));
    expect([viewer.exitCode, shown]).toEqual([0, expect.stringContaining("is done: 1 of 1 ticket done")]);
    expect((await owner.done).code).toBe(0);
  });

  it("reads YAML in the command line and in the crew, and finds what it is shipped with", () => {
    const here = rig();
    const wrong = here.write("wrong.yaml", "requirement: x\ntasks:\n  - task_id: a\n    descripton: d\n");
    const refused = bosun(["--home", here.home, "run", "--plan", wrong], { cwd: here.workspace });
    expect(refused.status).toBe(3);
    expect(refused.stderr).toContain("wrong.yaml:4:5:");
    const plan = here.write("plan.yaml", "requirement: x\ntasks:\n  - task_id: a\n    description: d\n");
    const payload = {
      turn_id: "t1",
      role_id: "m",
      expects: ["plan"],
      message: { payload_type: "requirement", payload: { text: "x" } },
      context: {},
      limits: {},
      workspace: here.workspace,
      artifacts_dir: here.workspace,
    };
    const turn = {
      session_id: "s",
      source: "scheduler",
      target: "m",
      payload_type: "turn_request",
      version: "1.0",
      payload,
    };
    const played = spawnSync(process.execPath, [join(dist, "crew", "playbook.js")], {
      input: `${JSON.stringify(turn)}\n`,
      encoding: "utf8",
      env: { ...here.environment, BOSUN_PLAYBOOK: plan },
    });
    expect(played.stderr).toBe("");
    expect(JSON.parse(played.stdout)).toMatchObject({ payload_type: "plan", payload: { tasks: [{ task_id: "a" }] } });
  });
});
