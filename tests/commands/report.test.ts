import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedIn, typedJson } from "./in-process.ts";
import { ASKING, type Rig, rig, ROOT, tinyPlan } from "./rig.ts";

const PLAN = tinyPlan([
  {
    task_id: "first",
    shell: 'echo kept > "$BOSUN_ARTIFACTS_DIR/list.txt"',
    more: {
      expected_outputs: ["list.txt"],
      acceptance_criteria: [{ text: "it says ok", command: ["echo", "ok then"] }],
    },
  },
  { task_id: "second", shell: "true", dependencies: ["first"], more: { description: "Do the <second>" } },
]);

interface Reported {
  readonly session_id: string;
  readonly outcome: string;
  readonly tickets: readonly Record<string, unknown>[];
  readonly roles: readonly { readonly role_id: string; readonly usage: { readonly turns: number } }[];
  readonly checks: readonly Record<string, unknown>[];
  readonly turns: readonly { readonly ticket_id?: string; readonly to?: string }[];
  readonly verification: { readonly ok: boolean; readonly problems: readonly { readonly sequence: number | null }[] };
}

async function done(here: Rig): Promise<{ readonly session_id: string; readonly log: string }> {
  const ran = await typed(here, ["run", "--plan", here.write("plan.json", PLAN), "--reporter", "silent"]);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const session_id = await onlySession(here);
  return { session_id, log: join(here.home, "logs", session_id) };
}

/** Changes one record of a log. */
function damage(log: string): void {
  const name = readdirSync(log).find((file) => file.endsWith("-check_result.json")) ?? "";
  const file = join(log, name);
  writeFileSync(file, readFileSync(file, "utf8").replace("ok then", "ok thxn"));
}

