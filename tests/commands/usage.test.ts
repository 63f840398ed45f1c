import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { EXIT_CODE_OF } from "../../src/commands/context/exit-code.ts";
import { built } from "../built.ts";
import { typed } from "./in-process.ts";
import { jsonLines, ROOT, rig, tinyPlan } from "./rig.ts";

const GOOD = tinyPlan([{ task_id: "write", shell: "true" }]);

/** Arguments, the exit code, and a fact in the message. */
type Wrong = readonly [args: readonly string[], code: number, message: string | RegExp];

const FILES: Readonly<Record<string, string>> = {
  "good.json": GOOD,
  "cycle.json": tinyPlan([
    { task_id: "a", shell: "true", dependencies: ["b"] },
    { task_id: "b", shell: "true", dependencies: ["a"] },
  ]),
  "cycle.yaml": [
    "requirement: x\ntasks:",
    "  - {task_id: first, description: in no cycle, dependencies: [second]}",
    "  - {task_id: second, description: in it, dependencies: [third]}",
    "  - {task_id: third, description: in it, dependencies: [second]}\n",
  ].join("\n"),
  "unknown-dependency.yaml": "requirement: x\ntasks:\n  - task_id: a\n    description: d\n    dependencies: [b]\n",
  "unknown-role.yaml":
    "requirement: x\ntasks:\n  - task_id: a\n    description: d\n    assigned_to:\n      role_id: nobody\n",
  "twice.yaml": "requirement: x\ntasks:\n  - {task_id: a, description: d}\n  - {task_id: a, description: d}\n",
  "misspelt.yaml": "requirement: x\ntasks:\n  - task_id: a\n    descripton: d\n",
  "unchecked.yaml": "requirement: x\ntasks:\n  - {task_id: a, description: d, review: checks}\n",
  "both.yaml":
    "tasks:\n  - task_id: a\n    description: d\n    instruction: {summary: s, steps: [{shell: x, command: [y]}]}\n",
  "no-instruction.yaml": "tasks:\n  - task_id: a\n    description: d\n",
  "no-command.yaml":
    "tasks:\n  - task_id: a\n    description: d\n    instruction: {summary: s, steps: [think, {text: write}]}\n",
  "says-nothing.yaml": "tasks:\n  - task_id: a\n    description: ' '\n",
  "unknown-name.yaml": "tasks:\n  - task_id: a\n    description: d\n    instruction: {summary: '${answers.x}'}\n",
  "asking.yaml":
    "requirement: x\nquestions:\n  - {question_id: q, text: t}\ntasks:\n  - {task_id: a, description: d}\n",
  "broken.json": '{"tasks": [',
  "empty.yaml": "",
  "blank.txt": " \n ",
  "config.json": '{"max_workers": "many"}',
  "misspelt-config.json": '{"max_worker": 3}',
  "money.json": '{"budget": {"ticket": {"usd": 5}}}',
  "roles.json": '{"roles": [{"role_id": "w", "type": "worker", "cli_command": ["w"], "colour": "red"}]}',
  "model.json":
    '{"roles": [{"role_id": "playbook", "type": "manager", "backend": "model", "model": "small", "api_key_env": "NO_KEY"}]}',
  "script.json": '{"roles": [{"role_id": "w", "type": "worker", "cli_command": ["./good.json"]}]}',
  "worker.py": "#!/usr/bin/env python3\n",
  "answers.yaml": "name: [1, 2]\n",
};

/** Longer than any file system allows. */
const LONG = "x".repeat(300);

const CREW = ["--manager", "cat", "--worker", "cat"];

