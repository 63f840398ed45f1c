import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { AgentRig, envelope, type Puppet, REPORT } from "./rig.ts";
import { settled, SETTLE_MS, spawnBelow } from "./settled.ts";
import { isLiving, livingInGroup, stateOf } from "../processes.ts";

let rig: AgentRig;

beforeEach(async () => {
  rig = await AgentRig.open();
});

async function ignoreSigterm(puppet: Puppet): Promise<void> {
  await puppet.ask({ do: "ignore", signal: "SIGTERM" }, "ignoring");
}

async function answerAndLinger(puppet: Puppet): Promise<void> {
  puppet.tell({ do: "exitAfter", ms: 400, code: 0 });
  await puppet.print(REPORT);
}

describe("an agent that ends badly", () => {
  test("without an answer gives no_answer", async () => {
    const turn = await rig.turn();
    await turn.puppet.print("All done, I think!\n");
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, exit, answer } = await settled(turn);
    expect(failure).toMatchObject({ code: "no_answer", details: { exit_code: 0 } });
    expect(failure?.message).toContain("Role worker");
    expect(failure?.hint).toContain("report, error");
    expect(exit).toEqual({ code: 0, signal: null });
    expect(answer).toBeUndefined();
  });

  test("with an exit code gives agent_failed with the sanitized end of its stderr", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(`${"nöise\n".repeat(2_000)}\u001b]0;title\u0007cause: \u202edisk\u0000 full\n`, "stderr");
    turn.puppet.tell({ do: "exit", code: 3 });
    const { failure, exit } = await settled(turn);
    expect(failure).toMatchObject({ code: "agent_failed", details: { exit_code: 3 } });
    expect(failure?.message).toContain("exited with code 3");
    const tail = failure?.details?.["stderr_tail"] as string;
    expect(tail.endsWith("cause: ?disk? full")).toBe(true);
    expect(tail).not.toContain("title");
    expect(tail).not.toContain("\ufffd");
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(2_048);
    expect(exit).toEqual({ code: 3, signal: null });
  });

  test("that names a variable on stderr which it was not given says how to pass it on", async () => {
    const environment = { PATH: process.env["PATH"], OPENAI_API_KEY: "k" };
    const hintAfter = async (words: string) => {
      const turn = await rig.turn({ settings: { environment } });
      await turn.puppet.print(words, "stderr");
      turn.puppet.tell({ do: "exit", code: 1 });
      return (await settled(turn)).failure?.hint ?? "";
    };
    expect(await hintAfter("ERROR: set OPENAI_API_KEY first\n")).toMatch(/OPENAI_API_KEY.*pass_env of the role worker/);
    expect(await hintAfter("ERROR: set ANTHROPIC_API_KEY; PATH is set\n")).not.toContain("pass_env");
  });

  test("with an exit code after its answer gives agent_failed and the answer", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 1 });
    const { failure, answer } = await settled(turn);
    expect(failure?.code).toBe("agent_failed");
    expect(answer?.payload).toMatchObject({ status: "completed" });
  });

  test("by a signal gives agent_failed and names the signal", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "kill", signal: "SIGKILL" });
    const { failure, exit, answer } = await settled(turn);
    expect(failure).toMatchObject({ code: "agent_failed", details: { signal: "SIGKILL" } });
    expect(failure?.message).toContain("ended by signal SIGKILL");
    expect(exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(answer).toBeDefined();
  });

  test("with only refused messages fails with the code of the last refusal", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(envelope("report", { summary: "No status." }));
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, refused } = await settled(turn);
    expect(failure).toMatchObject({ code: "validation_failed", details: { pointer: refused[0]?.pointer } });
    expect(refused).toMatchObject([{ payload_type: "report", code: "validation_failed" }]);
    expect(turn.events.map(({ kind }) => kind)).toEqual(["refused"]);
  });

  test("with bad UTF-8 in its message fails with malformed_output", async () => {
    const turn = await rig.turn();
    const bad = Buffer.concat([Buffer.from([0xff, 0xc0, 0x80, 0x0a]), Buffer.from(REPORT)]);
    bad[bad.indexOf("Done")] = 0xfe;
    await turn.puppet.ask({ do: "print", base64: bad.toString("base64") }, "printed");
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("malformed_output");
    expect(turn.events.map(({ kind }) => kind)).toEqual(["console", "refused"]);
  });

  test("without a line feed after its answer has answered", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(REPORT.trimEnd());
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
  });
});

