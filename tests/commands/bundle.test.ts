import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, rig, until } from "./rig.ts";

let dist = "";

beforeAll(() => {
  // Inside the package, because the program looks for what is shipped with it in the folders above its own.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  dist = mkdtempSync(join(cache, "bosun-bundle-"));
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
