import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import requests from "./fixtures/requests.json" with { type: "json" };

type Json = Record<string, unknown>;
type Request = keyof typeof requests;

const agents = join(import.meta.dirname, "../../examples/agents");
const seats = {
  manager: [
    ["sh", "manager.sh"],
    ["python3", "manager.py"],
  ],
  worker: [
    ["sh", "worker.sh"],
    ["python3", "worker.py"],
  ],
  minimal: [
    ["sh", "minimal-worker.sh"],
    ["python3", "minimal-worker.py"],
  ],
} as const;

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "bosun agents-"));
});
afterEach(() => {
  rmSync(workspace, { recursive: true, force: true });
});

function line(role: string, name: Request): string {
  return `${JSON.stringify({
    session_id: "s1",
    timestamp: "2026-01-01T00:00:00Z",
    source: "scheduler",
    target: role,
    payload_type: "turn_request",
    version: "1.0",
    payload: {
      turn_id: "t7",
      role_id: role,
      limits: { timeout_s: 60 },
      discuss: false,
      workspace,
      artifacts_dir: workspace,
      ...requests[name],
    },
  })}\n`;
}

function environment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], BOSUN_TICKET_ID: "words", BOSUN_ATTEMPT: "1", ...extra };
}

function run(program: readonly [string, string], input: string, extra?: NodeJS.ProcessEnv) {
  const argv = [join(agents, program[1])];
  return spawnSync(program[0], argv, { cwd: workspace, input, env: environment(extra), encoding: "utf8" });
}

function envelopes(stdout: string): Json[] {
  const lines = stdout.split("\n").filter((text) => text.startsWith("{") && text.includes("payload_type"));
  return lines.map((text) => JSON.parse(text) as Json);
}

/** Runs one turn and gives its envelopes, whose addresses are checked. */
function turn(program: readonly [string, string], role: string, name: Request, extra?: NodeJS.ProcessEnv): Json[] {
  const { status, stdout } = run(program, line(role, name), extra);
  expect(status).toBe(0);
  const said = envelopes(stdout);
  for (const envelope of said) {
    expect(envelope).toMatchObject({ session_id: "s1", source: role, target: "scheduler", version: "1.0" });
    expect(Object.keys(envelope)).toHaveLength(6);
  }
  return said;
}

/** The answer of a turn with a single envelope. */
function answer(program: readonly [string, string], role: string, name: Request, extra?: NodeJS.ProcessEnv): Json {
  const said = turn(program, role, name, extra);
  expect(said).toHaveLength(1);
  return { type: said[0]?.["payload_type"], ...(said[0]?.["payload"] as Json) };
}

describe.each(["debater", "judge"])("node %s.mjs", (name) => {
  const said = (input: string) => {
    const argv = [join(agents, `${name}.mjs`), "Go."];
    return spawnSync(process.execPath, argv, { input, env: environment(), encoding: "utf8" });
  };

  test("exits without working if its input has no line", () => {
    expect(said("")).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });

  test("ends its line at a line feed only, not at U+2028 or U+0085", () => {
    const opinion = { round: 1, position: "One.\u2028Two.\u0085Three.", changed: false };
    const entry = { sequence: 4, source: "python", payload_type: "opinion", payload: opinion };
    const context = { requirement: opinion.position, transcript: [entry], metadata: { round: 2, rounds: 2 } };
    const request = {
      session_id: "s1",
      payload_type: "turn_request",
      payload: { role_id: name, turn_id: "t7", context },
    };
    const { status, stdout, stderr } = said(`${JSON.stringify(request)}\n`);
    expect([status, stderr]).toEqual([0, ""]);
    expect(envelopes(stdout)).toMatchObject([{ session_id: "s1", source: name, target: "scheduler" }]);
  });
});

describe.each([...seats.manager, ...seats.worker, ...seats.minimal])("%s %s", (...program) => {
  test("exits without working if its input has no line", () => {
    expect(run(program, "")).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });
});

