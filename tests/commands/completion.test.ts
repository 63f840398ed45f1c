import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { AGENT_CREWS } from "../../src/config/crews.ts";
import { typed } from "./in-process.ts";
import { ASKING, type Rig, rig, ROOT, tinyPlan } from "./rig.ts";
import { openTerminal } from "./terminal.ts";

/** Returns what may follow these words; the last one is being typed. */
async function completed(here: Rig, words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await typed(here, ["complete", "--", ...words], env);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines.pop()).toMatch(/^:\d+$/);
  return lines.map((line) => line.split("\t")[0] ?? "");
}

/** A home with a closed session, which has the tickets `write` and `check`, and one that waits for an answer. */
async function withSessions(): Promise<Rig> {
  const here = rig();
  const tasks = [
    { task_id: "write", shell: "true" },
    { task_id: "check", shell: "true" },
  ];
  const plan = here.write("plan.json", tinyPlan(tasks));
  const asking = here.write("asking.json", tinyPlan(tasks, ASKING));
  expect((await typed(here, ["run", "--plan", plan, "--session", "finished"])).code).toBe(0);
  expect((await typed(here, ["run", "--plan", asking, "--session", "asking", "--no-input"])).code).toBe(4);
  return here;
}

describe("bosun complete", () => {
  it("completes commands, and hidden ones once a letter is typed", async () => {
    const here = rig();
    const all = await completed(here, [""]);
    expect(all).toEqual(expect.arrayContaining(["run", "status", "help"]));
    expect(all).not.toContain("roles");
    expect(await completed(here, ["ro"])).toEqual(["roles"]);
    expect(await completed(here, ["help", "al"])).toEqual(["all"]);
    expect(await completed(here, ["--home", "x", "stat"])).toEqual(["status"]);
    expect(await completed(here, ["frobnicate", ""])).toEqual([]);
  });

  it("completes the options of the command and their values", async () => {
    const here = rig();
    expect(await completed(here, ["run", "--un"])).toEqual(["--unanswered"]);
    expect(await completed(here, ["status", "--ho"])).toEqual(["--home"]);
    expect(await completed(here, ["inbox", ""])).toContain("--json");
    expect(await completed(here, ["run", "--unanswered", ""])).toEqual(["stop", "default", "manager"]);
    expect(await completed(here, ["run", "x", "--reporter=pl"])).toEqual(["plain"]);
    expect(await completed(here, ["replay", "--type", "repo"])).toEqual(["report"]);
    expect(await completed(here, ["conformance", "--role", ""])).toEqual(["manager", "worker"]);
    expect(await completed(here, ["run", "--", "--un"])).toEqual([]);
  });

  it("completes what a mode's command takes: the roles of its seats, and the values of its fields", async () => {
    const here = rig();
    const debate = ["debate", "--roles", join(ROOT, "examples", "debate-roles.json")];
    expect(await completed(here, [...debate, "--judge", "j"])).toEqual(["judge"]);
    expect(await completed(here, [...debate, "--agents", "python,g"])).toEqual(["python,go"]);
    expect(await completed(here, [...debate, "--until", ""])).toEqual(["rounds", "stable"]);
    expect(await completed(here, [...debate, "--unanswered", "d"])).toEqual(["default"]);
    expect(await completed(here, [...debate, "--agents", "python,go", ""])).toEqual([]);
  });

  it("completes the crews of the project, too", async () => {
    const here = rig();
    here.write("workspace/.bosun/crews/mine.yaml", "roles: []\n");
    const crews = await completed(here, ["run", "--crew", ""]);
    expect(crews).toEqual(expect.arrayContaining([...AGENT_CREWS, "embedded", "mine"]));
  });

  test.each([
    [["run", "--plan", ""], 0],
    [["run", "--cwd", ""], 16],
    [["debate", ""], 0],
    [["demo", ""], 16],
    [["run", ""], 4],
  ])("tells the shell which files %j may name", async (words, files) => {
    const { stdout } = await typed(rig(), ["complete", "--", ...words]);
    expect(Number(stdout.trimEnd().slice(1)) & 20).toBe(files);
  });

  it("completes sessions, tickets and questions of the home", async () => {
    const here = await withSessions();
    expect(await completed(here, ["status", ""])).toEqual(["asking", "finished"]);
    expect(await completed(here, ["stop", ""])).toEqual(["asking"]);
    expect(await completed(here, ["log", "finished", ""])).toEqual(["check", "write"]);
    expect(await completed(here, ["retry", "fin"])).toEqual(["finished"]);
    expect(await completed(here, ["retry", "finished", "w"])).toEqual(["write"]);
    expect(await completed(here, ["cancel", "--session", "finished", "w"])).toEqual(["write"]);
    expect(await completed(here, ["replay", "finished", "--ticket", ""])).toEqual(["check", "write"]);
    const [question, ...more] = await completed(here, ["answer", "asking", ""]);
    expect([question, more]).toEqual([expect.stringMatching(/\.name$/), []]);
    expect(await completed(here, ["resume", "finished", "--release", "sh"])).toEqual(["shell"]);
    // Its question is no question of a session.
    expect(await completed(here, ["debate", "asking", ""])).toEqual([]);
  });

  it("completes sessions of other homes, and of the home that is typed", async () => {
    const here = await withSessions();
    expect(await completed(here, ["--home", here.home, "status", "f"], { BOSUN_HOME: "" })).toEqual(["finished"]);
    expect(await completed(here, ["status", "f"], { BOSUN_HOME: "" })).toEqual(["finished"]);
    expect(await completed(here, ["--home", join(here.home, "none"), "status", "f"])).toEqual([]);
  });

  it("creates nothing, and ignores a home that cannot be read", async () => {
    const here = rig();
    expect(await completed(here, ["status", ""])).toEqual([]);
    expect(readdirSync(join(here.workspace, ".."))).toEqual(["workspace"]);
    here.write("home/bosun.db", "");
    expect(await completed(here, ["status", ""])).toEqual([]);
    here.write("home/bosun.db", "no database");
    expect(await completed(here, ["status", ""])).toEqual([]);
    expect(readdirSync(here.home)).toEqual(["bosun.db"]);
    expect(existsSync(here.environment.XDG_STATE_HOME ?? "")).toBe(false);
  });

  it("leaves no file in a home that it reads, and does not remember it", async () => {
    const here = await withSessions();
    const state = here.environment.XDG_STATE_HOME ?? "";
    rmSync(state, { recursive: true });
    const files = () => readdirSync(join(here.workspace, ".."), { recursive: true, encoding: "utf8" }).toSorted();
    const before = files();
    expect(await completed(here, ["answer", ""])).toContain("asking");
    expect(files()).toEqual(before);
  });

  it("never offers a word that a shell would expand", async () => {
    const here = rig();
    for (const name of ["$(touch owned)", "`touch owned`", "a b", "a;b", "x\u202e", "--yes", "fine-1.2"])
      here.write(`workspace/.bosun/crews/${name}.yaml`, "roles: []\n");
    const own = (await completed(here, ["run", "--crew", ""])).filter((name) => !AGENT_CREWS.includes(name));
    expect(own).toEqual(["embedded", "fine-1.2"]);
  });
});