describe("an agent that does not end", () => {
  test("and prints nothing is ended at the time limit", async () => {
    const turn = await rig.turn({ request: { timeout_ms: 100 } });
    const { failure, exit } = await settled(turn);
    expect(failure).toMatchObject({ code: "timeout", details: { signal: "SIGTERM" } });
    expect(failure?.message).toContain("did not finish within 0.1 s");
    expect(exit).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("and ignores SIGTERM is killed after the grace", async () => {
    const kill_grace_ms = 1_000;
    const turn = await rig.turn({ settings: { kill_grace_ms }, prepare: ignoreSigterm });
    const told = performance.now();
    turn.abort.abort();
    const { failure, exit } = await settled(turn);
    expect(performance.now() - told).toBeGreaterThanOrEqual(kill_grace_ms - 1);
    expect(exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(failure?.code).toBe("cancelled");
  });

  test("and falls silent is ended at the idle limit, which tells if it ever printed", async () => {
    const prepare = (puppet: Puppet) => puppet.print("working\n");
    const turn = await rig.turn({ request: { idle_timeout_ms: 100 }, prepare });
    const { failure } = await settled(turn);
    expect(failure).toMatchObject({ code: "idle_timeout", details: { spoke: true } });
    const silent = await settled(await rig.turn({ request: { idle_timeout_ms: 100 } }));
    expect(silent.failure).toMatchObject({ code: "idle_timeout", details: { spoke: false } });
    expect(silent.failure?.message).toContain("nothing at all");
  });

  test("and drips bytes is not idle, but is ended at the time limit", async () => {
    const prepare = async (puppet: Puppet) => puppet.tell({ do: "drip", text: ".", every_ms: 20 });
    // Long, since an agent without processor time is silent, too.
    const turn = await rig.turn({ request: { idle_timeout_ms: 5_000, timeout_ms: 5_200 }, prepare });
    const { failure } = await settled(turn, 5_200 + SETTLE_MS);
    expect(failure?.code).toBe("timeout");
  });

  test("and stops itself is ended without waiting for the kill grace", async () => {
    const prepare = async (puppet: Puppet) => {
      puppet.tell({ do: "kill", signal: "SIGSTOP" });
      await expect.poll(() => stateOf(puppet.pid)).toMatch(/^T/);
    };
    const turn = await rig.turn({ request: { timeout_ms: 50 }, settings: { kill_grace_ms: 20_000 }, prepare });
    const { failure, exit } = await settled(turn);
    expect(failure?.code).toBe("timeout");
    expect(exit).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("after its answer is ended after the answer grace, and the answer counts", async () => {
    const turn = await rig.turn({ settings: { answer_grace_ms: 50 }, request: { timeout_ms: 0 } });
    await turn.puppet.print(REPORT);
    const { failure, answer, exit } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(exit?.signal).toBe("SIGTERM");
  });

  test("after its answer and prints on is ended after the answer grace", async () => {
    const turn = await rig.turn({ settings: { answer_grace_ms: 200 } });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "drip", text: `more\n${REPORT}`, every_ms: 20 });
    const { failure, exit } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(exit?.signal).toBe("SIGTERM");
  });

  test("at once after its answer has the answer grace and no other limit", async () => {
    const limits = { timeout_ms: 100, idle_timeout_ms: 100 };
    const turn = await rig.turn({ request: limits, settings: { answer_grace_ms: 10_000 }, prepare: answerAndLinger });
    expect(await settled(turn)).toMatchObject({ exit: { code: 0, signal: null } });
    const late = await rig.turn({ request: { timeout_ms: 2_000 }, settings: { answer_grace_ms: 10_000 } });
    late.puppet.tell({ do: "exitAfter", ms: 2_300, code: 0 });
    await late.puppet.print(REPORT);
    const { failure, exit } = await settled(late);
    expect(failure).toBeUndefined();
    expect(exit?.code).toBe(0);
  });

  test("after its answer, ignoring SIGTERM, with children, has answered", async () => {
    const turn = await rig.turn({ settings: { answer_grace_ms: 50, kill_grace_ms: 100 }, prepare: ignoreSigterm });
    await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: false, hold: true });
    await turn.puppet.print(REPORT);
    const { failure, answer, exit } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(exit?.signal).toBe("SIGKILL");
  });

  test("but answers while it is being ended has failed, and keeps the answer", async () => {
    const prepare = async (puppet: Puppet) => {
      await puppet.ask({ do: "sayOnSignal", signal: "SIGTERM", text: REPORT, code: 0 }, "ready");
    };
    const turn = await rig.turn({ request: { timeout_ms: 50 }, prepare });
    const { failure, answer } = await settled(turn);
    expect(failure?.code).toBe("timeout");
    expect(answer?.payload).toMatchObject({ status: "completed" });
  });

  test("is ended with its whole group when the turn is cancelled", async () => {
    const turn = await rig.turn();
    const child = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: false, hold: false });
    turn.abort.abort();
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("cancelled");
    expect(isLiving(child)).toBe(false);
  });
});

