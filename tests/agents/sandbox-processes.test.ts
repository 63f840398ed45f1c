import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import { type SandboxMechanism, wrapped } from "../../src/agents/isolation/mechanism.ts";
import { findProcess, membersOf, signalProcess } from "../../src/agents/processes.ts";
import { Cleanup, scratchDirectory } from "./cleanup.ts";
import { livingWith, waysOfThisMachine } from "./mechanisms.ts";
import { killStray, livingInGroup, stateOf } from "../processes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const SCHEDULER = join(import.meta.dirname, "children/scheduler.ts");
const WAYS = await waysOfThisMachine();

test.runIf(process.platform === "linux" && process.getuid?.() === 0)("root has a way to keep processes apart", () => {
  expect(WAYS.map(({ way }) => way.by)).toContain("unshare");
});

test("what a wrapper leaves in its group ends with it", async () => {
  const cleanup = new Cleanup();
  onTestFinished(() => cleanup.run());
  const bwrap = join(await scratchDirectory(cleanup), "bwrap");
  await writeFile(bwrap, "#!/bin/sh\ntrap '' TERM HUP\nsleep 600 </dev/null >/dev/null 2>&1 &\nexit 7\n");
  await chmod(bwrap, 0o755);
  const way: SandboxMechanism = { by: "bubblewrap", bwrap };
  const isolation = { level: "processes", required: true } as const;
  const launched = await start({ command: ["true"], directory: "/", environment: { PATH }, isolation }, way);
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  cleanup.add(() => {
    killStray(-value.identity.pid);
    value.destroyPipes();
  });
  expect(await value.exited).toEqual({ code: 7, signal: null });
  await expect.poll(() => value.groupLives()).toBe(false);
});

describe.each(WAYS.filter(({ way }) => way.by === "unshare"))(
  "the first process of a namespace by $name",
  ({ way }) => {
    test("does not stay behind when its parent died before it could ask to die with it", async () => {
      const cleanup = new Cleanup();
      onTestFinished(() => cleanup.run());
      const directory = await scratchDirectory(cleanup);
      if (way.by !== "unshare") throw new Error("another way");
      const setpriv = join(directory, "setpriv");
      const waits = 'case "$3" in */sh) until [ -e go ]; do sleep 0.01; done;; esac';
      await writeFile(setpriv, `#!/bin/sh\n${waits}\nexec ${way.setpriv} "$@"\n`);
      await chmod(setpriv, 0o755);
      const spec = { command: ["true"], directory, environment: { PATH } };
      const [file = "", ...given] = wrapped({ ...way, setpriv }, spec);
      const wrapper = spawn(file, given, { cwd: directory, detached: true, stdio: "ignore" });
      cleanup.add(() => killStray(-(wrapper.pid ?? 0)));
      expect(await once(wrapper, "exit")).toEqual([0, null]);
      expect(membersOf(wrapper.pid ?? 0, performance.now()).length).toBeGreaterThan(0);
      await writeFile(join(directory, "go"), "");
      await expect.poll(() => membersOf(wrapper.pid ?? 0, performance.now())).toEqual([]);
    });
  },
);

