import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { scratchDirectory } from "../agents/scratch.ts";
import { built, compiledOnce } from "../built.ts";
import { type Ended, typedIn } from "../commands/in-process.ts";
import { jsonLines } from "../commands/rig.ts";

const ROOT = join(import.meta.dirname, "../..");
const ROLES = join(ROOT, "examples", "debate-roles.json");

let home: string;
let elsewhere: string;

beforeEach(() => {
  home = join(scratchDirectory(), "home");
  elsewhere = scratchDirectory();
});

/** `bosun …` in a folder that knows nothing of the examples. */
function bosun(...words: readonly string[]): Promise<Ended> {
  return typedIn(elsewhere, { PATH: process.env["PATH"] ?? "", HOME: home }, ["--home", home, ...words]);
}

/** The same in a process of its own, with a text on standard input. */
function bosunReading(input: string, ...words: readonly string[]) {
  const env = { ...compiledOnce(), PATH: process.env["PATH"], HOME: home };
  const options = { cwd: ROOT, env, input, encoding: "utf8" } as const;
  return spawnSync(process.execPath, [built("cli.js"), "--home", home, ...words], options);
}

function debate(...words: readonly string[]): Promise<Ended> {
  return bosun("debate", QUESTION, ...words);
}

const QUESTION = "Python or Go for microservices?";
const SEATS = ["--roles", ROLES, "--agents", "python,go,architect", "--judge", "judge"];
const CONCLUSION = "Go on the request path, Python for data work, one pipeline for both.";

/** A file with this text. */
function written(text: string): string {
  const file = join(scratchDirectory(), "input.yaml");
  writeFileSync(file, text);
  return file;
}

function firstRecord(session_id: string) {
  return JSON.parse(readFileSync(join(home, "logs", session_id, "000001-session_opened.json"), "utf8"));
}

/** The program's own verification of a session. */
async function proof(session_id: string): Promise<unknown> {
  return JSON.parse((await bosun("replay", session_id, "--verify", "--json")).stdout);
}