describe.each(seats.manager)("%s %s", (...program) => {
  const asked = (name: Request, extra?: NodeJS.ProcessEnv) => answer(program, "boss", name, extra);

  test("asks one question, then plans from its answer", () => {
    const clarification = asked("requirement");
    expect(clarification).toMatchObject({ type: "clarification", status: "open", turn_id: "t7" });
    expect(clarification["questions"]).toMatchObject([{ options: ["everyone", "developers"], default: "everyone" }]);

    const plan = asked("requirement, answered");
    expect(plan).toMatchObject({ type: "plan", summary: "A page about tides (for sailors)" });
    const tasks = plan["tasks"] as { task_id: string; dependencies: string[] }[];
    expect(tasks.map((task) => [task.task_id, ...task.dependencies])).toEqual([
      ["outline"],
      ["words", "outline"],
      ["figures", "outline"],
      ["page", "words", "figures"],
    ]);
    expect(tasks[3]).toMatchObject({ description: "Put the page together, for sailors: A page about tides" });
  });

  test("plans without an answer when no question may be asked", () => {
    for (const name of ["requirement, no more questions", "requirement, questions spent"] as const) {
      expect(asked(name)).toMatchObject({ type: "plan", summary: "A page about tides (for everyone)" });
    }
  });

  test("takes the plan from CREW_PLAN", () => {
    const tasks = [{ task_id: "only", description: "Do it" }];
    writeFileSync(join(workspace, "plan.json"), JSON.stringify({ tasks }));
    const plan = asked("requirement, answered", { CREW_PLAN: "plan.json" });
    expect(plan).toEqual({ type: "plan", summary: "A page about tides (for sailors)", tasks, turn_id: "t7" });
    expect(run(program, line("boss", "requirement, answered"), { CREW_PLAN: "nowhere.json" }).status).toBe(1);
  });

  test("instructs a ticket", () => {
    const instruction = asked("ticket");
    expect(instruction).toMatchObject({ type: "instruction", summary: "Write the words" });
    expect(instruction["resources"]).toEqual(["outline: outline.txt", "outline: an idea"]);
    const [step] = instruction["steps"] as { text: string; command: [string, ...string[]] }[];
    expect(step?.text).toBe("Write text/words.txt");
    spawnSync(step?.command[0] ?? "", step?.command.slice(1) ?? [], { cwd: workspace });
    expect(readFileSync(join(workspace, "text/words.txt"), "utf8")).toBe("Write the words\n");
  });

  test("proposes an instruction in a discussion, and then gives it", () => {
    const proposal = asked("ticket, to discuss");
    expect(proposal).toMatchObject({ type: "instruction_proposal", summary: "Write the words" });
    expect(proposal).toMatchObject({ draft_steps: ["Write text/words.txt"], risks: ["Words may be wrong"] });
    expect(asked("report, proposal")).toMatchObject({ type: "instruction", steps: ["Write the words"] });
  });

  test("passes on the questions of a blocked ticket, then leaves out the step", () => {
    expect(asked("report, blocked")).toMatchObject({
      type: "clarification",
      questions: [{ question_id: "q", text: "No program. What now?" }],
    });
    expect(asked("report, blocked, answered")).toMatchObject({
      type: "instruction",
      steps: ["No program. What now? skip it", "be brief", { shell: "echo done" }],
    });
  });

  test("approves a ticket only if its checks passed", () => {
    expect(asked("review_request, passed")).toMatchObject({ type: "review", decision: "approved" });
    expect(asked("review_request, failed")).toMatchObject({
      type: "review",
      decision: "changes_requested",
      requested_changes: ["words.txt is long"],
    });
  });

  test("gives a new instruction after an error, and an error after the second", () => {
    expect(asked("error, the first")).toMatchObject({
      type: "instruction",
      steps: ["The last attempts failed: It exited with 3", "x"],
      metadata: { after_error: true },
    });
    expect(asked("error, again")).toMatchObject({ type: "error", code: "agent_failed" });
  });

  test("refuses a message for a worker", () => {
    expect(asked("instruction")).toMatchObject({ type: "error", code: "not_permitted" });
  });
});