describe.each(WAYS)("an agent in the sandbox processes by $name", ({ way }) => {
  let cleanup: Cleanup;
  let directory: string;
  let word: string;

  beforeEach(async () => {
    cleanup = new Cleanup();
    directory = await scratchDirectory(cleanup);
    // A duration that nobody else sleeps, so that these sleepers can be told from all others.
    word = `${100_000 + process.pid}.${Math.floor(performance.now() * 1000)}`;
    cleanup.add(() => livingWith(word).forEach(killStray));
  });
  afterEach(() => cleanup.run());

  async function launch(command: readonly string[]) {
    const isolation = { level: "processes", required: true } as const;
    const launched = await start({ command, directory, environment: { PATH }, isolation }, way);
    if (!launched.ok) throw new Error(launched.error.message);
    const { value } = launched;
    cleanup.add(() => {
      value.signalGroup("SIGKILL");
      value.destroyPipes();
    });
    value.stderr.resume();
    return value;
  }

  const script = (text: string) => launch(["sh", "-c", text]);

  test("has its streams, its directory and its environment as without one", async () => {
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

  test("has no right of those that were only needed to make it", async () => {
    const status = await script('grep -E "^Cap(Inh|Amb)" /proc/self/status');
    expect((await text(status.stdout)).split("\n")).toEqual([
      "CapInh:\t0000000000000000",
      "CapAmb:\t0000000000000000",
      "",
    ]);
  });

  test("is killed although it has stopped its whole group", async () => {
    // Several, since what waits for the program hears of its stop sooner or later.
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
    // What was killed with a wrapper may outlast it by a moment.
    for (const { identity } of stopped) await expect.poll(() => livingInGroup(identity.pid)).toEqual([]);
  });

  test("dies of a signal as without one", async () => {
    expect(await (await script("kill -TERM $$")).exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(await (await script("kill -INT $$")).exited).toEqual({ code: null, signal: "SIGINT" });
    expect(await (await script("kill -KILL $$")).exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("can exit with the code that stands for a signal in shells, which bubblewrap alone cannot tell from the signal", async () => {
    const told = way.by === "unshare" ? { code: 143, signal: null } : { code: null, signal: "SIGTERM" };
    expect(await (await script("exit 143")).exited).toEqual(told);
    expect(await (await script("exit 250")).exited).toEqual({ code: 250, signal: null });
  });

  test("is told to end before it is killed, and can end in its own way", async () => {
    const polite = await script("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done");
    await once(polite.stdout, "data");
    const rest = text(polite.stdout);
    polite.signalGroup("SIGTERM");
    expect(await polite.exited).toEqual({ code: 5, signal: null });
    expect(await rest).toBe("bye\n");
  });

  test("ends of SIGTERM if it does nothing about it", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    sleeper.signalGroup("SIGTERM");
    expect(await sleeper.exited).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("that is told to end before it has begun is killed at once", async () => {
    const sleeper = await script(`exec sleep ${word}`);
    sleeper.signalGroup("SIGTERM");
    await sleeper.exited;
    await expect.poll(() => [sleeper.groupLives(), livingWith(word)]).toEqual([false, []]);
  });

  test("takes with it whatever it started, wherever that has gone and whatever it has cleared", async () => {
    const daemons = `setsid env -i PATH="$PATH" sleep ${word} & (setsid sh -c 'trap "" TERM HUP; sleep ${word}; sleep ${word}' &)`;
    const parent = await script(`${daemons}; echo ready; read -r end; exit 4`);
    await once(parent.stdout, "data");
    await expect.poll(() => livingWith(word).length).toBeGreaterThanOrEqual(3);
    expect(parent.groupLives()).toBe(true);
    parent.stdin.end("\n");
    expect(await parent.exited).toEqual({ code: 4, signal: null });
    await expect.poll(() => parent.groupLives()).toBe(false);
    // The kernel has killed them by then, but may take a moment to have them gone.
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  test("takes them with it when it is killed, too", async () => {
    const parent = await script(`setsid sleep ${word} & echo ready; wait`);
    await once(parent.stdout, "data");
    parent.signalGroup("SIGKILL");
    expect(await parent.exited).toEqual({ code: null, signal: "SIGKILL" });
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  test("dies with the scheduler, and all it started", async () => {
    const command = ["sh", "-c", `setsid sleep ${word} & sleep ${word} & echo ready; wait`];
    const spec = { command, directory, environment: { PATH }, isolation: { level: "processes", required: true } };
    const scheduler = spawn(process.execPath, [SCHEDULER, JSON.stringify(spec), JSON.stringify(way)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    cleanup.add(() => killStray(scheduler.pid ?? 0));
    await once(scheduler.stdout, "data");
    await expect.poll(() => livingWith(word).length).toBeGreaterThanOrEqual(3);
    scheduler.kill("SIGKILL");
    await expect.poll(() => livingWith(word)).toEqual([]);
  });

  // With bubblewrap nobody outside has anything to reap.
  test("is over when it cannot work any more, though the kernel still waits for others to reap it", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    const { pid } = sleeper.identity;
    // The program is the wrapper's to reap, and that is stopped: so the first process hangs in its own end.
    process.kill(pid, "SIGSTOP");
    for (const member of membersOf(pid, performance.now())) if (member.pid !== pid) signalProcess(member, "SIGKILL");
    await expect.poll(() => membersOf(pid, performance.now()).map((member) => member.pid)).toEqual([pid]);
    process.kill(pid, "SIGCONT");
    expect(await sleeper.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("is found again by its identity while it lives", async () => {
    const sleeper = await script(`echo ready; exec sleep ${word}`);
    await once(sleeper.stdout, "data");
    expect(findProcess(sleeper.identity)).toBe("alive");
    sleeper.signalGroup("SIGKILL");
    await sleeper.exited;
    expect(findProcess(sleeper.identity)).toBe("gone");
  });

  test("writes files that belong to whoever runs it", async () => {
    const { exited } = await script("touch made");
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(statSync(join(directory, "made")).uid).toBe(process.getuid?.());
  });

  test("sees no process but its own, and cannot end those that keep it", async () => {
    const { stdout, exited } = await script(
      `kill -USR1 ${process.pid} 2>/dev/null && echo reached; kill -KILL 1; echo alive`,
    );
    expect(await text(stdout)).toBe("alive\n");
    expect((await exited).code).toBe(0);
  });

  test("has no zombies pile up", async () => {
    const { stdout } = await script(
      'for i in 1 2 3; do (sleep 0.01 &) ; done; sleep 0.3; while grep -qs "^State:.Z" /proc/[0-9]*/status; do sleep 0.05; done; echo none',
    );
    expect(await text(stdout)).toBe("none\n");
  });

  test("that is not there, or may not be executed, is a failure before anything is started", async () => {
    const isolation = { level: "processes", required: true } as const;
    const failureOf = async (program: string) => {
      const launched = await start({ command: [program], directory, environment: { PATH }, isolation }, way);
      return launched.ok ? undefined : launched.error.message;
    };
    expect(await failureOf("no-such-program-here")).toContain("PATH");
    expect(await failureOf("./gone")).toContain("./gone");
    expect(await failureOf(import.meta.filename)).toContain("executable");
  });
});
