import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { AgentRig, type Puppet, REPORT } from "./rig.ts";
import { supervise } from "./supervised.ts";
import { isLiving, killStray, livingInGroup } from "../processes.ts";

let rig: AgentRig;

beforeEach(async () => {
  rig = await AgentRig.open();
});

describe("a supervised run", () => {
  test("reads no more while its listener waits, then goes on", async () => {
    const first = Promise.withResolvers<void>();
    const relief = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let relieved = false;
    const { run, launched, abort } = await supervise(rig.directory, "exec yes", {}, () => {
      if (relieved) second.resolve();
      first.resolve();
      return relief.promise;
    });
    await first.promise;
    expect(launched.stdout.isPaused()).toBe(true);
    relieved = true;
    relief.resolve();
    await second.promise;
    abort.abort();
    expect((await run.ended).cause).toBe("cancelled");
    expect(livingInGroup(launched.identity.pid)).toEqual([]);
  });

  test("reads the pipes of an exited process, even if its listener waits", async () => {
    let last = "";
    const first = Promise.withResolvers<void>();
    // More than one chunk: half of it waits in this process, half in the pipe.
    const script = "echo first; read -r _; yes | head -c 110000; echo; echo last";
    const { run, launched } = await supervise(rig.directory, script, {}, (_, bytes) => {
      last = bytes.toString();
      first.resolve();
      return new Promise(() => {});
    });
    await first.promise;
    expect(launched.stdout.isPaused()).toBe(true);
    run.give("go on\n");
    expect((await run.ended).cause).toBe("exited");
    expect(last).toBe("last");
  });

  test("ends a flooding process that ignores SIGTERM by closing its pipe", async () => {
    const limits = { max_output_bytes: 1_000_000, kill_grace_ms: 20_000 };
    const { run } = await supervise(rig.directory, "trap '' TERM; exec yes", limits, () => undefined);
    run.give("");
    const before = performance.now();
    const { cause, exit } = await run.ended;
    expect(cause).toBe("output_limit");
    expect(exit?.signal).not.toBe("SIGKILL");
    expect(performance.now() - before).toBeLessThan(limits.kill_grace_ms / 2);
  });

  test("stops at the output limit when a child floods after the exit", async () => {
    const { run, launched } = await supervise(
      rig.directory,
      "yes & exit 0",
      { max_output_bytes: 1_000_000 },
      () => undefined,
    );
    run.give("");
    expect((await run.ended).cause).toBe("output_limit");
    expect(livingInGroup(launched.identity.pid)).toEqual([]);
  });

  test("reads what a child of its group prints shortly after the exit", async () => {
    const lines: string[] = [];
    const { run } = await supervise(rig.directory, "(sleep 0.1; echo late) & exit 0", {}, (_, bytes) => {
      lines.push(bytes.toString());
      return undefined;
    });
    run.give("");
    expect(await run.ended).toMatchObject({ cause: "exited", exit: { code: 0 } });
    expect(lines).toEqual(["late"]);
  });

  test("ends a process that goes on after the output limit", async () => {
    const { run, launched } = await supervise(
      rig.directory,
      "yes; sleep 600",
      { max_output_bytes: 1_000_000 },
      () => undefined,
    );
    run.give("");
    expect((await run.ended).cause).toBe("output_limit");
    expect(livingInGroup(launched.identity.pid)).toEqual([]);
  });

  test.runIf(process.platform === "linux")("kills processes that leave the group on SIGTERM", async () => {
    const stray = Promise.withResolvers<number>();
    const leave = "trap 'setsid sh -c \"echo \\$\\$; exec sleep 600\" & ' TERM";
    const { run, abort } = await supervise(
      rig.directory,
      `${leave}; echo ready; while :; do sleep 600 & wait; done`,
      // Within it the shell must get to its trap, and what that starts to its first word.
      { kill_grace_ms: 5_000 },
      (_, bytes) => {
        const line = bytes.toString();
        if (line === "ready") abort.abort();
        else stray.resolve(Number(line));
        return undefined;
      },
    );
    const pid = await stray.promise;
    onTestFinished(() => killStray(pid));
    expect(await run.ended).toMatchObject({ cause: "cancelled", exit: { signal: "SIGKILL" } });
    expect(isLiving(pid)).toBe(false);
  });

  test("does not count a stall of the scheduler as idle", async () => {
    const prepare = async (puppet: Puppet) => puppet.tell({ do: "drip", text: ".", every_ms: 10 });
    const turn = await rig.turn({ request: { idle_timeout_ms: 1_000, timeout_ms: 0 }, prepare });
    await turn.puppet.print("\n");
    // After a stall here, the event loop runs timers before it reads pipes.
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_400);
        resolve();
      });
    });
    await turn.puppet.print(`\n${REPORT}`);
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await turn.result).failure).toBeUndefined();
  });

  test("settles when the console file hangs", async () => {
    const output = join(rig.directory, "output");
    await mkdir(output);
    const pipe = join(output, "t7.3.stdout.log");
    execFileSync("mkfifo", [pipe]);
    const turn = await rig.turn();
    await turn.puppet.print("nobody reads this\n");
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { answer } = await turn.result;
    expect(answer).toBeDefined();
    // Ends the system call in which opening hangs.
    await readFile(pipe);
  });

  test("leaves no descriptor open, even when an escaped process holds the pipes", async () => {
    const descriptors = () => readdirSync(process.platform === "linux" ? "/proc/self/fd" : "/dev/fd").length;
    const once = async () => {
      const turn = await rig.turn();
      const stray = { do: "spawn", command: ["sleep", "600"], detached: true, hold: true };
      const { pid } = (await turn.puppet.ask(stray, "spawned")) as { pid: number };
      onTestFinished(() => killStray(pid));
      await turn.puppet.print(`text\n${REPORT}`);
      turn.puppet.tell({ do: "exit", code: 0 });
      await turn.result;
      await expect.poll(() => rig.connections()).toBe(0);
    };
    await once();
    const before = descriptors();
    for (let i = 0; i < 3; i += 1) await once();
    // Ignores files that another test or the test runner has open for a moment.
    await expect.poll(descriptors).toBeLessThanOrEqual(before);
  });
});