const WRONG: readonly Wrong[] = [
  [["roles", "--config", "nope.yaml"], 2, "nope.yaml"],
  [["frobnicate"], 2, "unknown command 'frobnicate'"],
  [["rnu"], 2, "(Did you mean run?)"],
  [["kill", "s-abc234"], 2, "(Did you mean stop?)"],
  [["--nonsense"], 2, "unknown option '--nonsense'"],
  [["run", "--plna", "x"], 2, "(Did you mean --plan?)"],
  [["run", "--plan"], 2, "argument missing"],
  [["run", "a", "b"], 2, "too many arguments"],
  [["run"], 2, "The requirement is empty."],
  [["run", "   "], 2, "The requirement is empty."],
  [["run", "x"], 3, "--plan FILE"],
  [["run", "x", "--file", "blank.txt"], 2, "--file"],
  [["run", "--file", "blank.txt", ...CREW], 2, "blank.txt"],
  [["run", "--file", "no-such-file", ...CREW], 2, "no-such-file"],
  ...["plan", "answers", "roles", "config"].map(
    (flag): Wrong => [["run", "--plan", "good.json", `--${flag}`, "no-such-file"], 2, "no-such-file"],
  ),
  [["run", "--plan", "."], 2, "directory"],
  [["run", "--plan", "broken.json"], 3, "broken.json:1:"],
  [["run", "--plan", "empty.yaml"], 3, "empty.yaml"],
  [["run", "--plan", "misspelt.yaml"], 3, 'did you mean "description"?'],
  [["run", "--plan", "good.json", "--cwd", LONG], 2, LONG],
  [["demo", LONG], 2, "is not a directory"],
  [["replay", `./${LONG}`], 2, LONG],
  [["run", "--plan", "both.yaml"], 3, /both\.yaml:4:\d+: .*command.*shell/],
  [["run", "--plan", "no-instruction.yaml"], 3, 'no-instruction.yaml:2:14: task "a"'],
  [["run", "--plan", "no-command.yaml"], 3, /no-command\.yaml:4:18: task "a"[^]*--worker/],
  [["run", "--plan", "says-nothing.yaml"], 3, /says-nothing\.yaml:3:\d+: /],
  [["run", "--plan", "unknown-name.yaml"], 3, /unknown-name\.yaml:4:\d+: .*\$\{answers\.x\}/],
  [["run", "--plan", "cycle.json"], 3, /cycle\.json:1:/],
  [["run", "--plan", "cycle.yaml"], 3, /cycle\.yaml:4:5: .*second -> third -> second\n/],
  [["run", "--plan", "cycle.yaml", ...CREW], 3, "cycle.yaml:4:5: "],
  [["run", "--plan", "unknown-dependency.yaml"], 3, /unknown-dependency\.yaml:5:20: .*"a".*"b"/],
  [["run", "--plan", "unknown-role.yaml"], 3, /unknown-role\.yaml:6:7: .*"a".*"nobody"/],
  [["run", "--plan", "twice.yaml"], 3, /twice\.yaml:\d+:\d+: .*"a"/],
  [["run", "--plan", "unchecked.yaml"], 3, "unchecked.yaml:3:"],
  [["run", "--plan", "asking.yaml", ...CREW], 3, "asking.yaml"],
  [["run", "--plan", "good.json", "--plan-only", ...CREW], 2, "--plan-only"],
  [["run", "--plan", "good.json", "--plan-only", "--yes"], 2, "--plan-only"],
  [["run", "--plan", "good.json", "--crew", "embeded"], 2, "Did you mean embedded?"],
  [["run", "--plan", "good.json", "--crew", "claude"], 3, "claude"],
  [["run", "x", "--manager", "claud:opus"], 2, "Did you mean claude?"],
  [["run", "x", "--manager", "cat | cat"], 2, "cat | cat"],
  [["run", "x", "--manager", "cat", "--worker", "no-such-program"], 3, '"no-such-program", which is not on the PATH'],
  [["run", "x", "--manager", "./nothing here", "--worker", "cat"], 3, '"./nothing"'],
  [
    ["run", "x", "--manager", "cat", "--worker", "./worker.py"],
    3,
    /"\.\/worker\.py"[^]*chmod \+x \/\S+\/workspace\/worker\.py\b/,
  ],
  [["run", "x", "--manager", "cat", "--worker", "worker.py"], 3, /"worker\.py"[^]* \.\/worker\.py\b/],
  [["run", "x", "--manager", "./", "--worker", "cat"], 3, '"./", which is a directory'],
  [["run", "--plan", "good.json", "--roles", "script.json"], 3, /chmod \+x \/\S+\/workspace\/good\.json/],
  [["run", "--plan", "good.json", "--roles", "roles.json"], 3, "roles.json:1:"],
  [["run", "--plan", "good.json", "--crew", "embedded", "--roles", "model.json"], 3, "NO_KEY"],
  [["run", "--plan", "good.json", "--config", "config.json"], 3, "config.json:1:"],
  [["run", "--plan", "good.json", "--config", "misspelt-config.json"], 3, 'did you mean "max_workers"?'],
  [["run", "--plan", "good.json", "--config", "money.json"], 3, /money\.json:1:/],
  [["run", "--plan", "good.json", "--budget-usd", "much"], 2, "--budget-usd"],
  [["run", "--plan", "good.json", "--budget-tokens", "-3"], 2, "--budget-tokens"],
  [["resume", "--budget-tokens", "few"], 2, "few"],
  [["resume", "--budget-usd", "0.0"], 2, "0.0"],
  [["run", "--plan", "good.json", "--max-workers", "many"], 2, "--max-workers"],
  [["run", "--plan", "good.json", "--max-workers", "0"], 2, "--max-workers"],
  [["run", "--plan", "good.json", "--deadline", "soon"], 2, "--deadline"],
  [["run", "--plan", "good.json", "--deadline", "0s"], 2, "--deadline"],
  [["resume", "--deadline", "0s"], 2, "--deadline"],
  [["run", "--plan", "good.json", "--deadline", "400d"], 2, /400d[^]*365d/],
  [["run", "--plan", "good.json", "--deadline", "366000000"], 2, "31536000"],
  [["wait", "--timeout", "10x"], 2, "15m"],
  [["wait", "--timeout", "400d"], 2, "365d"],
  [["wait", "--until", "inptu"], 2, "Did you mean input?"],
  ...["turns", "tokens", "usd"].map(
    (kind): Wrong => [["run", "--plan", "good.json", `--budget-${kind}`, "0"], 2, `--budget-${kind}`],
  ),
  [["run", "--plan", "good.json", "--isolation", "worktree"], 3, "needs a git repository"],
  [["run", "--plan", "good.json", "--isolation", "moon"], 2, "--isolation"],
  [["run", "--plan", "good.json", "--base", "main"], 2, "--base"],
  [["run", "--plan", "good.json", "--detach", "--foreground"], 2, "--detach"],
  [["run", "--plan", "good.json", "--cwd", "no-such-directory"], 2, "no-such-directory"],
  [["run", "--plan", "good.json", "--answers", "answers.yaml"], 3, "answers.yaml:1:"],
  [["run", "--plan", "good.json", "--answer", "name"], 2, "name"],
  [["run", "--plan", "good.json", "--unanswered", "mangaer"], 2, "Did you mean manager?"],
  [["run", "--plan", "good.json", "--reporter", "fancy"], 2, "plain, github, json, silent"],
  [["run", "--plan", "good.json", "--reporter", "plain", "--json"], 2, "--reporter plain"],
  [["run", "--plan", "good.json", "--session", "../../outside"], 2, "../../outside"],
  [["run", "--plan", "good.json", "--home", ""], 2, "--home"],
  [["run", "--plan", "good.json", "--home", "good.json"], 3, "good.json"],
  [["resume"], 2, "bosun run"],
  [["resume", "--budget-turns", "-3"], 2, "-3"],
  [["resume", "--deadline", "7x"], 2, "--deadline"],
  [["conformance", "--role", "worker", "--timeout", "0", "--", "true"], 2, "--timeout"],
  [["status", "s-none"], 2, "bosun run"],
  [["answer", "x", "y"], 2, "bosun run"],
  [["tell", ""], 2, "The text is empty."],
  [["tell"], 2, "The text is empty."],
  [["retry"], 2, "bosun run"],
  [["retry", "mine", "one", "two"], 2, "SESSION TICKET"],
  [["plan", "--approve", "--reject"], 2, "--reject"],
  [["plan", "--approve", "--json"], 2, "--json"],
  [["plan", "--export", "-", "--json"], 2, "--json"],
  [["review", "--approve", "--changes", "x"], 2, "--changes"],
  [["replay", "--from", "zero"], 2, "zero"],
  [["replay", "--type", "reprot"], 2, "Did you mean report?"],
  ...["--ticket", "--type", "--from", "--to"].map(
    (flag): Wrong => [["replay", "--verify", flag, flag === "--type" ? "report" : "2"], 2, "--verify"],
  ),
  [["replay", "./no-such-folder"], 2, "./no-such-folder"],
  [["help", "frobnicate"], 2, "unknown command 'frobnicate'"],
];