describe("bosun debate", () => {
  it.each([
    ["for -", ["-"]],
    ["for --file -", ["--file", "-"]],
  ])("reads the question from standard input %s", (_what, words) => {
    const ended = bosunReading(`\n${QUESTION}\n`, "debate", ...words, ...SEATS, "--rounds", "1", "--json");
    expect([ended.status, ended.stderr]).toEqual([0, ""]);
    expect(JSON.parse(ended.stdout.split("\n", 1)[0] ?? "")).toMatchObject({ requirement: QUESTION });
  });

  it.each([
    ["without one", [], "empty"],
    ["with nothing on standard input", ["-"], "empty"],
    ["with two", ["x", "--file", "y"], "two"],
    ["with a file that is not there", ["--file", "no-such"], "no-such"],
  ])("is refused %s, and creates nothing", async (_what, words, said) => {
    const refused = await bosun("debate", ...words, ...SEATS);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
    expect(existsSync(home)).toBe(false);
  });

  it("has no retry, nor a message once it is closed", async () => {
    await debate(...SEATS, "--rounds", "1", "--session", "d-over");
    for (const word of [
      ["tell", "d-over", "x"],
      ["cancel", "d-over", "go"],
    ]) {
      const refused = await bosun(...word);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("d-over") });
      expect(refused.stderr).not.toContain("retry");
    }
    expect(await bosun("retry", "d-over", "go")).toMatchObject({ code: 2, stderr: expect.stringContaining("debate") });
    expect((await bosun("log", "d-over", "goo")).stderr).toMatch(/debater "goo".* go\?/);
  });

  it("runs the example to a verdict on the screen and in the final report", async () => {
    const ended = await debate(...SEATS, "--rounds", "5", "--until", "stable", "--session", "d-example");
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
    expect(ended.stdout).toContain(CONCLUSION);
    expect(ended.stdout).toMatch(/ go +OPINION from go "Go: one static/);
    expect(ended.stdout).toMatch(/ go +answered$/m);
    expect(ended.stdout).toMatch(/^DEBATER +STATE +TRY +POSITION$/m);
    expect(ended.stdout).toMatch(/^d-example is done: \d+ turns, \d+m?s$/m);
    expect(ended.stdout).toMatch(new RegExp(`^Verdict of judge\n {2}${CONCLUSION.slice(0, 60)}`, "m"));
    expect(ended.stdout).not.toMatch(/ticket|"debaters"/i);
    const markdown = readFileSync(join(home, "sessions", "d-example", "final_report.md"), "utf8");
    expect(markdown).toContain(`## Verdict of judge\n\n> ${CONCLUSION}`);
    expect(markdown).toMatch(/^## architect\n\n> /m);
    const told = await bosun("log", "d-example", "go");
    expect(told.stdout).toMatch(/ go +OPINION from go "Go: one static/);
    const report = JSON.parse(readFileSync(join(home, "sessions", "d-example", "final_report.json"), "utf8"));
    expect(report).toMatchObject({
      mode: "debate",
      requirement: QUESTION,
      outcome: "done",
      tickets: [],
      result: {
        argued_by: "stable",
        rounds: { held: 3, of: 5 },
        verdict: { conclusion: expect.stringContaining(CONCLUSION), consensus: false },
        debaters: [{ role_id: "python" }, { role_id: "go" }, { role_id: "architect" }],
      },
    });
    expect(await proof("d-example")).toMatchObject({ ok: true, completeness: "closed", decisions: "ok" });
    const again = await debate(...SEATS, "--session", "d-example");
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("d-example")]);
  });

  it("takes its whole input from a file, and what is typed in place of it", async () => {
    const file = written("topic: Which?\ndebaters: [python, go]\njudge: judge\nrounds: 4\n");
    const ended = await bosun("debate", file, QUESTION, "--roles", ROLES, "--rounds", "1", "--session", "d-file");
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
    const { input } = firstRecord("d-file").payload;
    const [debaters, judge] = [["python", "go"], "judge"];
    expect(input).toEqual({ topic: QUESTION, debaters, judge, rounds: 1, until: "rounds" });
  });

  it("is refused for everything that is wrong with a file, and with what is typed, with its places", async () => {
    const file = written("topic: Which?\ndebaters: [python, goo]\njudg: judge\nrounds: 0\n");
    const refused = await bosun("debate", file, "--roles", ROLES, "--until", "stabel");
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain(`${file}:2:20: "debaters" names "goo"`);
    expect(refused.stderr).toContain("  2 | debaters: [python, goo]\n    |                    ^\n");
    expect(refused.stderr).toContain(`${file}:3:1: "judg" is not a known key; did you mean "judge"?`);
    expect(refused.stderr).toContain(`${file}:4:9: "rounds" must be at least 1, not 0`);
    expect(refused.stderr).toContain('--until: must be "rounds" or "stable", not "stabel"; did you mean "stable"?');
    expect(existsSync(home)).toBe(false);
  });

  it("goes on with the same session for the same input, and names what differs of another", async () => {
    const same = [...SEATS, "--rounds", "1", "--session", "d-same"];
    await debate(...same);
    expect(await debate(...same)).toMatchObject({ code: 0, stdout: expect.stringContaining("d-same is done") });
    const other = await debate(...same, "--until", "stable");
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("other inputs: until") });
  });

  it("exits with 1 and the reason if no debater is left", async () => {
    const folder = scratchDirectory();
    const [roles, config] = [join(folder, "roles.json"), join(folder, "config.json")];
    const crew = ["a", "b", "judge"].map((role_id) => ({ role_id, type: "participant", cli_command: ["false"] }));
    writeFileSync(roles, JSON.stringify({ roles: crew }));
    writeFileSync(config, JSON.stringify({ max_retries: 0 }));
    const ended = await debate("--roles", roles, "--config", config, "--agents", "a,b", "--judge", "judge");
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/\bdebater\b/);
  });

  it("has three rounds by default", async () => {
    const ended = await debate(...SEATS, "--json");
    const lines = jsonLines<Record<string, unknown>>(ended.stdout);
    expect(lines.at(-1)).toMatchObject({ type: "result", exit_code: 0, result: { rounds: { held: 3, of: 3 } } });
    expect(lines.every((line) => typeof line["type"] === "string")).toBe(true);
  });

  it("seats the named roles as participants, except a manager who judges", async () => {
    const roles = join(scratchDirectory(), "roles.json");
    const shipped = readFileSync(ROLES, "utf8").replaceAll("${registry.folder}", join(ROOT, "examples"));
    const crew = JSON.parse(shipped) as { roles: { role_id: string; type: string }[] };
    for (const role of crew.roles) role.type = role.role_id === "judge" || role.role_id === "go" ? "manager" : "worker";
    writeFileSync(roles, JSON.stringify(crew));
    const seats = ["--roles", roles, "--agents", "python, go", "--judge", "judge"];
    const ended = await debate(...seats, "--rounds", "1", "--session", "d-seats");
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
    const opened = firstRecord("d-seats");
    expect(opened.payload.roles.map(({ role_id, type }: { role_id: string; type: string }) => [role_id, type])).toEqual(
      [
        ["python", "participant"],
        ["go", "participant"],
        ["judge", "manager"],
      ],
    );
    expect(await proof("d-seats")).toMatchObject({ ok: true });
  });

  it.each([
    ["an unknown debater", ["--agents", "python,pyton", "--judge", "judge"], 'did you mean "python"?'],
    ["a debater as its judge", ["--agents", "python,go", "--judge", "go"], "--judge"],
    [
      "rounds in words",
      ["--agents", "python,go", "--judge", "judge", "--rounds", "two"],
      "--rounds: must be an integer",
    ],
    ["seats that are missing", ["--agents", "python"], "--judge: is missing\n--agents: must have at least 2"],
    ["a question too many", ["--agents", "python,go", "--judge", "judge", "more"], "a word too many"],
    ["a question and no debaters", ["--judge", "judge"], "Without --agents"],
    ["no such workspace", ["--agents", "python,go", "--judge", "judge", "--cwd", "/no/such/place"], "/no/such/place"],
    ["an id that is no folder's name", ["--agents", "python,go", "--judge", "judge", "--session", "../up"], "../up"],
  ])("refuses %s before it creates anything", async (_, words, message) => {
    const ended = await debate("--roles", ROLES, ...words);
    expect(ended.stderr).toContain(message);
    expect({ code: ended.code, stdout: ended.stdout, home: existsSync(home) }).toEqual({
      code: 2,
      stdout: "",
      home: false,
    });
  });

  it("looks for a debater's program in its role's own PATH, before it creates anything", async () => {
    const roles = join(scratchDirectory(), "roles.json");
    const shipped = readFileSync(ROLES, "utf8").replaceAll("${registry.folder}", join(ROOT, "examples"));
    const crew = JSON.parse(shipped) as { roles: { role_id: string }[] };
    for (const role of crew.roles)
      if (role.role_id === "go") Object.assign(role, { cli_command: ["node"], env: { PATH: "/nowhere" } });
    writeFileSync(roles, JSON.stringify(crew));
    const ended = await debate("--roles", roles, "--agents", "python,go", "--judge", "judge");
    expect([ended.code, ended.stderr]).toEqual([
      3,
      expect.stringContaining('The role go runs "node", which is not on the PATH'),
    ]);
    expect(existsSync(home)).toBe(false);
  });

  it("refuses an isolation other than the shared workspace", async () => {
    const settings = join(scratchDirectory(), "settings.json");
    writeFileSync(settings, JSON.stringify({ isolation: "worktree" }));
    const refused = await debate(...SEATS, "--config", settings);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("--isolation none") });
    expect(existsSync(home)).toBe(false);
  });
});
