import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { done, gitThatKills, ran, repositoryRig } from "./repository.ts";
import { fakePrograms } from "./fake-programs.ts";
import { jsonLines, type Rig, tinyPlan, until, withoutRetries } from "./rig.ts";
import { open } from "./terminal.ts";

interface LogRecord {
  readonly source: string;
  readonly payload_type: string;
  readonly payload: { readonly role_id?: string };
}

async function recordsOf(here: Rig, type: string): Promise<LogRecord[]> {
  const { stdout } = await typed(here, ["replay", "s", "--json"]);
  return jsonLines<LogRecord>(stdout).filter(({ payload_type }) => payload_type === type);
}

describe("a result that waits to be accepted", () => {
  it("shows what is merged, at most 20 lines of it, and names the command for all", async () => {
    const here = repositoryRig();
    const many = { task_id: "many", shell: "for name in $(seq 10 40); do echo $name > $name.txt; done" };
    expect(await ran(here, [many], { config: { confirm: true } })).toBe(4);
    for (const command of [["status", "s"], ["inbox"]]) {
      const { stdout } = await typed(here, command);
      expect(stdout).toMatch(/The result needs your approval\.\n {6}10\.txt \| 1 \+\n/);
      expect(stdout).toMatch(
        / {6}27\.txt .*\n {6}and 13 more files\n {6}31 files changed, .*\n {6}all of it: .* diff s\n/,
      );
    }
    const { stdout } = await typed(here, ["status", "s", "--json"]);
    const { pending_decisions: decisions } = JSON.parse(stdout) as { pending_decisions: { changes: string[] }[] };
    expect(decisions.map(({ changes }) => changes.length)).toEqual([21]);
  });
});

describe("diff", () => {
  it("shows what is merged, or what one ticket changes, as a patch that applies, and touches nothing", async () => {
    const here = repositoryRig();
    await done(here);
    const before = here.state();
    const whole = await typed(here, ["diff"]);
    expect(whole.code).toBe(0);
    for (const part of ["\n+three\n", "\n+++ b/two.txt\n", "\ndeleted file mode"]) expect(whole.stdout).toContain(part);
    const two = await typed(here, ["diff", "two"]);
    expect(two.stdout).toMatch(/^diff --git a\/two\.txt b\/two\.txt\n/);
    expect(two.stdout).not.toContain("a.txt");
    expect((await typed(here, ["diff", "s", "one", "--stat"])).stdout).toMatch(/^ a\.txt .*\n b\.txt .*\n 2 files/);
    expect((await typed(here, ["diff", "--session", "s", "three"])).code).toBe(2);
    expect(here.state()).toBe(before);
    here.git("apply", here.write("patch", whole.stdout));
    expect(here.git("status", "--porcelain")).toBe(" M a.txt\n D b.txt\n?? two.txt");
  });

  it("shows work that was not merged, and says of a ticket without work that there is none", async () => {
    const here = repositoryRig();
    const red = [{ text: "never", command: ["false"] }];
    await ran(here, [
      { task_id: "red", shell: "echo red > red.txt", more: { acceptance_criteria: red } },
      { task_id: "lost", shell: "exit 1" },
    ]);
    expect((await typed(here, ["diff"])).stderr).toContain("Nothing has changed.");
    expect((await typed(here, ["diff", "red"])).stdout).toContain("\n+red\n");
    const { code, stderr } = await typed(here, ["diff", "lost"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/lost has delivered nothing yet.*It works in \S+tree/s)]);
  });

  it("goes through a pager at a terminal, with colours, and shows no sequence of an agent's", async () => {
    const here = repositoryRig();
    await done(here, [{ task_id: "one", shell: "printf 'a\\033[2Jb\\n%.0s' $(seq 99) > one.txt" }]);
    const pane = open(here, ["diff"], { PAGER: "cat > ../paged; true" }, 60);
    expect(await pane.exit()).toBe(0);
    const paged = readFileSync(join(here.workspace, "../paged"), "utf8");
    expect(paged).toContain("\u001B[32m+ab\u001B[39m");
    expect(paged).not.toContain("\u001B[2J");
  });

  it("opens the two states in a tool of the person's", async () => {
    const here = repositoryRig();
    await done(here);
    const seen = here.write("seen", "");
    here.git("config", "--global", "difftool.mine.cmd", `diff -r "$LOCAL" "$REMOTE" > ${seen}; true`);
    expect((await here.run(["diff", "two", "--tool", "mine"])).code).toBe(0);
    expect(readFileSync(seen, "utf8")).toMatch(/^Only in .*: two\.txt\n$/);
    expect((await here.run(["diff", "--tool", "no-such-tool"])).code).toBe(3);
  });
});