describe("bosun report", () => {
  it("shows what was done and by whom, checks, artifacts and what the log proves", async () => {
    const here = rig();
    const { session_id } = await done(here);
    const { code, stdout, stderr } = await typed(here, ["report"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const said of [session_id, "Do the <second>", "shell", "2 passed", "list.txt", "verified", "2 of 2"])
      expect(stdout).toContain(said);
  });

  it("prints one JSON object for programs", async () => {
    const here = rig();
    const { session_id } = await done(here);
    const report = await typedJson<Reported>(here, ["report", session_id, "--json"]);
    expect(report).toMatchObject({
      session_id,
      outcome: "done",
      tickets: [
        { ticket_id: "first", status: "done", owner: "shell", artifacts: [{ label: "list.txt", size_bytes: 5 }] },
        { ticket_id: "second", status: "done", dependencies: ["first"] },
      ],
      verification: { ok: true, problems: [] },
    });
    expect(report.checks[0]).toMatchObject({ ticket_id: "first", passed: true, output: "ok then" });
    expect(report.roles.find(({ role_id }) => role_id === "shell")?.usage.turns).toBe(2);
    expect(report.turns.every(({ to }) => to !== undefined)).toBe(true);
  });

  it("reports the same from a copy of the log folder, without a database", async () => {
    const here = rig();
    const { session_id, log } = await done(here);
    const whole = await typedJson<Reported>(here, ["report", session_id, "--json"]);
    const copy = join(here.workspace, "copied");
    cpSync(log, copy, { recursive: true });
    rmSync(here.home, { recursive: true });
    const { code, stdout } = await typedIn(here.workspace, here.environment, ["report", "./copied", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(whole);
  });

  it("shows the conclusion and the positions of a session without tickets", async () => {
    const here = rig();
    const seats = ["--roles", "examples/debate-roles.json", "--agents", "python,go", "--judge", "judge"];
    const bosun = (...words: readonly string[]) => typedIn(ROOT, { ...here.environment, BOSUN_HOME: here.home }, words);
    expect((await bosun("debate", "Python or Go?", ...seats, "--rounds", "1")).code).toBe(0);
    const { code, stdout } = await bosun("report", "--md");
    expect(code).toBe(0);
    for (const said of ["# Python or Go?", "Verdict of judge", "one static binary"]) expect(stdout).toContain(said);
  });

  it("shows a waiting session as not closed, not as damaged", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "true" }], ASKING);
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"])).code).toBe(4);
    const { code, stdout } = await typed(here, ["report"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Whose name?");
    expect(stdout).toContain("not closed");
  });

  it("names the damaged record, shows the others and exits with 6", async () => {
    const here = rig();
    const { session_id, log } = await done(here);
    damage(log);
    for (const named of [session_id, log]) {
      const { code, stdout } = await typed(here, ["report", named, "--json"]);
      const { verification, tickets } = JSON.parse(stdout) as Reported;
      expect(code).toBe(6);
      expect(verification.problems[0]?.sequence).toBeGreaterThan(1);
      expect(tickets).toHaveLength(2);
    }
    expect((await typed(here, ["report", session_id])).stdout).toContain("damaged");
  });

  it("reports what is left of a log whose first record is missing", async () => {
    const here = rig();
    const { log } = await done(here);
    rmSync(join(log, "000001-session_opened.json"));
    const { code, stdout, stderr } = await typed(here, ["report", log]);
    expect([code, stderr]).toEqual([6, ""]);
    expect(stdout).toContain("Do the <second>");
  });
});

describe("bosun report without a log", () => {
  it("fails for a folder that is not a log, a missing folder and an unknown session", async () => {
    const here = rig();
    await done(here);
    mkdirSync(join(here.workspace, "empty"));
    const codes = [];
    for (const named of ["./empty", "./nowhere", "s-nobody"]) {
      const { code, stdout, stderr } = await typed(here, ["report", named]);
      expect(stdout).toBe("");
      expect(stderr).toContain(named.replace("./", ""));
      codes.push(code);
    }
    expect(codes).toEqual([3, 2, 2]);
  });
});

describe("the file of a report", () => {
  it("is written, named in the output, and replaced by the next report", async () => {
    const here = rig();
    const { session_id } = await done(here);
    for (const words of [
      ["--html", "r.html"],
      ["--html", "r.html"],
      ["--md", "r.md"],
      ["--md", "r.md"],
    ]) {
      const { code, stdout } = await typed(here, ["report", session_id, ...words]);
      expect(code).toBe(0);
      expect(stdout).toContain(join(here.workspace, words[1] ?? ""));
    }
    expect(readdirSync(here.workspace).toSorted()).toEqual(["r.html", "r.md"]);
    expect(readFileSync(join(here.workspace, "r.html"), "utf8")).toContain("</html>");
    expect(readFileSync(join(here.workspace, "r.md"), "utf8")).toContain(session_id);
  });

  it("does not replace a file that is not a report, unless forced", async () => {
    const here = rig();
    const { session_id } = await done(here);
    const file = join(here.workspace, "mine.html");
    writeFileSync(file, "my own page");
    const refused = await typed(here, ["report", session_id, "--html", "mine.html"]);
    expect([refused.code, readFileSync(file, "utf8")]).toEqual([2, "my own page"]);
    expect(refused.stderr).toContain("--force");
    expect((await typed(here, ["report", session_id, "--html", "mine.html", "--force"])).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("</html>");
  });

  it("is written to the target of a symbolic link", async () => {
    const here = rig();
    const { session_id } = await done(here);
    writeFileSync(join(here.workspace, "real.html"), "old");
    symlinkSync("real.html", join(here.workspace, "link.html"));
    expect((await typed(here, ["report", session_id, "--html", "link.html", "--force"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "real.html"), "utf8")).toContain("</html>");
  });

  it("is refused if its name is ambiguous or unusable, and nothing is written", async () => {
    const here = rig();
    const { session_id } = await done(here);
    mkdirSync(join(here.workspace, "folder.html"));
    symlinkSync("loop.html", join(here.workspace, "loop.html"));
    const refusals = [
      { words: ["--md", session_id], code: 2 },
      { words: ["--html", session_id], code: 2 },
      { words: ["--md", "--json"], code: 2 },
      { words: ["--html", "folder.html"], code: 2 },
      { words: ["--html", "no/where/r.html"], code: 3 },
      { words: ["--html", "loop.html"], code: 3 },
    ];
    for (const { words, code } of refusals) {
      const refused = await typed(here, ["report", ...words]);
      expect([words, refused.code]).toEqual([words, code]);
      expect(refused.stderr).not.toBe("");
      expect(readdirSync(here.workspace)).toEqual(["folder.html", "loop.html"]);
    }
  });

  it("is Markdown on stdout if no name is given", async () => {
    const here = rig();
    const { session_id } = await done(here);
    const { stdout } = await typed(here, ["report", session_id, "--md"]);
    expect(stdout.split("\n", 1)[0]).toBe("<!-- bosun report -->");
  });
});
