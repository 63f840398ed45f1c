import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { seal } from "../../src/log/chain.ts";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { onlySession, typed, typedIn, typedJson } from "./in-process.ts";
import { ASKING, jsonLines, type Rig, rig, tinyPlan } from "./rig.ts";
import { built } from "../built.ts";
import { validate } from "../protocol/examples.ts";

const TWO = tinyPlan([
  {
    task_id: "first",
    shell: "echo 1 > 1.txt",
    more: { acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "1.txt"] }] },
  },
  { task_id: "second", shell: "echo 2 > 2.txt", dependencies: ["first"] },
]);

interface Verdict {
  readonly ok: boolean;
  readonly records: number;
  readonly integrity: string;
  readonly completeness: string;
  readonly authenticity: string;
  readonly decisions: string;
  readonly problems: readonly { readonly sequence: number | null; readonly what: string }[];
}

async function done(here: Rig, plan = TWO): Promise<string> {
  const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"]);
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" });
  return onlySession(here);
}

describe("what programs read", () => {
  it("is one JSON object a line on stdout: hello, records, result", async () => {
    const here = rig();
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", TWO), "--json"]);
    const lines = jsonLines<{ type: string; sequence?: number }>(ran.stdout);
    expect(lines[0]?.type).toBe("hello");
    expect(lines.at(-1)).toMatchObject({ type: "result", exit_code: 0, outcome: "done" });
    const records = lines.filter((line) => line.type === "record");
    expect(records.map((record) => record.sequence)).toEqual(records.map((_, index) => index + 1));
    const types = ["hello", "record", "result", "turn_ended", "turn_started"];
    expect([...new Set(lines.map((line) => line.type))].toSorted()).toEqual(types);
    expect(ran.stderr).toBe("");
  });

  it("has the questions and the commands that answer them in the result", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "true" }], ASKING);
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--json"]);
    expect(ran.code).toBe(4);
    const last = JSON.parse(ran.stdout.trimEnd().split("\n").at(-1) ?? "") as { waiting: unknown[]; next: string[] };
    expect(last.waiting).toMatchObject([{ kind: "question", question_id: "c1.name", default: "Ada" }]);
    expect(last.next.at(-1)).toMatch(/^bosun resume s-/);
  });

  it("is the status object that SPEC.md promises", async () => {
    const here = rig();
    const session_id = await done(here);
    const status = await typedJson<Record<string, unknown>>(here, ["status", session_id, "--json"]);
    expect(status).toMatchObject({
      session_id,
      state: "closed",
      outcome: "done",
      owner: null,
      counts: { done: 2 },
      tickets: [
        {
          ticket_id: "first",
          task_id: "first",
          description: "Do first",
          status: "done",
          owner: "shell",
          attempts: 1,
          reviews: 0,
          artifacts: [],
        },
        { ticket_id: "second", status: "done", dependencies: ["first"] },
      ],
      pending_questions: [],
      holds: [],
      usage: { input_tokens: 0, output_tokens: 0, cost_usd: 0 },
    });
  });

  it("has the final results of tickets that are done while others wait", async () => {
    const here = rig();
    const shell = 'echo kept > "$BOSUN_ARTIFACTS_DIR/list.txt"';
    const plan = tinyPlan([
      { task_id: "first", shell, more: { expected_outputs: ["list.txt"] } },
      { task_id: "second", shell: "true", dependencies: ["first"], more: { review: "user" } },
    ]);
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan), "--session", "s"])).code).toBe(4);
    const tickets = async () =>
      (await typedJson<{ tickets: Record<string, unknown>[] }>(here, ["status", "s", "--json"])).tickets;
    const open = await tickets();
    expect(open).toMatchObject([
      { status: "done", reviews: 0, outputs: ["list.txt"], artifacts: [{ label: "list.txt", size_bytes: 5 }] },
      { status: "awaiting_review", outputs: [], artifacts: [] },
    ]);
    expect((await typed(here, ["status", "s"])).stdout).toMatch(/first .*done .*Do first -> list\.txt/);
    expect((await typed(here, ["review", "second", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume", "s"])).code).toBe(0);
    expect((await tickets())[0]).toEqual(open[0]);
  });

  it.runIf(existsSync("/dev/full"))("exits with 3 where output cannot be written", async () => {
    const here = rig();
    const plan = here.write("plan.json", TWO);
    const full = (...words: string[]) =>
      spawnSync("sh", ["-c", 'exec "$@" > /dev/full', "sh", process.execPath, built("cli.js"), ...words], {
        cwd: here.workspace,
        env: { ...here.environment, BOSUN_HOME: here.home },
        encoding: "utf8",
      });
    const told = expect.stringMatching(/^Error: .*ENOSPC/) as string;
    expect(full("run", "--plan", plan, "--json")).toMatchObject({ status: 3, stderr: told });
    expect(full("status", "--json")).toMatchObject({ status: 3, stderr: told });
    const session_id = await onlySession(here);
    expect((await typedJson<{ outcome: string }>(here, ["status", session_id, "--json"])).outcome).toBe("done");
  });

  it("may lose its reader, and the session continues to its end", async () => {
    const here = rig();
    const plan = here.write("plan.json", TWO);
    const command = `"${process.execPath}" "${built("cli.js")}" --home "${here.home}" run --plan "${plan}" --json | head -n 1; exit \${PIPESTATUS[0]}`;
    const options = { cwd: here.workspace, env: here.environment, encoding: "utf8" } as const;
    expect(spawnSync("bash", ["-c", command], options)).toMatchObject({ status: 0, stderr: "" });
    const status = ["status", await onlySession(here), "--json"];
    expect(await typedJson(here, status)).toMatchObject({ outcome: "done" });
  });
});