describe("take", () => {
  it("says where a ticket's copy is; what a person leaves there is checked, merged and kept", async () => {
    const here = repositoryRig();
    const check = { text: "has both", command: ["sh", "-c", "test -s own.txt && test -s mine.txt"] };
    const task = { task_id: "one", shell: "echo own > own.txt", more: { acceptance_criteria: [check] } };
    const other = { task_id: "two", shell: "echo two > two.txt" };
    expect(await ran(here, [task, other])).toBe(1);
    const { code, stdout } = await typed(here, ["take", "one"]);
    const [, directory = ""] = /^cd (.*)$/m.exec(stdout) ?? [];
    expect([code, stdout]).toEqual([0, expect.stringContaining("bosun retry s one")]);
    expect(existsSync(join(directory, "own.txt"))).toBe(true);
    writeFileSync(join(directory, "mine.txt"), "mine\n");
    expect((await typed(here, ["retry", "s", "one", "--no-input"])).code).toBe(0);
    expect((await typed(here, ["diff", "one"])).stdout).toContain("\n+mine\n");
    const merged = await typed(here, ["take", "one"]);
    expect([merged.code, merged.stderr]).toEqual([2, expect.stringContaining("one is merged")]);
    expect((await typed(here, ["take", "s"])).code).toBe(2);
  });

  it("is refused while a scheduler runs the session", async () => {
    const here = repositoryRig();
    const plan = here.write("slow.json", tinyPlan([{ task_id: "one", shell: "echo > begun; cat /dev/zero" }]));
    const running = here.start(["run", "--plan", plan, "--session", "s", "--isolation", "worktree"]);
    const tree = join(here.home, "sessions/s/copies/trees/one/tree");
    await until("the worker to begin", () => existsSync(join(tree, "begun")));
    const { code, stderr } = await typed(here, ["take", "one"]);
    expect([code, stderr]).toEqual([7, expect.stringContaining("bosun stop s")]);
    expect((await typed(here, ["stop"])).code).toBe(0);
    await running.done;
    const taken = await typed(here, ["take", "one"]);
    expect([taken.code, taken.stdout]).toEqual([0, expect.stringMatching(/^cd .*one\/tree\n[^]*bosun resume s\n$/)]);
    writeFileSync(join(tree, "mine.txt"), "mine\n");
    // Its turn was cut off, and is not run again.
    expect((await typed(here, ["give", "one"])).code).toBe(0);
    expect((await typed(here, ["diff", "one"])).stdout).toContain("\n+mine\n");
  });

  it("names the command with which the agent's program goes on with its conversation", async () => {
    const here = repositoryRig();
    const turn = `echo '{"type":"system","subtype":"init","session_id":"c-1 2"}'; exit 1`;
    const env = fakePrograms(here, { claude: { version: "2.1.999", turn } });
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true" }]));
    const roles = [
      { role_id: "manager", type: "manager", cli_command: ["sh", "-c", "exit 1"] },
      { role_id: "claude", type: "worker", cli_command: ["claude"], dialect: "claude" },
    ];
    const crew = here.write("roles.json", JSON.stringify({ roles }));
    const run = ["run", "--plan", plan, "--session", "s", "--isolation", "worktree", "--roles", crew];
    await typed(here, [...run, ...withoutRetries(here)], env);
    const { code, stdout } = await typed(here, ["take", "one"], env);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^cd .*\nclaude --resume 'c-1 2'\n/)]);
  });
});