const before = process.cwd();
afterEach(() => process.chdir(before));

describe("wrong input", () => {
  it("is refused with what, where and what next, and creates nothing", async () => {
    const here = rig();
    for (const [name, content] of Object.entries(FILES)) here.write(`workspace/${name}`, content);
    process.chdir(here.workspace);
    for (const [args, code, message] of WRONG) {
      const left = await typed(here, args);
      const says = typeof message === "string" ? left.stderr.includes(message) : message.test(left.stderr);
      const saysNext = /^Error: [^]*(\n.|; |must be )/.test(left.stderr);
      const must = { args, code, stdout: "", says: true, saysNext: true };
      const stdout = args.includes("--json") ? "" : left.stdout;
      expect({ args, code: left.code, stdout, says, saysNext, told: left.stderr }).toMatchObject(must);
    }
    expect(existsSync(here.home)).toBe(false);
    expect(existsSync(join(here.workspace, "..", "state"))).toBe(false);
  });

  it("is also one JSON object on stdout under --json", async () => {
    const here = rig();
    const plan = here.write("cycle.json", FILES["cycle.json"] ?? "");
    const wrong: readonly (readonly [args: readonly string[], code: string, exit_code: number])[] = [
      [["run", "x", "--nonsense", "--json"], "usage", 2],
      [["frobnicate", "--json"], "usage", 2],
      [["run", "--plan", plan, "--reporter", "json"], "invalid_plan", 3],
      ...["status", "resume", "attach", "plan", "replay", "retry"].map(
        (command) => [[command, "s-none", "--json"], "not_found", 2] as const,
      ),
      [["roles", "--crew", "none", "--json"], "usage", 2],
    ];
    for (const [args, code, exit_code] of wrong) {
      const left = await typed(here, args);
      const told = jsonLines<{ message: string }>(left.stdout);
      expect([args, left.code, told]).toMatchObject([args, exit_code, [{ type: "error", code, exit_code }]]);
      const message = told[0]?.message.split("\n")[0];
      expect(left.stderr).toContain(message);
    }
    expect((await typed(here, ["run", "--nonsense", "--", "--json"])).stdout).toBe("");
  });

  it("exits a real process with its code", async () => {
    const here = rig();
    const ran = await here.run(["run", "--plan", here.write("cycle.json", FILES["cycle.json"] ?? ""), "--json"]);
    expect(ran.code).toBe(3);
    expect(JSON.parse(ran.stdout)).toMatchObject({ type: "error", exit_code: 3 });
    expect(ran.stderr).toMatch(/^Error: \S+cycle\.json:1:\d+: /);
    expect(existsSync(here.home)).toBe(false);
  });

  it("exits with 3 if the current directory was deleted", () => {
    const here = rig();
    const gone = join(here.workspace, "gone");
    mkdirSync(gone);
    const status = ["sh", "-c", `rmdir ${gone}; exec "$@"`, "sh", process.execPath, built("cli.js"), "status"];
    const left = spawnSync("env", status, { cwd: gone, env: here.environment, encoding: "utf8" });
    expect([left.status, left.stdout]).toEqual([3, ""]);
    expect(left.stderr).toMatch(/^Error: /m);
    expect(left.stderr).not.toContain("bug");
  });

  it("is refused in an existing home, and changes no session", async () => {
    const here = rig();
    const plan = here.write("plan.json", GOOD);
    expect((await typed(here, ["run", "--plan", plan, "--session", "mine"])).code).toBe(0);
    const wrong: readonly Wrong[] = [
      [["resume", "nine"], 2, '"nine"'],
      [["answer", "mine", "q", "x"], 2, "mine"],
      [["pause", "mine"], 2, "mine"],
      [["cancel", "mine"], 2, "bosun resume mine"],
      [["stop", "mine"], 2, "bosun resume mine"],
      [["tell", "mine", "x"], 2, "mine"],
      [["retry", "mine", "wrte"], 2, "Did you mean write?"],
      [["retry", "write"], 2, "write of mine is done"],
      [["retry", "mine"], 2, "bosun retry mine TICKET"],
      [["retry"], 2, "bosun retry mine TICKET"],
      [["plan", "mine", "--approve"], 2, "mine"],
      [["review", "mine", "--approve"], 2, "mine"],
      [["log", "mine", "wrote"], 2, "Did you mean write?"],
      [["status", "mine", "--all"], 2, '"mine"'],
      [["resume", "mine", "--budget-turns", "9"], 0, "mine is closed"],
      [["resume", "--budget-usd", "9", "--deadline", "9m"], 0, "mine is closed"],
      [["resume", "mine", "--release", "shell"], 0, "mine is closed"],
    ];
    for (const [args, code, message] of wrong) {
      const left = await typed(here, args);
      expect(`${args.join(" ")}\n${left.stderr}`).toContain(message);
      expect(left.code).toBe(code);
    }
    expect((await typed(here, ["replay", "mine", "--verify"])).code).toBe(0);
    expect(JSON.parse((await typed(here, ["status", "--all", "--json"])).stdout)).toHaveLength(1);
  });
});