describe("bosun status and log", () => {
  it("lists the sessions, newest first, if none is running", async () => {
    const here = rig();
    await done(here);
    const plan = here.write(
      "asking.json",
      tinyPlan([{ task_id: "write", shell: "true" }], { ...ASKING, requirement: "Another." }),
    );
    await typed(here, ["run", "--plan", plan]);
    const listed = await typed(here, ["status"]);
    expect(listed.stdout.split("\n").map((line) => line.replace(/^s-\S+ +(\S+) +\S+ +/, "$1 "))).toEqual([
      expect.stringMatching(/^SESSION/),
      "waiting Another.",
      "done Write some files.",
      expect.stringMatching(/^next {4}bosun status s-/),
      "",
    ]);
  });

  it("shows one ticket and the files with its agents' output", async () => {
    const here = rig();
    await done(
      here,
      tinyPlan([
        { task_id: "talk", shell: "echo hello from the step" },
        { task_id: "other", shell: "true" },
      ]),
    );
    const told = await typed(here, ["log", "talk"]);
    expect(told.stdout).toMatch(/^\S+ talk +in_progress/m);
    expect(told.stdout).not.toContain(" other ");
    const [file = ""] = /\S+\.stdout\.log/.exec(told.stdout) ?? [];
    expect(readFileSync(file, "utf8")).toContain("hello from the step");
  });
});

describe("a home that was not named", () => {
  it("is used if it was named before, and refused if it came with a folder", async () => {
    const here = rig();
    await done(here);
    const status = (directory: string) => typedIn(directory, here.environment, ["status"]);
    expect((await status(here.home)).code).toBe(0);
    const cloned = join(here.workspace, "cloned");
    cpSync(here.home, cloned, { recursive: true });
    expect(await status(cloned)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(cloned) as string,
    });
  });
});