describe.each(seats.worker)("%s %s", (...program) => {
  const asked = (name: Request) => turn(program, "hand", name).map((said) => said["payload"] as Json);

  test("runs the steps of an instruction", () => {
    const { stderr } = run(program, line("hand", "instruction"));
    expect(stderr).toContain("refused before: no such status");
    const said = turn(program, "hand", "instruction");
    expect(said.map((one) => one["payload_type"])).toEqual(["report", "report", "artifact_ref", "report"]);
    const [first, , artifact, report] = said.map((one) => one["payload"] as Json);
    expect(first).toMatchObject({ status: "progress", summary: "Step 2 of 3: Write" });
    const content = readFileSync(join(workspace, "words.txt"));
    expect(content.toString()).toBe('it\'s "high" tide\n$HOME \\n');
    expect(artifact).toEqual({
      turn_id: "t7",
      label: "words.txt",
      uri: "words.txt",
      digest: `sha256:${createHash("sha256").update(content).digest("hex")}`,
      size_bytes: content.length,
    });
    expect(report).toMatchObject({
      status: "completed",
      summary: "Write the words",
      outputs: [{ label: "words.txt", uri: "words.txt" }],
      evidence: ["Noted: be brief", { text: "Write", exit_code: 0 }, { exit_code: 0 }],
    });
    const evidence = report?.["evidence"] as Json[];
    expect(evidence[2]?.["output"]).toBe('{"payload_type": "report"}\ncafé \ufffd');
  });

  test("stops at a step that fails", () => {
    expect(asked("instruction, fails").at(-1)).toMatchObject({
      status: "error",
      summary: "A step failed: Break",
      evidence: [{ text: "Break", command: ["sh", "-c", "exit 7"], exit_code: 7, output: "" }],
    });
    expect(existsSync(join(workspace, "never"))).toBe(false);
    expect(asked("instruction, killed").at(-1)).toMatchObject({ status: "error", evidence: [{ exit_code: 137 }] });
  });

  test("asks what to do about a missing program", () => {
    expect(asked("instruction, cannot").at(-1)).toMatchObject({
      status: "blocked",
      evidence: [{ command: ["no-such-program", "-x"], exit_code: 127 }],
      questions: [{ question_id: "missing-program", options: ["skip the step"], default: "skip the step" }],
    });
  });

  test("agrees with a proposal", () => {
    expect(asked("instruction_proposal")).toEqual([
      { turn_id: "t7", status: "proposal", summary: "I agree: Write the words", next_actions: ["Think", "Write"] },
    ]);
  });
});

describe.each(seats.minimal)("%s %s", (...program) => {
  test("reports", () => {
    expect(answer(program, "hand", "instruction")).toEqual({
      type: "report",
      status: "completed",
      summary: "Understood: Write the words",
    });
    expect(answer(program, "hand", "instruction_proposal")).toMatchObject({ status: "proposal" });
  });
});

describe.each([
  ...seats.manager.map((program) => [...program, "boss", "review_request, passed", "report_from_manager"] as const),
  ...seats.worker.map((program) => [...program, "hand", "instruction_proposal", "plan_from_worker"] as const),
])("%s %s misbehaves", (language, file, role, name, odd) => {
  const misbehave = (how: string, extra?: NodeJS.ProcessEnv) =>
    run([language, file], line(role, name), { CREW_MISBEHAVE: how, ...extra });
  const good = () => run([language, file], line(role, name)).stdout;

  test("in every way that CREW_MISBEHAVE names", () => {
    expect(misbehave("exit3")).toMatchObject({ status: 3, stdout: good() });
    expect(() => envelopes(misbehave("garbage").stdout)).toThrow(SyntaxError);
    expect(misbehave("no_answer")).toMatchObject({ status: 0, stdout: "Nothing to say.\n" });
    expect(envelopes(misbehave("wrong_source").stdout)).toMatchObject([{ source: "somebody-else" }]);
    expect(envelopes(misbehave(odd).stdout)).toMatchObject([{ source: role, payload_type: odd.split("_")[0] }]);
    expect(misbehave("duplicate")).toMatchObject({ status: 0, stdout: good() + good() });
    const late = envelopes(misbehave("late").stdout);
    expect(late.map((one) => one["payload_type"])).toEqual([envelopes(good())[0]?.["payload_type"], "error"]);
  });

  test("only in the attempt and the ticket that it is told", () => {
    expect(misbehave("once:no_answer").stdout).not.toBe(good());
    expect(misbehave("once:no_answer", { BOSUN_ATTEMPT: "2" }).stdout).toBe(good());
    expect(misbehave("no_answer", { CREW_MISBEHAVE_ON: "words" }).stdout).not.toBe(good());
    expect(misbehave("no_answer", { CREW_MISBEHAVE_ON: "page" }).stdout).toBe(good());
    expect(misbehave("no_answer", { CREW_MISBEHAVE_ON: name.split(",")[0] }).stdout).not.toBe(good());
  });

  const start = (how: string) => {
    const argv = [join(agents, file)];
    const env = environment({ CREW_MISBEHAVE: how });
    const child = spawn(language, argv, { cwd: workspace, detached: true, env, stdio: ["pipe", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stdin.end(line(role, name));
    const ended = new Promise((resolve) => child.once("close", resolve));
    return { child, chunks, ended };
  };

  test("by answering slowly or never", async () => {
    const silent = start("hang");
    const slow = start("slow_drip");
    expect(await Promise.race([silent.ended, slow.ended.then(() => "slow")])).toBe("slow");
    expect(slow.child.exitCode).toBe(0);
    expect(slow.chunks.length).toBeGreaterThan(2);
    expect(Buffer.concat(slow.chunks).toString()).toBe(good());

    if (silent.child.pid !== undefined) process.kill(-silent.child.pid);
    await silent.ended;
    expect(silent.chunks).toEqual([]);
  });
});