describe("a project's configuration", () => {
  it("that can run commands is refused, with the flags that name and so trust it", async () => {
    const here = rig();
    mkdirSync(join(here.workspace, ".git"));
    const settings = here.write("workspace/.bosun/scheduler_config.yaml", "notify: { command: [touch, told] }\n");
    const plan = here.write("plan.json", GOOD);
    const alone = await typed(here, ["run", "--plan", plan]);
    expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining(`--config ${settings}`)]);
    expect((await typed(here, ["roles"])).stderr).toBe(alone.stderr);
    expect((await typed(here, ["roles", "--config", settings])).code).toBe(0);
    expect((await typed(here, ["run", "--plan", plan, "--config", settings])).code).toBe(0);
    expect(existsSync(join(here.workspace, "told"))).toBe(true);
    const crew = { roles: [{ role_id: "shell", type: "worker", cli_command: ["touch", "owned"] }] };
    const file = here.write("workspace/.bosun/crews/mine.json", JSON.stringify(crew));
    const both = await typed(here, ["run", "--plan", plan, "--config", settings]);
    expect([both.code, both.stderr]).toEqual([3, expect.stringContaining(`--roles ${join(file, "..", "FILE")}`)]);
    expect((await typed(here, ["run", "--plan", plan, "--config", settings, "--crew", "embedded"])).code).toBe(0);
    expect((await typed(here, ["run", "--plan", plan, "--crew", "embedded"])).code).toBe(3);
    expect(existsSync(join(here.workspace, "owned"))).toBe(false);
    await typed(here, ["run", "--plan", plan, "--config", settings, "--roles", file, "--budget-turns", "3"]);
    expect(existsSync(join(here.workspace, "owned"))).toBe(true);
  });

  it("is used if it only sets limits within the user's own, unless it is named", async () => {
    const here = rig();
    mkdirSync(join(here.workspace, ".git"));
    const plan = here.write("plan.json", GOOD);
    here.write("config/bosun/scheduler_config.json", JSON.stringify({ budget: { turns: 1 }, max_retries: 1 }));
    const found = (settings: object) => here.write("workspace/.bosun/scheduler_config.json", JSON.stringify(settings));
    for (const settings of [{ budget: { turns: 100 } }, { max_retries: 2 }]) {
      found(settings);
      const refused = await typed(here, ["run", "--plan", plan]);
      expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/is \d+, not 1$/m)]);
      expect(existsSync(here.home)).toBe(false);
    }
    found({ budget: { tokens: 100 }, max_retries: 1 });
    expect((await typed(here, ["run", "--plan", plan])).code).toBe(5);
    const named = ["--config", found({ budget: { turns: 100 } }), "--crew", "embedded"];
    expect((await typed(here, ["run", "--plan", plan, ...named])).code).toBe(0);
  });
});

