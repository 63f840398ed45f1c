import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { jsonLines, type Rig, rig, tinyPlan, until } from "./rig.ts";

const BASE = { "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "package.json": "{}\n", ".gitignore": "node_modules\n" };

/** A repository with these files, and what its git says. */
function repository(files: Readonly<Record<string, string>> = BASE) {
  const here = rig();
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...words], {
      cwd: here.workspace,
      encoding: "utf8",
    }).trim();
  git("init", "--quiet", "--initial-branch", "main");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(here.workspace, name)), { recursive: true });
    writeFileSync(join(here.workspace, name), text);
  }
  git("add", ".");
  git("commit", "--quiet", "-m", "base");
  return { here, git };
}

type Tasks = Parameters<typeof tinyPlan>[0];

function run(here: Rig, tasks: Tasks, settings: object = {}) {
  const plan = here.write("plan.json", tinyPlan(tasks));
  const config = here.write("settings.json", JSON.stringify(settings));
  return typed(here, ["run", "--plan", plan, "--config", config, "--isolation", "worktree", "--no-input"]);
}

/** What the session's branch holds. */
function merged(here: Rig, session_id: string, path: string): string {
  const repo = join(here.home, "sessions", session_id, "copies", "repo.git");
  return execFileSync("git", ["--git-dir", repo, "show", `refs/bosun/session:${path}`], { encoding: "utf8" });
}

interface LogRecord {
  readonly payload_type: string;
  readonly payload: {
    readonly results?: readonly { readonly passed: boolean; readonly criterion: { readonly text: string } }[];
    readonly merge?: { readonly state: string; readonly files?: readonly string[] };
    readonly base_tests?: {
      readonly files: readonly string[];
      readonly results: readonly { readonly passed: boolean }[];
    };
    readonly message?: unknown;
  };
  readonly record: { readonly ticket_id?: string };
}

async function recordsOf(here: Rig, session_id: string, type: string): Promise<LogRecord[]> {
  const { stdout } = await typed(here, ["replay", session_id, "--json"]);
  return jsonLines<LogRecord>(stdout).filter(({ payload_type }) => payload_type === type);
}

async function mergesOf(here: Rig, session_id: string): Promise<(string | undefined)[]> {
  const results = await recordsOf(here, session_id, "check_result");
  return results.flatMap(({ payload: { merge } }) => merge?.state ?? []);
}

const first = (command: string, later: string) => `if [ "$BOSUN_ATTEMPT" = 1 ]; then ${command}; else ${later}; fi`;