describe("bosun completion", () => {
  it("completes words in a real bash", async () => {
    const here = await withSessions();
    here.write("workspace/a plan.yaml", "");
    mkdirSync(join(here.workspace, "folder"));
    const environment = { ...here.environment, BOSUN_HOME: here.home, PS1: "> " };
    const pane = openTerminal(here.workspace, ["bash", "--norc", "--noprofile"], { environment });
    const line = async (keys: readonly string[], shown: string) => {
      pane.type("C-u", ...keys);
      await pane.shows(shown);
    };
    await line(['eval "$(bosun completion bash)"; eval "$(bosun completion bash)"; echo lo""aded', "Enter"], "loaded");
    await line(["bosun stat", "Tab", "fi", "Tab"], "bosun status finished");
    await line(["bosun run --unans", "Tab", "man", "Tab"], "bosun run --unanswered manager");
    await line(["bosun run --reporter=pl", "Tab"], "bosun run --reporter=plain");
    await line(["bosun run --plan a", "Tab"], "bosun run --plan a\\ plan.yaml");
    await line(["bosun run --cwd f", "Tab"], "bosun run --cwd folder/");
    await line(["bosun retry finished 'w' w", "Tab", "x"], "bosun retry finished 'w' wx");
    await line(["bosun tell asking $(touch owned) --sess", "Tab"], "--session");
    expect(existsSync(join(here.workspace, "owned"))).toBe(false);
  });

  test.each(["bash", "zsh", "fish"])("prints a script for %s that calls this program", async (shell) => {
    const here = rig();
    const { code, stdout } = await here.run(["completion", shell]);
    expect(code).toBe(0);
    expect(stdout).toContain("bosun complete -- ");
  });

  it("refuses an unknown shell", async () => {
    const { code, stderr } = await typed(rig(), ["completion", "tcsh"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
  });

  it("prints a valid bash script", async () => {
    const { stdout } = await typed(rig(), ["completion", "bash"]);
    const checked = spawnSync("bash", ["-n"], { input: stdout, encoding: "utf8" });
    expect([checked.status, checked.stderr]).toEqual([0, ""]);
  });
});
