import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Launched, Launcher } from "../../src/agents/launcher.ts";
import { isAlive } from "../../src/agents/processes.ts";
import { scratchDirectory } from "./scratch.ts";
import { isLiving, killStray, livingInGroup } from "../processes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";

/** The contract of every launcher. */
export function launcherContract(name: string, make: () => Launcher): void {
  describe(`the launcher contract: ${name}`, () => {
    let directory: string;

    beforeEach(() => {
      directory = scratchDirectory();
    });

    async function launch(
      command: readonly string[],
      environment: Record<string, string> = { PATH },
    ): Promise<Launched> {
      const launched = await make().launch({ command, directory, environment });
      if (!launched.ok) throw new Error(launched.error.message);
      onTestFinished(() => {
        launched.value.signalGroup("SIGKILL");
        launched.value.destroyPipes();
      });
      return launched.value;
    }

    async function failureOf(
      command: readonly string[],
      where = directory,
      environment: Record<string, string> = { PATH },
    ) {
      const launched = await make().launch({ command, directory: where, environment });
      if (launched.ok) throw new Error("it started");
      return launched.error;
    }

    test("carries stdin, stdout, stderr and the exit code", async () => {
      const cat = await launch(["sh", "-c", "cat; echo oops >&2; exit 3"]);
      const output = Promise.all([text(cat.stdout), text(cat.stderr)]);
      cat.stdin.end("hello\n");
      expect(await output).toEqual(["hello\n", "oops\n"]);
      expect(await cat.exited).toEqual({ code: 3, signal: null });
    });

    test("runs in the given directory with the given environment and nothing else", async () => {
      const env = await launch(["/usr/bin/env"], { ONLY: "this" });
      expect(await text(env.stdout)).toBe("ONLY=this\n");
      const where = await launch(["pwd"]);
      expect((await text(where.stdout)).trim()).toBe(directory);
    });

    test("passes arguments unchanged, without a shell", async () => {
      const odd = ["$HOME", "a b", "*", "--flag", "", "'\"", "x;y"];
      const echo = await launch(["printf", "%s\\n", ...odd]);
      expect(await text(echo.stdout)).toBe(odd.map((word) => `${word}\n`).join(""));
    });

    test("identifies the process while it lives, and not afterwards", async () => {
      const sleeper = await launch(["sleep", "600"]);
      const { identity } = sleeper;
      expect(isLiving(identity.pid)).toBe(true);
      expect(identity.started).not.toBe("");
      expect(isAlive(identity)).toBe(true);
      expect(isAlive({ pid: identity.pid, started: "1" })).toBe(false);
      sleeper.signalGroup("SIGKILL");
      expect(await sleeper.exited).toEqual({ code: null, signal: "SIGKILL" });
      expect(isAlive(identity)).toBe(false);
    });

    test("makes the process the leader of its own group and signals the whole group", async () => {
      const family = await launch(["sh", "-c", "sleep 600 & echo started; wait"]);
      await once(family.stdout, "data");
      expect(livingInGroup(family.identity.pid)).toHaveLength(2);
      expect(family.groupLives()).toBe(true);
      family.signalGroup("SIGTERM");
      await family.exited;
      await expect.poll(() => livingInGroup(family.identity.pid)).toEqual([]);
      expect(family.groupLives()).toBe(false);
      family.signalGroup("SIGTERM");
    });

    test("reports the exit while others hold the pipes, and closes them on request", async () => {
      const daemon = await launch(["sh", "-c", "sleep 600 & echo $!"]);
      const [line] = (await once(daemon.stdout, "data")) as [Buffer];
      onTestFinished(() => killStray(Number(line.toString())));
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      expect(daemon.stdout.closed).toBe(false);
      expect(daemon.groupLives()).toBe(true);
      const closed = Promise.all([once(daemon.stdout, "close"), once(daemon.stderr, "close")]);
      daemon.destroyPipes();
      await closed;
    });

    test("loses no output of a process that exits at once", async () => {
      const quick = await launch(["sh", "-c", "printf %100000d 7"]);
      const printed = await text(quick.stdout);
      expect(printed.length).toBe(100_000);
    });

    test("survives input that is never read", async () => {
      const deaf = await launch(["sh", "-c", "exec 0<&-; exit 0"]);
      deaf.stdin.end("x".repeat(5_000_000));
      expect(await deaf.exited).toEqual({ code: 0, signal: null });
    });

    test("names a missing program in the failure", async () => {
      const missing = await failureOf(["no-such-program-here"]);
      expect(missing).toMatchObject({
        code: "unavailable",
        details: { program: "no-such-program-here", errno: "ENOENT" },
      });
      expect(missing.message).toContain("PATH");
    });

    test("fails for a missing path, and for a script without its interpreter", async () => {
      expect((await failureOf([join(directory, "gone")])).message).toContain(join(directory, "gone"));
      const script = join(directory, "script");
      await writeFile(script, "#!/no/such/interpreter\n");
      await chmod(script, 0o755);
      expect((await failureOf([script])).message).toContain("interpreter");
    });

    test("names the missing interpreter of a script on the PATH", async () => {
      const script = join(directory, "tool");
      await writeFile(script, "#!/no/such/interpreter\n");
      await chmod(script, 0o755);
      const refused = await failureOf(["tool"], directory, { PATH: `${directory}:${PATH}` });
      expect(refused).toMatchObject({ code: "unavailable", details: { program: "tool", errno: "ENOENT" } });
      expect(refused.message).toContain(script);
    });

    test("tells how to make a file executable", async () => {
      const script = join(directory, "script");
      await writeFile(script, "#!/bin/sh\n");
      const refused = await failureOf([script]);
      expect(refused.code).toBe("environment");
      expect(refused.hint).toContain(`chmod +x ${script}`);
    });

    test("tells that the program is a directory", async () => {
      const refused = await failureOf([directory]);
      expect(refused.message).toContain("directory");
      expect(refused.hint).not.toContain("chmod");
    });

    test("names a missing working directory, not the program", async () => {
      const nowhere = join(directory, "nowhere");
      const refused = await failureOf(["true"], nowhere);
      expect([refused.code, refused.message]).toEqual(["unavailable", expect.stringContaining(nowhere)]);
    });

    test("fails for arguments larger than the system allows", async () => {
      const refused = await failureOf(["true", "x".repeat(4_000_000)]);
      expect(refused).toMatchObject({ code: "environment", details: { errno: "E2BIG" } });
    });

    test("refuses an empty command and NUL bytes before anything is started", async () => {
      expect((await failureOf([])).code).toBe("configuration");
      expect((await failureOf(["true", "a\0b"])).message).toContain("an argument holds a NUL byte");
      expect((await failureOf(["true"], directory, { PATH, KEY: "a\0b" })).message).toContain('"KEY" holds a NUL byte');
    });
  });
}
