import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { MAX_REQUIREMENT_CHARACTERS } from "../../src/commands/options/requirement.ts";
import { built } from "../built.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { frozen } from "../crash/freeze.ts";
import { ASKING, foreignCrew, jsonLines, ROOT, rig, tinyPlan, until } from "./rig.ts";

const WRITE = tinyPlan([
  {
    task_id: "write",
    shell: "echo hello > out.txt",
    more: { acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "out.txt"] }] },
  },
]);

describe("bosun run", () => {
  it("carries out a requirement with agents that are no part of the product", async () => {
    const here = rig();
    const ran = await typed(here, ["run", "Do the thing", ...foreignCrew(), "--unanswered", "default"]);
    expect(ran.stderr).toBe("");
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} s-[a-z2-9]{6} outline {10}done {1,2}\(\d\/\d\)/m);
    expect(ran.stdout).toContain("4 of 4 tickets done");
    const [session_id = ""] = here.sessions();
    expect(ran.stdout).toContain(join(here.home, "sessions", session_id, "final_report.md"));
    expect(ran.stdout).toContain(`bosun replay ${session_id} --verify`);
    expect(existsSync(join(here.workspace, "page.txt"))).toBe(true);
  });

  it("reads the requirement from standard input, up to the longest, for - and --file -", async () => {
    const here = rig();
    const longest = "😀".repeat(MAX_REQUIREMENT_CHARACTERS);
    for (const [args, input, requirement] of [
      [["--file", "-"], "  Say hello.\n", "Say hello."],
      [["-"], longest, longest],
    ] as const) {
      const ran = await here.run(["run", ...args, "--plan", here.write("plan.json", WRITE), "--json"], { input });
      expect([ran.stderr, ran.code]).toEqual(["", 0]);
      const hello = JSON.parse(ran.stdout.split("\n")[0] ?? "") as { requirement: string };
      expect(hello.requirement === requirement).toBe(true);
    }
  });

  it("finds a role's program in the role's own PATH, from the workspace", async () => {
    const here = rig();
    const program = here.write(
      "bin/its-own-worker",
      `#!/bin/sh\nexec '${process.execPath}' '${built("crew/shell.js")}'\n`,
    );
    chmodSync(program, 0o755);
    const registry = (worker: object) =>
      here.write(
        "roles.json",
        JSON.stringify({
          roles: [
            { role_id: "boss", type: "manager", cli_command: ["false"] },
            { role_id: "hand", type: "worker", ...worker },
          ],
        }),
      );
    const args = [
      "--roles",
      registry({ cli_command: ["its-own-worker"], env: { PATH: `${dirname(program)}:/bin:/usr/bin` } }),
    ];
    expect((await typed(here, ["doctor", ...args])).stdout).toContain(`worker, ${program}`);
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", WRITE), ...args]);
    expect([ran.stderr, ran.code]).toEqual(["", 0]);
    // A relative folder in PATH is relative to the workspace.
    mkdirSync(join(here.workspace, "inner"));
    renameSync(dirname(program), join(here.workspace, "inner", "bin"));
    registry({ cli_command: ["its-own-worker"], env: { PATH: "bin:/bin:/usr/bin" } });
    const inner = await typed(here, ["run", "--plan", here.write("plan.json", WRITE), ...args, "--cwd", "inner"]);
    expect([inner.code, inner.stderr]).toEqual([
      0,
      expect.stringMatching(/^.*bin\/its-own-worker, which hand runs\.\n$/),
    ]);
    registry({ cli_command: ["sh"], env: { PATH: dirname(program) } });
    const refused = await typed(here, ["run", "--plan", here.write("plan.json", WRITE), ...args]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('"sh", which is not on the PATH')]);
  });

  it("keeps the plan of the faster of two runs with the same session id", async () => {
    const here = rig();
    const slower = here.write("slower.json", tinyPlan([{ task_id: "slower", shell: "true" }]));
    const args = [built("cli.js"), "--home", here.home, "run", "--session", "mine", "--plan"];
    const child = spawn(process.execPath, [...args, slower], {
      cwd: here.workspace,
      env: { ...here.environment, BOSUN_CRASH_AT: "session_created:1:SIGSTOP" },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    try {
      await until("it to stand still", () => frozen(child.pid));
      const faster = await typed(here, ["run", "--session", "mine", "--plan", here.write("faster.json", WRITE)]);
      expect([faster.stderr, faster.code]).toEqual(["", 0]);
      child.kill("SIGCONT");
      expect(await ended).toEqual([7, null]);
      expect(readFileSync(join(here.home, "sessions", "mine", "plan.json"), "utf8")).toBe(WRITE);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("creates no session if the user may not enter the workspace", async () => {
    const here = rig();
    const locked = join(here.workspace, "locked");
    mkdirSync(join(locked, "inside"), { recursive: true });
    const roles = join(ROOT, "examples", "debate-roles.json");
    const debate = ["debate", "This or that?", "--roles", roles, "--agents", "python,go", "--judge", "judge"];
    // Root may enter every folder unless it drops these capabilities.
    const [program, ...before] = [
      ...(process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []),
      process.execPath,
      built("cli.js"),
    ];
    const typedLocked = (args: readonly string[]) =>
      spawnSync(program, [...before, "--home", here.home, ...args], {
        cwd: here.workspace,
        env: here.environment,
        encoding: "utf8",
      });
    const plan = ["run", "--plan", here.write("plan.json", WRITE)];
    chmodSync(locked, 0);
    try {
      for (const [args, workspace] of [
        [[...plan, "--cwd", "locked"], locked],
        [
          [...plan, "--config", here.write("c.json", JSON.stringify({ workspace: join(locked, "inside") }))],
          join(locked, "inside"),
        ],
        [[...debate, "--cwd", "locked"], locked],
      ] as const) {
        const refused = typedLocked(args);
        expect([refused.status, refused.stderr]).toEqual([3, expect.stringContaining(workspace)]);
      }
      expect(here.sessions()).toEqual([]);
    } finally {
      chmodSync(locked, 0o700);
    }
    expect(typedLocked([...plan, "--cwd", "locked"]).status).toBe(0);
  });

  it("stops reading a requirement that has no end", () => {
    const here = rig();
    const command = ["sh", process.execPath, built("cli.js"), "--home", here.home, "run", "-"];
    const options = { cwd: here.workspace, env: here.environment, encoding: "utf8" } as const;
    const refused = spawnSync("sh", ["-c", 'yes | "$@"', ...command], options);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining("800,000 bytes")]);
  });

  it("runs a plan with a $schema and an anchor that hundreds of texts use", async () => {
    const here = rig();
    const lines = [
      "$schema: plan_file.schema.json",
      "tasks:",
      "  - task_id: a",
      "    description: &again all over",
      "    risks:",
      ...Array.from({ length: 300 }, () => "      - *again"),
      "    instruction: {summary: *again, steps: [{shell: 'true'}]}",
      "    proposal_needed: false",
    ];
    const ran = await typed(here, ["run", "--plan", here.write("plan.yaml", lines.join("\n"))]);
    expect([ran.stderr, ran.code]).toEqual(["", 0]);
  });

  it("keeps its exit code if a signal comes while it prints how it ended", async () => {
    const here = rig();
    let listened: number | undefined;
    const before = process.listenerCount("SIGTERM");
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", WRITE), "--foreground"], {}, (text) => {
      if (!text.startsWith("next ")) return;
      listened = process.listenerCount("SIGTERM") - before;
      process.emit("SIGTERM");
    });
    expect([ran.code, listened, process.listenerCount("SIGTERM") - before]).toEqual([0, 1, 0]);
  });

  it("stops with 5 at a limit until it is raised, and needs the plan file no more", async () => {
    const here = rig();
    const plan = here.write("plan.json", WRITE);
    const stopped = await typed(here, ["run", "--plan", plan, "--budget-turns", "1"]);
    expect(stopped.code).toBe(5);
    rmSync(plan);
    const session_id = await onlySession(here);
    for (const { stdout } of [stopped, await typed(here, ["status", session_id])])
      expect(stdout).toContain(`next    bosun resume ${session_id} --budget-turns 2\n`);
    const status = await typedJson<{ requirement: string }>(here, ["status", session_id, "--json"]);
    expect(status.requirement).toBe("Write some files.");
    expect((await typed(here, ["resume"])).code).toBe(5);
    expect(await typed(here, ["resume", "--budget-turns", "20"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("runs the user's plan with their manager, which is asked for no other plan", async () => {
    const here = rig();
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", WRITE), ...foreignCrew(), "--json"]);
    expect(ran.code).toBe(0);
    type Line = { payload_type?: string; source?: string; record?: { ticket_id?: string } };
    const records = jsonLines<Line>(ran.stdout);
    expect(records.filter((record) => record.payload_type === "plan").map((record) => record.source)).toEqual(["user"]);
    expect(records.find((record) => record.payload_type === "turn_request")?.record?.ticket_id).toBe("write");
  });

  it("says that its worker is the bundled one if only a manager is named", async () => {
    const here = rig();
    const [, manager = "", ...worker] = foreignCrew();
    const plan = here.write("plan.json", WRITE);
    const ran = await typed(here, ["run", "--plan", plan, "--manager", manager]);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/Bosun's own.*--worker CMD\n/)]);
    const silent = [
      ["--manager", manager, ...worker],
      ["--manager", manager, "--crew", "embedded"],
    ];
    for (const crew of silent) {
      const { code, stdout, stderr } = await typed(here, ["run", "--plan", plan, ...crew]);
      expect([code, stdout + stderr]).toEqual([0, expect.not.stringContaining("Bosun's own")]);
    }
  });

  it("continues a session of the same id and inputs, and refuses another plan", async () => {
    const here = rig();
    const plan = here.write("plan.json", WRITE);
    const other = here.write("other.json", WRITE.replace("hello", "bye"));
    const args = ["run", "--plan", plan, "--session", "mine", "--budget-turns"];
    expect((await typed(here, [...args, "1"])).code).toBe(5);
    const refused = await typed(here, ["run", "--plan", other, "--session", "mine", "--budget-turns", "1"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/\bmine\b.*\bplan\b/);
    expect((await typed(here, [...args, "1"])).code).toBe(5);
    expect((await typed(here, ["resume", "mine", "--budget-turns", "50"])).code).toBe(0);
    const records = readdirSync(join(here.home, "logs", "mine")).length;
    const closed = await typed(here, [...args, "1"]);
    expect(closed.code).toBe(0);
    expect(closed.stdout).toContain("mine is done");
    expect(readdirSync(join(here.home, "logs", "mine"))).toHaveLength(records);
  });

  it("asks nothing that --answer answers, and records who gave the answer", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], ASKING);
    const ran = await typed(here, [
      "run",
      "--plan",
      here.write("plan.json", plan),
      "--answer",
      "name=Eve Ø'q",
      "--json",
    ]);
    expect(ran.code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve Ø'q\n");
    const answered = ran.stdout.split("\n").find((line) => line.includes('"payload_type":"clarification_response"'));
    expect(JSON.parse(answered ?? "{}")).toMatchObject({ source: "user", record: { actor: { via: "cli" } } });
  });
});
