import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { requestLine } from "../../src/agents/cli/dialects/envelope.ts";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { validateEnvelope, validatePayload } from "../../src/protocol/envelope.ts";
import { MAX_LINE_BYTES, MAX_PAYLOAD_BYTES } from "../../src/protocol/limits.ts";
import { crew, report, task } from "../runtime/crew.ts";
import { newRig, temporaryDirectory } from "../runtime/rig.ts";
import { begin, DONE, logFolder, logOf, reportOf, resume, type Rig, run } from "../runtime/sessions.ts";

// Every rig verifies its sessions when the test ends.
const MIB = 1024 * 1024;

/** These tests write, read and hash hundreds of megabytes. */
const LONG_MS = 120_000;
const GIVEN = { instruction: { summary: "Do it." } };

/** Outputs of so many bytes; each text has its own memory, as if it had been read from a line. */
function outputs(bytes: number): string[] {
  const length = 100_000;
  return Array.from({ length: Math.floor(bytes / length) }, () => Buffer.alloc(length, "a").toString("latin1"));
}

function expectValid(request: TurnRequest | undefined): string {
  if (!request) throw new Error("no such request");
  const line = requestLine(request);
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_LINE_BYTES);
  const checked = validateEnvelope(JSON.parse(line));
  expect(checked.ok ? undefined : checked.error).toBeUndefined();
  return line;
}

/** The request line of a turn, rebuilt by the program in SPEC.md. */
function sentBySpec(rig: Rig, session_id: string, given: TurnRequest | undefined): string {
  const spec = readFileSync(join(import.meta.dirname, "../../SPEC.md"), "utf8");
  const program = /```python file=sent\.py\n(.*?)```/s.exec(spec)?.[1] ?? "";
  const path = join(temporaryDirectory(), "sent.py");
  writeFileSync(path, program);
  const recorded = logOf(rig, session_id, "turn_request").find(
    ({ record }) => record.turn_id === given?.stamp.turn_id && record.run === given?.stamp.run,
  );
  const argv = [path, logFolder(rig, session_id), String(recorded?.integrity.sequence)];
  return execFileSync("python3", argv, { encoding: "utf8", maxBuffer: 64 * MIB });
}

