import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import type { SandboxMechanism } from "../../src/agents/isolation/mechanism.ts";
import { isAlive, groupMembers } from "../../src/agents/processes.ts";
import { scratchDirectory } from "./scratch.ts";
import { livingWith, availableSandboxes } from "./sandboxes.ts";
import { killStray, livingInGroup, stateOf } from "../processes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const SCHEDULER = join(import.meta.dirname, "children/scheduler.ts");
const SANDBOXES = await availableSandboxes();

test.runIf(process.platform === "linux" && process.getuid?.() === 0)("root has the mechanism unshare", () => {
  expect(SANDBOXES.map(({ mechanism }) => mechanism.by)).toContain("unshare");
});

test("the rest of a wrapper's group ends with it", async () => {
  const bwrap = join(scratchDirectory(), "bwrap");
  await writeFile(bwrap, "#!/bin/sh\ntrap '' TERM HUP\nsleep 600 </dev/null >/dev/null 2>&1 &\nexit 7\n");
  await chmod(bwrap, 0o755);
  const mechanism: SandboxMechanism = { by: "bubblewrap", bwrap };
  const isolation = { level: "processes", required: true } as const;
  const launched = await start({ command: ["true"], directory: "/", environment: { PATH }, isolation }, mechanism);
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  onTestFinished(() => {
    killStray(-value.identity.pid);
    value.destroyPipes();
  });
  expect(await value.exited).toEqual({ code: 7, signal: null });
  await expect.poll(() => value.groupLives()).toBe(false);
});

/** Runs a program as the first of a process namespace. */
function asFirst(...command: readonly string[]) {
  const flags = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawnSync("unshare", [...flags, ...command], { encoding: "utf8" });
}

describe.runIf(asFirst("true").status === 0).each(SANDBOXES)("a program in a sandbox by $name", ({ mechanism }) => {
  test("leaves no zombie to a first process that reaps nothing", () => {
    const level = mechanism.by === "unshare" ? "processes" : "files";
    const { stdout, stderr } = asFirst(process.execPath, join(import.meta.dirname, "children/first-process.ts"), level);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      first: 1,
      exits: [
        { code: 3, signal: null },
        { code: 4, signal: null },
        { code: null, signal: "SIGTERM" },
        { code: null, signal: "SIGKILL" },
      ],
      zombies: [],
    });
  });
});