describe("an agent that prints too much", () => {
  test("is ended at the output limit, and its files stay below it", async () => {
    const limit = 2_000_000;
    const turn = await rig.turn({ settings: { max_output_bytes: limit } });
    turn.puppet.tell({ do: "flood", text: "all work and no play\n" });
    const { failure } = await settled(turn);
    expect(failure).toMatchObject({ code: "output_limit" });
    expect(failure?.message).toContain("more than 2000000 bytes");
    const { size } = await stat(join(rig.directory, "output", "t7.3.stdout.log"));
    expect(size).toBeLessThanOrEqual(limit);
    expect(turn.events.length).toBeLessThanOrEqual(1_000);
  });

  test("in bytes that grow when decoded keeps its files below the limit", async () => {
    const limit = 1_000_000;
    const turn = await rig.turn({ settings: { max_output_bytes: limit } });
    await turn.puppet.ask({ do: "print", base64: Buffer.alloc(600_000, 0xff).toString("base64") }, "printed");
    turn.puppet.tell({ do: "exit", code: 0 });
    await settled(turn);
    const { size } = await stat(join(rig.directory, "output", "t7.3.stdout.log"));
    expect(size).toBe(limit);
  });

  test("in one endless line is ended at the output limit, in bounded memory", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 64_000_000 } });
    const before = process.memoryUsage().rss;
    turn.puppet.tell({ do: "flood", text: "x" });
    const { failure } = await settled(turn, 20_000);
    expect(failure?.code).toBe("output_limit");
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    expect(turn.events).toHaveLength(1);
    const { size } = await stat(join(rig.directory, "output", "t7.3.stdout.log"));
    expect(size).toBeLessThan(1_048_576 + 100);
  });

  test("in a console line over 1 MiB is emitted at once, cut", async () => {
    const turn = await rig.turn();
    await turn.puppet.print("x".repeat(1_500_000));
    const text = "x".repeat(8_192);
    expect(await turn.event((event) => event.kind === "console")).toEqual({ kind: "console", stream: "stdout", text });
    turn.puppet.tell({ do: "exit", code: 0 });
    await settled(turn);
    const kept = await readFile(join(rig.directory, "output", "t7.3.stdout.log"), "utf8");
    expect(kept).toBe(`${"x".repeat(1_048_576)} [cut]\n`);
  });

  test("in valid messages is ended at the output limit, with bounded events", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 3_000_000 } });
    turn.puppet.tell({ do: "flood", text: envelope("report", { status: "progress", summary: "Still." }) });
    const { failure } = await settled(turn, 20_000);
    expect(failure?.code).toBe("output_limit");
    expect(turn.events.filter(({ kind }) => kind === "envelope")).toHaveLength(1_000);
  });

  test("after its answer keeps the answer", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 1_000_000, answer_grace_ms: 10_000 } });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "flood", text: "more\n" });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
  });

  test("has answered before the limit, although more came in the same chunk", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 10_000, answer_grace_ms: 10_000 } });
    // It cannot report that it has printed: the rest is not read.
    turn.puppet.tell({ do: "print", text: `${REPORT}${"x".repeat(20_000)}\n` });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer?.payload).toMatchObject({ status: "completed" });
  });

  test("is not refused for the message that the limit cut", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 10_000 } });
    turn.puppet.tell({ do: "print", text: envelope("report", { status: "progress", summary: "x".repeat(20_000) }) });
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("output_limit");
    expect(turn.events).toEqual([]);
  });

  test("has not answered after the limit, even in the same chunk", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 10_000 } });
    turn.puppet.tell({ do: "print", text: `${"x".repeat(20_000)}\n${REPORT}` });
    const { failure, answer } = await settled(turn);
    expect(failure?.code).toBe("output_limit");
    expect(answer).toBeUndefined();
  });

  test("through a child after its answer and exit code gives agent_failed", async () => {
    const turn = await rig.turn({ settings: { max_output_bytes: 1_000_000 } });
    // The puppet cannot be asked after its exit.
    const floodAfterExit = ["sh", "-c", 'while kill -0 "$PPID" 2>/dev/null; do :; done; exec yes'];
    await spawnBelow(turn.puppet, { command: floodAfterExit, detached: false, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 3 });
    const { failure, answer } = await settled(turn);
    expect(failure).toMatchObject({ code: "agent_failed", details: { exit_code: 3 } });
    expect(answer?.payload).toMatchObject({ status: "completed" });
  });

  test("in one message over the limit is refused, and may answer again shorter", async () => {
    const turn = await rig.turn({ settings: { max_line_bytes: 20_000 } });
    await turn.puppet.print(envelope("report", { status: "completed", summary: "x".repeat(30_000) }));
    await turn.event((event) => event.kind === "refused" && event.refusal.code === "output_limit");
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer, refused } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(refused).toHaveLength(1);
  });

  test("by answering twice has answered once", async () => {
    const turn = await rig.turn();
    await turn.puppet.print(REPORT);
    await turn.puppet.print(REPORT);
    await turn.puppet.print(envelope("report", { status: "error", summary: "Or not." }));
    turn.puppet.tell({ do: "exit", code: 0 });
    const { answer, failure } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer?.payload).toMatchObject({ status: "completed" });
    expect(turn.events.map(({ kind }) => kind)).toEqual(["duplicate", "late"]);
  });
});

