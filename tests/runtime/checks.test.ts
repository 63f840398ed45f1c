import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { outputsOfResult } from "../../src/runtime/criteria.ts";
import { crew, criterion, report, type Script, task } from "./crew.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { newRig } from "./rig.ts";
import { cli, CREW, REPORT, shell } from "./roles.ts";
import { begin, logOf, reportOf, type Rig, run } from "./sessions.ts";
import { living } from "../processes.ts";

const INSTRUCTION = { summary: "Do it." };

interface Checked {
  readonly rig: Rig;
  readonly session_id: string;
  readonly results: readonly JsonObject[][];
  readonly end: unknown;
}

/** One ticket with these criteria, and what its checks came to. */
async function check(
  criteria: readonly JsonObject[],
  scripts: Record<string, Script> = {},
  config: JsonObject = {},
  more: JsonObject = {},
): Promise<Checked> {
  const rig = newRig();
  const tasks = [task("a", [], { instruction: INSTRUCTION, acceptance_criteria: criteria, ...more })];
  const session = await begin(rig, { agentFor: crew(tasks, scripts), config: { check_rounds: 0, ...config } });
  const end = await run(session);
  const { session_id } = session;
  const results = logOf(rig, session_id, "check_result").map(({ payload }) => payload["results"] as JsonObject[]);
  return { rig, session_id, results, end };
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new Error("This is no text.");
  return value;
}

const DONE = { kind: "closed", outcome: "done" };

/** The manager gives in at the first failed evidence. */
const GIVES_UP: Record<string, Script> = {
  review_request: ({ payload }) => {
    const { checks } = payload.message.payload as unknown as { checks: { passed: boolean }[] };
    if (checks.every(({ passed }) => passed)) return { payload_type: "review", payload: { decision: "approved" } };
    return { payload_type: "error", payload: { code: "checks_failed", message: "It failed." } };
  },
};

describe("a check", () => {
  it("passes with the expected exit code, and keeps the end of its output", async () => {
    const { results, end } = await check([
      criterion("sh", "-c", "echo out; echo err >&2"),
      { ...criterion("sh", "-c", "exit 3"), expect_exit: 3 },
    ]);
    expect(end).toEqual(DONE);
    expect(results).toMatchObject([
      [
        { passed: true, exit_code: 0 },
        { passed: true, exit_code: 3 },
      ],
    ]);
    expect(textOf(results[0]?.[0]?.["output"]).split("\n").toSorted()).toEqual(["err", "out"]);
  });

  it.each<readonly [string, JsonObject, JsonObject]>([
    ["exits with another code", criterion("sh", "-c", "echo no; exit 1"), { exit_code: 1, output: "no" }],
    ["exits with 0 but expects 1", { ...criterion("true"), expect_exit: 1 }, { exit_code: 0 }],
    ["dies by a signal", criterion("sh", "-c", "kill -9 $$"), { exit_code: null, signal: "SIGKILL" }],
    ["dies by a real-time signal", criterion("sh", "-c", "kill -34 $$"), { exit_code: 162 }],
    ["kills its own process group", criterion("sh", "-c", "kill -34 0"), { exit_code: 97 }],
    ["takes too long", { ...criterion("sh", "-c", "sleep 3600 & wait"), timeout_s: 1 }, { timed_out: true }],
    [
      "cannot be started",
      criterion("no-such-program"),
      { exit_code: 127, output: expect.stringContaining("no-such-program") },
    ],
    ["may not be executed", criterion("/etc/passwd"), { exit_code: 126 }],
  ])("fails if it %s, and the ticket fails", async (_how, one, wanted) => {
    const { results, end, rig, session_id } = await check([one], GIVES_UP);
    expect(results).toMatchObject([[{ passed: false, criterion: one, ...wanted }]]);
    expect(end).toMatchObject({ kind: "closed", outcome: "failed" });
    expect(reportOf(rig, session_id)["tickets"]).toMatchObject([{ status: "error" }]);
  });

  it("runs once if two criteria are equal", async () => {
    const count = criterion("sh", "-c", "echo x >>count; test $(wc -l <count) -lt 3");
    const { rig, results, end } = await check(
      [count, count, { ...count, expect_exit: 0, text: "again" }, { ...count, expect_exit: 1 }],
      {},
      { checks: { ticket: [count] } },
    );
    expect(readFileSync(join(rig.workspace, "count"), "utf8")).toBe("x\nx\nx\n");
    expect(results.flat()).toHaveLength(3);
    expect(end).toEqual(DONE);
  });

  it("of the configuration runs for every ticket", async () => {
    const { results, end } = await check([], {}, { checks: { ticket: [criterion("true")] } });
    expect(results).toMatchObject([[{ passed: true }]]);
    expect(end).toEqual(DONE);
  });

  it("runs in the workspace, without input, with a minimal environment", async () => {
    process.env["BOSUN_TEST_DECOY"] = "secret";
    try {
      const { rig, session_id } = await check([criterion("sh", "-c", "env >seen; cat >input; pwd >where")]);
      const seen = readFileSync(join(rig.workspace, "seen"), "utf8");
      expect(seen).toContain(`BOSUN_SESSION_ID=${session_id}`);
      expect(seen).toContain("BOSUN_TICKET_ID=a");
      expect(seen).not.toContain("DECOY");
      expect(readFileSync(join(rig.workspace, "input"), "utf8")).toBe("");
      expect(readFileSync(join(rig.workspace, "where"), "utf8").trim()).toBe(rig.workspace);
    } finally {
      delete process.env["BOSUN_TEST_DECOY"];
    }
  });

  it("leaves no process behind and keeps only the end of its output", async () => {
    const { results, session_id } = await check([
      criterion("sh", "-c", "sleep 3600 & yes wordy | head -n 100000; echo last"),
    ]);
    expect(living(session_id)).toEqual([]);
    const output = textOf(results[0]?.[0]?.["output"]);
    expect(output.length).toBeLessThan(10_000);
    expect(output.endsWith("last")).toBe(true);
  });

  it("cuts a long line between characters", async () => {
    const { results } = await check([
      criterion("sh", "-c", "echo first; printf '%09999d' 0 | tr 0 x; echo last"),
      criterion("sh", "-c", "printf '%09999d' 0 | sed s/0/€/g"),
      criterion("printf", "one\\r\\n\\r\\n"),
    ]);
    const [long, wide, short] = (results[0] ?? []).map(({ output }) => textOf(output));
    expect(long).toBe(`${"x".repeat(8192 - "last\n".length)}last`);
    expect(wide).toBe("€".repeat(Math.floor(8192 / 3)));
    expect(short).toBe("one\n");
  });
});