describe("with a copy of the repository for each ticket", () => {
  it("two tickets that change one file are both merged, and the person's repository stays as it is", async () => {
    const { here, git } = repository();
    const before = git("status", "--porcelain", "--branch");
    const ran = await run(here, [
      { task_id: "one", shell: "sed -i s/1/one/ a.txt" },
      { task_id: "nine", shell: "sed -i s/9/nine/ a.txt; echo new > b.txt" },
    ]);
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    expect(merged(here, session_id, "a.txt")).toBe("one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    expect(merged(here, session_id, "b.txt")).toBe("new\n");
    expect(git("status", "--porcelain", "--branch")).toBe(before);
    expect(readFileSync(join(here.workspace, "a.txt"), "utf8")).toBe(BASE["a.txt"]);
    for (const { stdout } of [ran, await typed(here, ["report"])]) expect(stdout).toMatch(/^.*one +merged\b/m);
    // Copies of merged tickets are gone.
    expect(readdirSync(join(here.home, "sessions", session_id, "copies", "trees"))).not.toContain("one");
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("a ticket in conflict is sent back with the other's work, its files and its places", async () => {
    const { here } = repository();
    const change = (name: string) =>
      first(`sed -i s/5/${name}/ a.txt`, "grep -q '<<<<<<<' a.txt && printf 'both\\n' > a.txt");
    const ran = await run(here, [
      { task_id: "left", shell: change("left") },
      { task_id: "right", shell: change("right") },
    ]);
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    expect(merged(here, session_id, "a.txt")).toBe("both\n");
    expect(ran.stdout).toMatch(/ sent back: it conflicts with \S+ \(.*\) in a\.txt \(1 place\)/);
    const [conflict, ...others] = (await recordsOf(here, session_id, "check_result")).filter(
      ({ payload: { merge } }) => merge?.state === "conflict",
    );
    expect(others).toEqual([]);
    const [second, other] = conflict?.record.ticket_id === "left" ? ["left", "right"] : ["right", "left"];
    expect(conflict).toMatchObject({ record: { ticket_id: second }, payload: { merge: { files: ["a.txt"] } } });
    expect(conflict?.payload.results?.[0]?.criterion.text).toMatch(new RegExp(`${other}.* in a\\.txt \\(1 place\\)`));
  });

  it("work that fails checks.merge on the merged tree is sent back, and never on the branch", async () => {
    const { here } = repository();
    // Each passes alone.
    const merge = [{ text: "not both", command: ["sh", "-c", "! { test -e x && test -e y; }"] }];
    const ran = await run(
      here,
      [
        { task_id: "x", shell: "touch x" },
        { task_id: "y", shell: first("touch y", "test -e x && rm -f y && touch z"), dependencies: [] },
      ].map((task, at) => (at === 1 ? { ...task, shell: `sleep 0.5; ${task.shell}` } : task)),
      { checks: { merge } },
    );
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    expect(await mergesOf(here, session_id)).toEqual(["merged", "failed", "merged"]);
    expect(() => merged(here, session_id, "y")).toThrow(/does not exist|exists on disk/);
    expect(merged(here, session_id, "z")).toBe("");
  });

  it("a ticket starts from what its dependencies have merged, and is set up before its worker begins", async () => {
    const { here } = repository();
    mkdirSync(join(here.workspace, "node_modules"));
    writeFileSync(join(here.workspace, "node_modules", "tool"), "given\n");
    const ran = await run(
      here,
      [
        { task_id: "first", shell: "cat prepared node_modules/tool > out.txt" },
        { task_id: "then", shell: "cat out.txt out.txt > twice.txt", dependencies: ["first"] },
      ],
      {
        worktree: { setup: ["echo prepared > prepared", "echo prepared >> .git/info/exclude"] },
      },
    );
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    expect(merged(here, session_id, "twice.txt")).toBe("prepared\ngiven\nprepared\ngiven\n");
    expect(() => merged(here, session_id, "node_modules/tool")).toThrow(/does not exist|exists on disk/);
  });

  it("a setup that fails blocks the ticket with its command's words", async () => {
    const { here } = repository();
    const settings = { worktree: { setup: ["echo no such thing; exit 7"] }, max_retries: 0, max_escalations: 0 };
    const ran = await run(here, [{ task_id: "only", shell: "touch done" }], settings);
    expect(ran.code).not.toBe(0);
    const [failed] = await recordsOf(here, await onlySession(here), "turn_failed");
    expect(failed?.payload.message).toContain("no such thing");
  });

  it("work on a protected path, or with the marks of a conflict, is sent back with the paths", async () => {
    const { here } = repository({ ...BASE, ".github/workflows/ci.yml": "on: push\n", "sub/package-lock.json": "{}\n" });
    const ran = await run(here, [
      {
        task_id: "ci",
        shell: first("echo 'on: never' > .github/workflows/ci.yml; touch ok", "git checkout -q .github"),
      },
      { task_id: "lock", shell: first("echo 1 > sub/package-lock.json", "git checkout -q sub") },
      {
        task_id: "dependency",
        shell: "echo '{\"added\":1}' > sub/package-lock.json",
        more: { writes: ["sub/package-lock.json"] },
      },
    ]);
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    const refused = await recordsOf(here, session_id, "turn_failed");
    expect(refused).toHaveLength(2);
    const messages = refused.map(({ payload }) => payload.message).join("\n");
    for (const path of [".github/workflows/ci.yml", "sub/package-lock.json"])
      expect(messages).toContain(`${path} is a protected path`);
    expect(merged(here, session_id, "sub/package-lock.json")).toContain("added");
    expect(merged(here, session_id, ".github/workflows/ci.yml")).toBe("on: push\n");
    expect(merged(here, session_id, "ok")).toBe("");
  });

  it("work whose answer was there when the session was stopped is merged, and not lost", async () => {
    const { here } = repository();
    const answered = join(here.home, "..", "answered");
    const sent = { session_id: "s", source: "worker", target: "scheduler", version: "1.0" };
    const report = { ...sent, payload_type: "report", payload: { status: "completed" } };
    const script = `echo work > work.txt; echo '${JSON.stringify(report)}'; touch ${answered}; exec sleep 60`;
    const playbook = { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] };
    const roles = [playbook, { role_id: "worker", type: "worker", cli_command: ["sh", "-c", script] }];
    const crew = here.write("roles.json", JSON.stringify({ roles }));
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true" }]));
    const words = ["run", "--plan", plan, "--session", "s", "--isolation", "worktree", "--roles", crew, "--no-input"];
    const running = here.start(words);
    await until("the answer", () => existsSync(answered));
    expect((await typed(here, ["stop"])).code).toBe(0);
    await running.done;
    expect((await typed(here, ["resume", "s", "--no-input"])).code).toBe(0);
    expect(merged(here, "s", "work.txt")).toBe("work\n");
    expect(await mergesOf(here, "s")).toEqual(["merged"]);
  });

  it("a session that is stopped while a copy is set up is stopped, and goes on", async () => {
    const { here } = repository();
    const begun = join(here.home, "..", "begun");
    const settings = {
      // In the tree in which the base is checked.
      worktree: { setup: [`case $PWD in *check*) test -e ${begun} || { touch ${begun}; exec sleep 60; } ;; esac`] },
      checks: { ticket: [{ text: "fine", command: ["true"] }] },
    };
    const config = here.write("settings.json", JSON.stringify(settings));
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "touch one" }]));
    const words = [
      "run",
      "--plan",
      plan,
      "--session",
      "s",
      "--isolation",
      "worktree",
      "--config",
      config,
      "--no-input",
    ];
    const running = here.start(words);
    await until("the setup", () => existsSync(begun));
    expect((await typed(here, ["stop"])).code).toBe(0);
    expect((await running.done).stdout).toContain("s is stopped");
    expect((await typed(here, ["resume", "s", "--no-input"])).code).toBe(0);
    expect(merged(here, "s", "one")).toBe("");
  });

  it("uncommitted changes need a choice: --base leaves them out, --include-dirty takes them in", async () => {
    const { here } = repository();
    writeFileSync(join(here.workspace, "a.txt"), "mine\n");
    const tasks = [{ task_id: "copy", shell: "cp a.txt seen.txt" }];
    const refused = await run(here, tasks);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("--include-dirty") as string });
    expect(existsSync(join(here.home, "sessions"))).toBe(false);
    const plan = join(here.workspace, "../plan.json");
    for (const [flags, seen] of [
      [["--base", "HEAD"], BASE["a.txt"]],
      [["--include-dirty"], "mine\n"],
    ] as const) {
      const args = ["run", "--plan", plan, "--isolation", "worktree", "--no-input", "--json", ...flags];
      const ran = await typed(here, args);
      expect(ran.code).toBe(0);
      const session_id = jsonLines<{ session_id: string }>(ran.stdout)[0]?.session_id ?? "";
      expect(merged(here, session_id, "seen.txt")).toBe(seen);
    }
    expect(readFileSync(join(here.workspace, "a.txt"), "utf8")).toBe("mine\n");
  });

  it("names what comes into the copies otherwise than in the workspace, or not at all", async () => {
    const lists = { ".gitattributes": "*.bin filter=lfs\n", ".gitignore": "*.log\n", ".worktreeinclude": "*.log\n" };
    const { here } = repository({ ...BASE, ...lists });
    writeFileSync(join(here.workspace, "small.log"), "small\n");
    writeFileSync(join(here.workspace, "big.log"), Buffer.alloc(11 * 1024 * 1024));
    const ran = await run(here, [{ task_id: "copy", shell: "cp small.log seen.txt; test ! -e big.log" }]);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/Filters .*: lfs\.\n(?:.*\n)*Not in the copies, .*: big\.log\.\n/);
    expect(merged(here, await onlySession(here), "seen.txt")).toBe("small\n");
  });

  it("a killed scheduler's merges are neither lost nor made twice", async () => {
    const { here } = repository();
    const tasks = ["t1", "t2", "t3", "t4"].map((task_id) => ({
      task_id,
      shell: `echo ${task_id} >> ${join(here.home, "..", "starts")}; sleep 0.2; touch ${task_id}`,
    }));
    const plan = here.write("plan.json", tinyPlan(tasks));
    const killed = here.start(["run", "--plan", plan, "--isolation", "worktree", "--no-input", "--max-workers", "2"]);
    await until("a first merge", () => / merged \(1\/4\)/.test(killed.stdout()));
    killed.child.kill("SIGKILL");
    await killed.done;
    const session_id = await onlySession(here);
    expect((await typed(here, ["resume", session_id, "--no-input"])).code).toBe(0);
    for (const { task_id } of tasks) expect(merged(here, session_id, task_id)).toBe("");
    expect(await mergesOf(here, session_id)).toEqual(["merged", "merged", "merged", "merged"]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("the checks run on the base before any work, and a fix must be red there", async () => {
    const { here } = repository();
    const check = (text: string, script: string, more = {}) => ({ text, command: ["sh", "-c", script], ...more });
    const settings = {
      checks: { ticket: [check("a is there", "test -e a.txt"), check("b is there", "test -e b.txt")] },
    };
    const fix = { acceptance_criteria: [check("c was missing", "test -e c.txt", { was_red: true })] };
    const none = { acceptance_criteria: [check("a was missing", "test -e a.txt", { was_red: true })], max_attempts: 1 };
    const ran = await run(
      here,
      [
        { task_id: "fix", shell: "touch b.txt c.txt", more: fix },
        { task_id: "none", shell: "touch b.txt", more: none },
      ],
      settings,
    );
    expect(ran.code).toBe(1);
    const session_id = await onlySession(here);
    const results = await recordsOf(here, session_id, "check_result");
    const passed = (of: string | undefined) =>
      results
        .filter(({ record: { ticket_id }, payload: { merge } }) => ticket_id === of && merge === undefined)
        .map(({ payload }) => payload.results?.map((one) => one.passed));
    // The settings' own, then the plan's.
    expect(passed(undefined)).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(passed("fix")).toEqual([[true, true, true]]);
    expect(passed("none")).toEqual([[true, true, false]]);
    const { stdout } = await typed(here, ["plan", session_id, "--no-pager"]);
    expect(stdout).toMatch(/Fails before any work\n +b is there: .*\n +c was missing: .* \(expected\)\n/);
  });

  it("tasks whose writes overlap are not worked on at once, and what is written outside is told", async () => {
    const { here } = repository();
    const log = join(here.home, "..", "worked");
    const at = (name: string) =>
      `echo begin ${name} >> ${log}; sleep 0.3; touch src-${name}; echo end ${name} >> ${log}`;
    const ran = await run(here, [
      { task_id: "one", shell: at("one"), more: { writes: ["src-*"] } },
      { task_id: "two", shell: `${at("two")}; touch elsewhere`, more: { writes: ["src-two"] } },
    ]);
    expect(ran.code).toBe(0);
    expect(readFileSync(log, "utf8").trim().split("\n")).toEqual(["begin one", "end one", "begin two", "end two"]);
    const reports = await recordsOf(here, await onlySession(here), "report");
    const issues = reports.flatMap(({ payload }) => (payload as { readonly issues?: readonly string[] }).issues ?? []);
    expect(issues).toEqual(["Written outside of `writes`: elsewhere"]);
  });

  it("work that changes an existing test is also checked with the test as it was, and somebody judges it", async () => {
    const { here } = repository({ ...BASE, "tests/a.sh": "grep -q 5 a.txt\n" });
    const more = { acceptance_criteria: [{ text: "the tests pass", command: ["sh", "tests/a.sh"] }], review: "checks" };
    const ran = await run(here, [
      { task_id: "soft", shell: "sed -i s/5/five/ a.txt; echo true > tests/a.sh", more },
      { task_id: "good", shell: "echo 10 >> a.txt; echo 'grep -q 10 a.txt' >> tests/b.sh", more },
    ]);
    expect(ran.code).toBe(0);
    const records = await recordsOf(here, await onlySession(here), "check_result");
    const tests = (id: string) =>
      records.flatMap(({ record, payload: { base_tests } }) =>
        record.ticket_id === id && base_tests ? [[base_tests.files, base_tests.results.map((one) => one.passed)]] : [],
      );
    expect(tests("soft")).toEqual([[["tests/a.sh"], [false]]]);
    expect(tests("good")).toEqual([]);
    const requests = await recordsOf(here, await onlySession(here), "turn_request");
    const reviewed = requests.filter(
      ({ payload }) => (payload.message as { payload_type?: string } | undefined)?.payload_type === "review_request",
    );
    expect(reviewed.map(({ record }) => record.ticket_id)).toEqual(["soft"]);
  });
});