describe("an agent that does not read its request", () => {
  const large = { context: { requirement: "y".repeat(5_000_000) } };

  test("because it closed stdin can still answer", async () => {
    const recorded = Promise.withResolvers<void>();
    const turn = await rig.turn({ payload: large, started: recorded.promise });
    await turn.puppet.ask({ do: "closeStdin" }, "closed");
    recorded.resolve();
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
  });

  test("of five megabytes is ended at the time limit", async () => {
    const turn = await rig.turn({ payload: large, request: { timeout_ms: 100 } });
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("timeout");
  });

  test("because it exited before the start was on record fails", async () => {
    const recorded = Promise.withResolvers<void>();
    const turn = await rig.turn({ payload: large, started: recorded.promise });
    turn.puppet.tell({ do: "exit", code: 5 });
    await expect.poll(() => livingInGroup(turn.puppet.pid)).toEqual([]);
    recorded.resolve();
    const { failure } = await settled(turn);
    expect(failure).toMatchObject({ code: "agent_failed", details: { exit_code: 5 } });
  });

  test("but reads later gets all five megabytes", async () => {
    const turn = await rig.turn({ payload: large });
    const { size } = (await turn.puppet.ask({ do: "read" }, "input")) as { size: number };
    expect(size).toBeGreaterThan(5_000_000);
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(turn)).failure).toBeUndefined();
  });
});