describe("a text too long to be quoted whole", () => {
  it(
    "is cut in a final report that verifies, and whole in the log",
    async () => {
      const rig = newRig();
      const tasks = Array.from({ length: 9 }, (_, n) => task(`t${n}`, [], GIVEN));
      const work = () => report({ outputs: outputs(8_000_000) });
      const session = await begin(rig, { agentFor: crew(tasks, { instruction: work }) });
      expect(await run(session)).toEqual(DONE);
      const [recorded] = logOf(rig, session.session_id, "final_report");
      expect(Buffer.byteLength(JSON.stringify(recorded?.payload))).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
      const final = reportOf(rig, session.session_id);
      expect(final).toEqual(recorded?.payload);
      expect(validatePayload("final_report", final).ok).toBe(true);
      const tickets = final["tickets"] as { outputs: string[]; status: string }[];
      expect(tickets.map(({ status }) => status)).toEqual(Array(9).fill("done"));
      const reports = logOf(rig, session.session_id, "report");
      for (const { payload } of reports) expect(payload["outputs"]).toEqual(outputs(8_000_000));
      const first = reports.find(({ record }) => record.ticket_id === "t0");
      expect(tickets[0]?.outputs[0]).toMatch(
        new RegExp(`^a{65536} \\[cut: 34464 more characters in record ${first?.integrity.sequence}\\]$`),
      );
      expect(final["metadata"]).toEqual({ cut: { characters: 65_536, items: 1_000 } });
    },
    LONG_MS,
  );

  it("is cut in a request that can be rebuilt from the log byte for byte", async () => {
    const rig = newRig();
    const tasks = [task("a", [], GIVEN), task("b", [], GIVEN), task("c", ["a", "b"], GIVEN)];
    let given: TurnRequest | undefined;
    const work = (request: TurnRequest) => {
      if (request.stamp.subject !== "c")
        return report({ outputs: outputs(4.75 * MIB), metadata: { long: "m".repeat(1_000) } });
      given = request;
      return report();
    };
    const session = await begin(rig, { agentFor: crew(tasks, { instruction: work }) });
    expect(await run(session)).toEqual(DONE);
    const line = expectValid(given);
    expect(given?.payload.message.payload).toEqual(GIVEN.instruction);
    expect(line).toContain("more characters in record");
    expect(given?.payload.context.notes?.at(-1)).toContain("is cut");
    expect(sentBySpec(rig, session.session_id, given)).toBe(line);
  });

  it(
    "is cut in the history of rework and in reviews",
    async () => {
      const rig = newRig();
      const given: TurnRequest[] = [];
      let reviews = 0;
      const session = await begin(rig, {
        config: { max_review_rounds: 8 },
        agentFor: crew([task("a", [], GIVEN)], {
          instruction: (request) => {
            given.push(request);
            return report({ outputs: [...outputs(8_300_000), "\u{1F600}".repeat(20_000)] });
          },
          review_request: (request) => {
            given.push(request);
            reviews += 1;
            const decision = reviews === 5 ? "approved" : "changes_requested";
            return { payload_type: "review", payload: { decision, notes: "\u{1F600}".repeat(50_000) } };
          },
        }),
      });
      expect(await run(session)).toEqual(DONE);
      expect(given).toHaveLength(10);
      for (const request of given) expectValid(request);
      const last = given.at(-1);
      expect(sentBySpec(rig, session.session_id, last)).toBe(expectValid(last));
    },
    LONG_MS,
  );

  it("fails a turn whose commands would be cut, and tells its manager", async () => {
    const rig = newRig();
    const steps = Array.from({ length: 90 }, () => ({ shell: `: ${"a".repeat(95_000)}` }));
    const asked: unknown[] = [];
    const session = await begin(rig, {
      config: { max_retries: 0 },
      agentFor: crew([task("a", [], { instruction: { summary: "Do it.", steps } })], {
        instruction: () => {
          throw new Error("too long for a request");
        },
        error: (request) => {
          asked.push(request.payload.message.payload);
          expectValid(request);
          return { payload_type: "error", payload: { code: "agent_failed", message: "So be it." } };
        },
      }),
    });
    expect(await run(session)).toMatchObject({ kind: "closed", outcome: "failed" });
    expect(logOf(rig, session.session_id, "turn_failed").map(({ payload }) => payload)).toMatchObject([
      { code: "output_limit", message: expect.stringMatching(/instruction.* \d+ bytes/) as string },
    ]);
    expect(asked).toHaveLength(1);
  });

  it("is cut in commands for review, since the reviewer does not run them", async () => {
    const rig = newRig();
    const steps = Array.from({ length: 50 }, () => ({ shell: `: ${"a".repeat(95_000)}` }));
    const evidence = Array.from({ length: 5 }, () => ({ text: "Run.", command: ["make"], output: "b".repeat(MIB) }));
    let given: TurnRequest | undefined;
    const session = await begin(rig, {
      agentFor: crew([task("a", [], { instruction: { summary: "Do it.", steps } })], {
        instruction: () => report({ evidence }),
        review_request: (request) => {
          given = request;
          return { payload_type: "review", payload: { decision: "approved" } };
        },
      }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(sentBySpec(rig, session.session_id, given)).toBe(expectValid(given));
  });

  it(
    "is cut in the same way after a resume",
    async () => {
      const rig = newRig();
      const tasks = [task("a", [], GIVEN), task("b", [], GIVEN), task("c", ["a", "b"], GIVEN)];
      const given: TurnRequest[] = [];
      const interrupt: { now?: () => void } = {};
      const agentFor = crew(tasks, {
        instruction: (request) => {
          if (request.stamp.subject !== "c") return report({ outputs: outputs(4.75 * MIB) });
          given.push(request);
          if (!interrupt.now) return report();
          // Later: a turn cannot be stopped while it begins.
          queueMicrotask(interrupt.now);
          return new Promise(() => undefined);
        },
      });
      const session = await begin(rig, { agentFor });
      interrupt.now = () => session.stop("signal", "a test");
      expect(await run(session)).toMatchObject({ kind: "stopped" });
      delete interrupt.now;
      const { session_id } = session;
      expect(await run(await resume(rig, session_id, { agentFor }))).toEqual(DONE);
      expect(given.map(({ stamp }) => stamp.run)).toEqual([1, 2]);
      for (const request of given) expect(sentBySpec(rig, session_id, request)).toBe(expectValid(request));
    },
    LONG_MS,
  );
});

describe("the memory of a session", () => {
  it(
    "is bounded by the bytes of its records, not only by their number",
    async () => {
      const rig = newRig();
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      const heap: number[] = [];
      const tasks = Array.from({ length: 4 }, (_, n) => task(`t${n}`, n === 0 ? [] : [`t${n - 1}`], GIVEN));
      const session = await begin(rig, {
        config: { max_workers: 1 },
        agentFor: crew(tasks, {
          instruction: (_request, context) => {
            collect();
            heap.push(process.memoryUsage().heapUsed / MIB);
            for (let n = 0; n < 7; n++) {
              const payload: JsonObject = { status: "progress", summary: `${n}`, outputs: outputs(8_000_000) };
              context.emit({ kind: "envelope", payload_type: "report", payload });
            }
            return report();
          },
        }),
      });
      expect(await run(session)).toEqual(DONE);
      const rises = heap.slice(1).map((now, index) => now - (heap[index] ?? 0));
      console.info(`MiB alive before each turn: ${heap.map(Math.round).join(", ")}`);
      // The cache has two generations, so from the third turn on memory is freed.
      expect(rises.slice(2).every((rise) => rise < 20)).toBe(true);
    },
    LONG_MS,
  );
});