describe("help", () => {
  it("shows a short list, all commands under `help all`, and a command's options", async () => {
    const here = rig();
    const short = await typed(here, ["help"]);
    const all = await typed(here, ["help", "all"]);
    const run = await typed(here, ["help", "run"]);
    const none = await typed(here, []);
    expect(short.stdout).toMatch(/^ {2}run +carry out a requirement$/m);
    for (const daily of ["stop", "pause", "tell", "review"])
      expect(short.stdout).toMatch(new RegExp(`^ {2}${daily} `, "m"));
    expect(short.stdout).not.toMatch(/^ {2}roles /m);
    expect(all.stdout).toMatch(/^ {2}roles /m);
    expect(run.stdout).toContain("--budget-turns <n>");
    expect(run.stdout).toContain("Examples:");
    expect([short.code, all.code, run.code, none.code]).toEqual([0, 0, 0, 2]);
    expect((await typed(here, ["run", "--help"])).stdout).toBe(run.stdout);
  });

  it("has examples of `run` that work", async () => {
    const here = rig();
    for (const agent of ["manager.py", "worker.py"])
      copyFileSync(join(ROOT, "examples", "agents", agent), join(here.workspace, agent));
    here.write("workspace/plan.yaml", GOOD);
    here.write("workspace/requirement.md", "Write a page about tides\n");
    process.chdir(here.workspace);
    const examples =
      (await typed(here, ["run", "--help"])).stdout.split("Examples:\n")[1]?.split("\n\n")[0]?.split("\n") ?? [];
    expect(examples).toHaveLength(3);
    const codes = examples.map((example) => {
      const words = execFileSync("sh", ["-c", `bosun() { printf '%s\\n' "$@"; }; ${example}`], { encoding: "utf8" });
      return typed(here, words.trimEnd().split("\n")).then(({ code }) => code);
    });
    // The manager of the second and the third example asks a question first.
    expect(await Promise.all(codes)).toEqual([0, 4, 4]);
  });
});

describe("exit codes", () => {
  it("are those of the public table, for every failure code", () => {
    expect(new Set(Object.values(EXIT_CODE_OF))).toEqual(new Set([2, 3, 4, 5, 6, 7, 70, 124, 130]));
    expect(EXIT_CODE_OF).toMatchObject({
      usage: 2,
      configuration: 3,
      trust: 3,
      person_needed: 4,
      limit: 5,
      verification_failed: 6,
      busy: 7,
      internal: 70,
      interrupted: 130,
    });
  });
});