describe("the outputs of one check result", () => {
  it("are cut at their beginning if they exceed the limit together", () => {
    const kept = outputsOfResult();
    const zeros = "\0".repeat(8192);
    const outputs = Array.from({ length: 1_000 }, () => kept(zeros));
    // A byte of 0 takes six in a record.
    const [room, one] = [16 * 1024 * 1024, 8192 * 6 + 2];
    const whole = Math.floor(room / one);
    expect(outputs.findIndex((output) => output.length < 8192)).toBe(whole);
    expect(outputs[whole]).toBe("\0".repeat(Math.floor((room - whole * one - 2) / 6)));
    expect(JSON.stringify(outputs).length).toBeLessThan(room + 3 * outputs.length);
    expect(kept("more")).toBe("");
  });

  it("are cut between characters", () => {
    const kept = outputsOfResult();
    kept("x".repeat(16 * 1024 * 1024 - 2 - 2 - 7));
    expect(kept("one 🎈🎈")).toBe("🎈");
  });
});

describe("a withdrawn check", () => {
  it("has ended before its ticket is worked on again", async () => {
    const rig = newRig();
    const stubborn = criterion("sh", "-c", "trap '' TERM; while :; do echo check >>trace; sleep 0.02; done");
    const planned = (summary: string, more: JsonObject = {}) => task("a", [], { instruction: { summary }, ...more });
    const worker = shell(`echo worker >>trace; sleep 0.3; ${REPORT}`);
    const session = await begin(rig, {
      roles: [CREW[0] as Role, { role_id: "hand", type: "worker", cli_command: worker }],
      agentFor: crew([planned("One.", { acceptance_criteria: [stubborn] })], {}, { hand: cli() }),
    });
    const trace = () => readFileSync(join(rig.workspace, "trace"), "utf8").trimEnd().split("\n");
    const ended = run(session);
    await expect.poll(() => trace().slice(0, 2)).toEqual(["worker", "check"]);
    session.submitFromPerson({ source: "user", payload_type: "plan", payload: { tasks: [planned("Two.")] } });
    expect(await ended).toEqual(DONE);
    const lines = trace();
    expect(lines.lastIndexOf("check")).toBeLessThan(lines.lastIndexOf("worker"));
    expect(lines.filter((line) => line === "worker")).toHaveLength(2);
  });
});

describe("a failed check", () => {
  it("goes to the worker, and after check_rounds to the manager", async () => {
    const worked: unknown[] = [];
    let asked = 0;
    const { end, rig, session_id } = await check(
      [criterion("sh", "-c", "echo x >>tries; wc -l <tries; test $(wc -l <tries) -gt 3")],
      {
        instruction: ({ payload }) => {
          worked.push((payload.context.history ?? []).map(({ payload_type }) => payload_type));
          return report();
        },
        review_request: ({ payload }) => {
          asked += 1;
          const { checks } = payload.message.payload as unknown as { checks: { passed: boolean }[] };
          const passed = checks.every((one) => one.passed);
          return { payload_type: "review", payload: { decision: passed ? "approved" : "changes_requested" } };
        },
      },
      { check_rounds: 2 },
    );
    expect(end).toEqual(DONE);
    // Tries one to three fail; the third failure is the manager's to see.
    expect([worked.length, asked]).toEqual([4, 2]);
    expect(worked[1]).toContain("check_result");
    expect(reportOf(rig, session_id)["tickets"]).toMatchObject([{ attempts: 4, reviews: 2 }]);
  });

  it("cannot be approved by the manager", async () => {
    const { end, rig, session_id } = await check(
      [criterion("sh", "-c", "test -e never")],
      {
        review_request: () => ({ payload_type: "review", payload: { decision: "approved" } }),
      },
      { max_review_rounds: 1, max_escalations: 1 },
    );
    expect(end).toMatchObject({ outcome: "failed" });
    const reviews = logOf(rig, session_id, "review").map(({ record }) => record.disposition);
    expect(reviews.slice(0, 2)).toEqual(["refused", "applied"]);
    expect(
      logOf(rig, session_id)
        .flatMap(({ record }) => record.effects ?? [])
        .filter(({ to }) => to === "done"),
    ).toEqual([]);
    expect(existsSync(join(rig.workspace, "never"))).toBe(false);
  });

  it("approves the ticket by itself where checks are its review", async () => {
    const passed = await check([criterion("true")], {}, {}, { review: "checks" });
    expect(passed.end).toEqual(DONE);
    expect(logOf(passed.rig, passed.session_id, "review")).toMatchObject([
      { source: "scheduler", record: { kind: "decided" } },
    ]);
  });
});