describe("bosun replay", () => {
  it("lists the records with filters, as lines or JSON, also of a damaged log", async () => {
    const here = rig();
    const session_id = await done(here);
    const all = (await typed(here, ["replay", "--json"])).stdout.trimEnd().split("\n");
    expect(all).toHaveLength(
      readdirSync(join(here.home, "logs", session_id)).filter((name) => name.endsWith(".json")).length,
    );
    const filtered = async (...filter: string[]) => {
      const { stdout } = await typed(here, ["replay", session_id, "--ticket", "second", "--type", "report", ...filter]);
      return stdout.trimEnd().split("\n").slice(0, -1);
    };
    const reports = await filtered();
    const [progress = "", last = ""] = reports;
    const report = expect.stringMatching(/ shell -> scheduler +report +second( |$)/) as string;
    expect(reports).toEqual([report, report]);
    expect(await filtered("--to", String(Number.parseInt(progress, 10)))).toEqual([progress]);
    expect(await filtered("--from", String(Number.parseInt(last, 10)))).toEqual([last]);
    expect(await filtered("--from", String(Number.parseInt(last, 10) + 1))).toEqual([]);
    const log = join(here.home, "logs", session_id);
    expect((await typed(here, ["replay", log, "--json"])).stdout.trimEnd().split("\n")).toEqual(all);
    appendFileSync(join(log, readdirSync(log).find((name) => name.startsWith("000003")) ?? ""), "}");
    const damaged = await typed(here, ["replay", log]);
    expect([damaged.code, damaged.stdout]).toEqual([6, expect.stringMatching(/^ {5}3 000003-\S+ cannot be read/m)]);
    const damagedJson = await typed(here, ["replay", log, "--json"]);
    expect([damagedJson.code, damagedJson.stderr]).toEqual([6, "1 record cannot be read.\n"]);
    expect(damagedJson.stdout.trimEnd().split("\n")).toHaveLength(all.length - 1);
    const empty = await typed(here, ["replay", here.workspace]);
    expect([empty.code, empty.stdout]).toEqual([3, ""]);
  });

  it("shows requests as they were sent, from the session and from a folder alone", async () => {
    const here = rig();
    const session_id = await done(here);
    const copy = join(here.workspace, "copy");
    cpSync(join(here.home, "logs", session_id), copy, { recursive: true });
    const requests = async (target: string) => {
      const { stdout } = await typed(here, ["replay", target, "--json", "--type", "turn_request"]);
      return jsonLines<LogRecord>(stdout).map(({ payload }) => payload as unknown as PayloadByType["turn_request"]);
    };
    const sent = await requests(session_id);
    for (const payload of sent) expect(validate("turn_request", payload)).toMatchObject({ ok: true });
    expect(JSON.stringify(sent)).not.toMatch(/"\$\w+":/);
    expect(sent.at(-1)?.context).toMatchObject({ requirement: expect.any(String), ticket: { task_id: "second" } });
    expect(existsSync(sent.at(-1)?.context.plan_file ?? "")).toBe(true);
    expect(await requests(copy)).toEqual(sent);
    rmSync(join(copy, readdirSync(copy).find((name) => name.endsWith("-plan.json")) ?? ""));
    expect(JSON.stringify(await requests(copy))).toContain('"$from":[');
  });

  it("proves a session, as text and as the object that SPEC.md promises", async () => {
    const here = rig();
    const session_id = await done(here);
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.code).toBe(0);
    expect(told.stdout).toContain("the database");
    const verdict = await typedJson<Verdict>(here, ["replay", session_id, "--verify", "--json"]);
    expect(Object.keys(verdict)).toEqual([
      "ok",
      "records",
      "integrity",
      "completeness",
      "authenticity",
      "decisions",
      "problems",
    ]);
    expect(verdict).toMatchObject({
      ok: true,
      integrity: "ok",
      completeness: "closed",
      authenticity: "unsigned",
      decisions: "ok",
      problems: [],
    });
    const copy = join(here.workspace, "copy");
    cpSync(join(here.home, "logs", session_id), copy, { recursive: true });
    expect((await typed(here, ["replay", copy, "--verify"])).stdout).not.toContain("the database");
  });

  it("finds changed, removed and misreported records with 6; resume restores the log", async () => {
    const here = rig();
    const session_id = await done(here);
    const copy = join(here.workspace, "copy");
    const log = join(here.home, "logs", session_id);
    const names = readdirSync(log)
      .filter((name) => name.endsWith(".json"))
      .sort();
    const verify = async (target: string): Promise<Verdict> => {
      const ran = await typed(here, ["replay", target, "--verify", "--json"]);
      expect(ran.code).toBe(6);
      return JSON.parse(ran.stdout) as Verdict;
    };
    const finds = async (problem: string) =>
      expect((await verify(session_id)).problems.map(({ what }) => what).join()).toContain(problem);

    cpSync(log, copy, { recursive: true });
    const changed = join(copy, names[4] ?? "");
    const bytes = readFileSync(changed);
    bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
    writeFileSync(changed, bytes);
    const tampered = await verify(copy);
    expect(tampered).toMatchObject({ ok: false, integrity: "failed" });
    expect(tampered.problems[0]?.sequence).toBe(5);
    const told = await typed(here, ["replay", copy, "--verify"]);
    expect(told.stdout).toContain("record 5: ");

    const report = join(here.home, "sessions", session_id, "final_report.json");
    const before = readFileSync(report, "utf8");
    writeFileSync(report, before.replace('"done"', '"good"'));
    await finds(report);
    rmSync(report);
    mkdirSync(report);
    await finds(`${report} cannot be read`);
    rmSync(report, { recursive: true });
    // A pipe is not read, even with the right report in it.
    execFileSync("mkfifo", [report]);
    const writer = spawn("sh", ["-c", 'printf %s "$1" > "$2"', "sh", before, report]);
    await finds(`${report} cannot be read`);
    writer.kill();
    rmSync(report);
    writeFileSync(report, before);
    // A folder that cannot be entered does not make the report a missing one.
    renameSync(dirname(report), `${dirname(report)}.away`);
    symlinkSync(dirname(report), dirname(report));
    await finds(`${report} cannot be read`);
    rmSync(dirname(report));
    renameSync(`${dirname(report)}.away`, dirname(report));

    for (const name of names.slice(-2)) rmSync(join(log, name));
    expect(await verify(session_id)).toMatchObject({ completeness: "truncated" });
    // The folder alone looks like a session that still runs.
    expect(await verify(log)).toMatchObject({ integrity: "ok", completeness: "open" });
    rmSync(log, { recursive: true });
    expect((await verify(session_id)).problems).toMatchObject([{ sequence: 1 }]);
    for (const more of [[], ["--verify"]]) {
      const { stdout, stderr } = await typed(here, ["replay", session_id, ...more]);
      expect(stdout + stderr).toContain(`resume ${session_id}`);
    }
    // Resuming a closed session only writes the missing files.
    expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("proves a log without its database, as the error advises", async () => {
    const here = rig();
    const session_id = await done(here);
    for (const name of readdirSync(here.home)) {
      if (name.startsWith("bosun.db")) rmSync(join(here.home, name));
    }
    const home = join(here.home, "..", "my home");
    renameSync(here.home, home);
    const log = join(home, "logs");
    const lost = await typed(here, ["--home", home, "status", session_id]);
    expect([lost.code, lost.stderr]).toEqual([3, expect.stringContaining(`replay '${log}'/SESSION --verify`)]);
    expect((await typed(here, ["replay", join(log, session_id), "--verify"])).code).toBe(0);
  });

  it("finds records after the last one of the database", async () => {
    const here = rig();
    const session_id = await done(here);
    const log = join(here.home, "logs", session_id);
    const names = readdirSync(log).filter((name) => name.endsWith(".json"));
    const last = names.toSorted().at(-1) ?? "";
    const { integrity, ...record } = JSON.parse(readFileSync(join(log, last), "utf8")) as LogRecord;
    const sequence = integrity.sequence + 1;
    const { line } = seal(record, { sequence, previous: integrity.hash });
    writeFileSync(join(log, last.replace(/^\d+/, String(sequence).padStart(6, "0"))), line);
    const { code, stdout } = await typed(here, ["replay", session_id, "--verify"]);
    expect(code).toBe(6);
    expect(stdout).toMatch(new RegExp(`record ${sequence}: .*\\b${sequence - 1}\\b`));
  });
});

describe("a terminal without a width", () => {
  it("cuts nothing", async () => {
    const here = rig();
    const session_id = await done(here);
    const status = [process.execPath, built("cli.js"), "--home", here.home, "status", session_id];
    const spawned = execFileSync("python3", ["-c", "import pty, sys; pty.spawn(sys.argv[1:])", ...status], {
      cwd: here.workspace,
      env: here.environment,
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
    });
    expect(spawned).toContain("Write some files.\r\n");
    expect(spawned).toMatch(/second +done +shell +1 +Do second\r\n/);
  });
});