describe("give", () => {
  const check = { text: "has both", command: ["sh", "-c", "test -s own.txt && test -s mine.txt"] };
  const task = { task_id: "one", shell: "echo own > own.txt", more: { acceptance_criteria: [check] } };
  const next = { task_id: "two", shell: "cp mine.txt two.txt", more: { dependencies: ["one"] } };

  it("hands in a person's files and commits, which are checked, reviewed and merged as theirs", async () => {
    const here = repositoryRig();
    expect(await ran(here, [task, next])).toBe(1);
    const tree = join(here.home, "sessions/s/copies/trees/one/tree");
    here.git("-C", tree, "commit", "-qm", "what the worker left", "--allow-empty");
    writeFileSync(join(tree, "mine.txt"), "mine\n");
    const before = here.state();
    const given = await typed(here, ["give", "one", "-m", "Add what was missing"]);
    expect([given.code, given.stderr]).toEqual([0, ""]);
    expect(given.stdout).toMatch(/one: Add what was missing\n +added mine.txt\n +added own.txt\n/);
    expect((await typed(here, ["diff", "one"])).stdout).toContain("\n+mine\n");
    expect((await typed(here, ["diff", "two"])).stdout).toContain("\n+mine\n");
    const reports = await recordsOf(here, "report");
    expect(reports.find(({ source }) => source === "user")).toMatchObject({
      payload: { status: "completed", ticket_id: "one", summary: "Add what was missing" },
      record: { changed_files: { files: [{ path: "mine.txt" }, { path: "own.txt" }] } },
    });
    const log = ["log", "--format=%an %s", "refs/bosun/session"];
    const authors = here.git("--git-dir", join(here.home, "sessions/s/copies/repo.git"), ...log);
    expect(authors).toMatch(/^Ada one: Add what was missing$/m);
    expect(here.state()).toBe(before);
    expect((await typed(here, ["replay", "s", "--verify"])).code).toBe(0);
  });

  it("hands in what is there after a kill in its middle", async () => {
    const here = repositoryRig();
    expect(await ran(here, [task])).toBe(1);
    const mine = join(here.home, "sessions/s/copies/trees/one/tree/mine.txt");
    writeFileSync(mine, "mine\n");
    const killed = await here.run(["give", "one"], { env: gitThatKills(here, "update-ref", "") });
    expect(killed.signal).toBe("SIGKILL");
    writeFileSync(mine, "mine, later\n");
    expect((await typed(here, ["give", "one"])).code).toBe(0);
    expect((await typed(here, ["diff", "one"])).stdout).toContain("\n+mine, later\n");
  });

  it("leaves work that fails its checks to the worker", async () => {
    const here = repositoryRig();
    expect(await ran(here, [task])).toBe(1);
    expect((await typed(here, ["give", "one"])).code).toBe(1);
    const turns = await recordsOf(here, "turn_request");
    expect(turns.filter(({ payload: { role_id } }) => role_id === "shell").length).toBeGreaterThan(1);
  });

  it("is refused for a merged ticket, and one without a copy", async () => {
    const here = repositoryRig();
    const never = { task_id: "three", shell: "true", more: { dependencies: ["one"] } };
    expect(await ran(here, [task, { task_id: "two", shell: "echo > two.txt" }, never])).toBe(1);
    for (const [ticket, why] of [
      ["two", "two is merged"],
      ["three", "three has no copy yet"],
    ] as const) {
      const { code, stderr } = await typed(here, ["give", ticket]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
    }
    expect((await typed(here, ["give", "s"])).code).toBe(2);
  });
});