describe.each(SANDBOXES)("an agent in the sandbox processes by $name", ({ mechanism }) => {
  let directory: string;
  let word: string;

  beforeEach(async () => {
    directory = scratchDirectory();
    // A unique duration, to recognize these sleepers.
    word = `${100_000 + process.pid}.${Math.floor(performance.now() * 1000)}`;
    onTestFinished(() => livingWith(word).forEach(killStray));
  });

  async function launch(command: readonly string[]) {
    const isolation = { level: "processes", required: true } as const;
    const launched = await start({ command, directory, environment: { PATH }, isolation }, mechanism);
    if (!launched.ok) throw new Error(launched.error.message);
    const { value } = launched;
    onTestFinished(() => {
      value.signalGroup("SIGKILL");
      value.destroyPipes();
    });
    value.stderr.resume();
    return value;
  }

  const script = (text: string) => launch(["sh", "-c", text]);

  test("has the same streams, directory and environment as without one", async () => {
    const { stdin, stdout, stderr, exited } = await script(
      'cat; pwd; env | grep -v "^PWD=\\|^_="; echo oops >&2; exit 3',
    );
    const said = Promise.all([text(stdout), text(stderr)]);
    stdin.end("hello\n");
    const [out, oops] = await said;
    expect(out.split("\n").filter((line) => !/^(?:OLDPWD|SHLVL)=/.test(line))).toEqual([
      "hello",
      directory,
      `PATH=${PATH}`,
      "",
    ]);
    expect(oops).toBe("oops\n");
    expect(await exited).toEqual({ code: 3, signal: null });
  });

  test("has none of the capabilities that setting it up needs", async () => {
    const status = await script('grep -E "^Cap(Inh|Amb)" /proc/self/status');
    expect((await text(status.stdout)).split("\n")).toEqual([
      "CapInh:\t0000000000000000",
      "CapAmb:\t0000000000000000",
      "",
    ]);
  });

  test("kills a script that has SIGSTOPped its process group", async () => {
    // Several times, since the wrapper learns of the stop at different moments.
    const stopped = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const launched = await script("echo ready; kill -STOP 0; echo on");
        await once(launched.stdout, "data");
        await expect.poll(() => stateOf(launched.identity.pid)).toMatch(/^T/);
        return launched;
      }),
    );
    for (const launched of stopped) launched.signalGroup("SIGKILL");
    const exits = await Promise.all(stopped.map(({ exited }) => exited));
    expect(new Set(exits.map(({ signal }) => signal))).toEqual(new Set(["SIGKILL"]));
    // Processes killed with a wrapper may outlive it by a moment.
    for (const { identity } of stopped) await expect.poll(() => livingInGroup(identity.pid)).toEqual([]);
  });

  test("reports death by a signal as without one", async () => {
    expect(await (await script("kill -TERM $$")).exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(await (await script("kill -INT $$")).exited).toEqual({ code: null, signal: "SIGINT" });
    expect(await (await script("kill -KILL $$")).exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("is read as ended by SIGTERM when it exits with 143, as shells tell it", async () => {
    expect(await (await script("exit 143")).exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(await (await script("exit 250")).exited).toEqual({ code: 250, signal: null });
  });

  test("gets SIGTERM before SIGKILL, and can handle it", async () => {
    const polite = await script("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done");
    await once(polite.stdout, "data");
    const rest = text(polite.stdout);
    polite.signalGroup("SIGTERM");
    expect(await polite.exited).toEqual({ code: 5, signal: null });
    expect(await rest).toBe("bye\n");
  });

  test("ends on SIGTERM by default", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    sleeper.signalGroup("SIGTERM");
    expect(await sleeper.exited).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("is killed at once when it is ended before its program starts", async () => {
    const sleeper = await script(`exec sleep ${word}`);
    sleeper.signalGroup("SIGTERM");
    await sleeper.exited;
    await expect.poll(() => [sleeper.groupLives(), livingWith(word)]).toEqual([false, []]);
  });

  test("ends all its descendants when it exits, escaped or not", async () => {
    const daemons = `setsid env -i PATH="$PATH" sleep ${word} & (setsid sh -c 'trap "" TERM HUP; sleep ${word}; sleep ${word}' &)`;
    const parent = await script(`${daemons}; echo ready; read -r end; exit 4`);
    await once(parent.stdout, "data");
    await expect.poll(() => livingWith(word).length).toBeGreaterThanOrEqual(3);
    expect(parent.groupLives()).toBe(true);
    parent.stdin.end("\n");
    expect(await parent.exited).toEqual({ code: 4, signal: null });
    await expect.poll(() => parent.groupLives()).toBe(false);
    // The kernel has killed them by now, but they may take a moment to vanish.
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  test("ends all its descendants when it is killed", async () => {
    const parent = await script(`setsid sleep ${word} & echo ready; wait`);
    await once(parent.stdout, "data");
    parent.signalGroup("SIGKILL");
    expect(await parent.exited).toEqual({ code: null, signal: "SIGKILL" });
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  test("ends with the scheduler, with all its descendants", async () => {
    const command = ["sh", "-c", `setsid sleep ${word} & sleep ${word} & echo ready; wait`];
    const spec = { command, directory, environment: { PATH }, isolation: { level: "processes", required: true } };
    const scheduler = spawn(process.execPath, [SCHEDULER, JSON.stringify(spec), JSON.stringify(mechanism)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => killStray(scheduler.pid ?? 0));
    await once(scheduler.stdout, "data");
    await expect.poll(() => livingWith(word).length).toBeGreaterThanOrEqual(3);
    scheduler.kill("SIGKILL");
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  test("counts as ended while its first process waits to be reaped", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    const { pid } = sleeper.identity;
    // The stopped wrapper does not reap.
    process.kill(pid, "SIGSTOP");
    killStray(Math.max(...livingWith(word)));
    await expect.poll(() => groupMembers(pid, performance.now()).map((member) => member.pid)).toEqual([pid]);
    process.kill(pid, "SIGCONT");
    expect(await sleeper.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("is found by its identity while it lives", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    expect(isAlive(sleeper.identity)).toBe(true);
    sleeper.signalGroup("SIGKILL");
    await sleeper.exited;
    expect(isAlive(sleeper.identity)).toBe(false);
  });

  test("writes files that belong to the user who runs it", async () => {
    const { exited } = await script("touch made");
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(statSync(join(directory, "made")).uid).toBe(process.getuid?.());
  });

  test("sees only its own processes, and cannot signal those outside", async () => {
    const { stdout, exited } = await script(
      `kill -USR1 ${process.pid} 2>/dev/null && echo reached; kill -KILL 1; echo alive`,
    );
    expect(await text(stdout)).toBe("alive\n");
    expect((await exited).code).toBe(0);
  });

  test("accumulates no zombies", async () => {
    const { stdout } = await script(
      'for i in 1 2 3; do (sleep 0.01 &) ; done; sleep 0.3; while grep -qs "^State:.Z" /proc/[0-9]*/status; do sleep 0.05; done; echo none',
    );
    expect(await text(stdout)).toBe("none\n");
  });

  test("gives a failure before the start if it is missing or not executable", async () => {
    const isolation = { level: "processes", required: true } as const;
    const failureOf = async (program: string) => {
      const launched = await start({ command: [program], directory, environment: { PATH }, isolation }, mechanism);
      return launched.ok ? undefined : launched.error.message;
    };
    expect(await failureOf("no-such-program-here")).toContain("PATH");
    expect(await failureOf("./gone")).toContain("./gone");
    expect(await failureOf(import.meta.filename)).toContain("executable");
  });
});
