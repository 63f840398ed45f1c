import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { CrashPoint } from "../../src/lib/crash-point.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { jsonLines, type Rig, rig, ROOT, tinyPlan, until } from "./rig.ts";
import { endAfterwards, everyProcessEnds, strays } from "./strays.ts";
import { open } from "./terminal.ts";
import { ASK, freeze, letGo, statusOf, taskRuns, WAIT } from "./waiting-task.ts";
import { frozen } from "../crash/freeze.ts";

const QUICK = tinyPlan([{ task_id: "write", shell: "true" }]);

/** A configuration that notifies by this program in sh. */
function notifies(here: Rig, script: string, on?: readonly string[]): string[] {
  const program = here.write("notify.sh", `#!/bin/sh\n${script}\n`);
  const notify = { command: ["sh", program], ...(on ? { on } : {}) };
  return ["--config", here.write("config.json", JSON.stringify({ notify, kill_grace_s: 1 }))];
}

interface Notification {
  readonly event: string;
  readonly message: string;
  readonly next: readonly string[];
  readonly again?: boolean;
  readonly questions?: readonly object[];
}

const keysOf = (value: object | undefined) => Object.keys(value ?? {}).toSorted();

function told(here: Rig): Notification[] {
  const file = join(here.workspace, "told");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Notification);
}

/** Appends whole lines only, whenever the program dies. */
const KEEPS = "line=$(cat); printf '%s\\n' \"$line\" >>told";

const verified = async (here: Rig, session_id: string) => {
  const proof = await typedJson<{ decisions: string }>(here, ["replay", session_id, "--verify", "--json"]);
  expect(proof).toMatchObject({ integrity: "ok", decisions: "ok", problems: [] });
};

describe("notify", () => {
  it("gets the reporters' text, and commands that work", async () => {
    const here = rig();
    const first = await typed(here, ["run", "--plan", here.write("plan.json", ASK), ...notifies(here, KEEPS)]);
    expect(first.code).toBe(4);
    const session_id = await onlySession(here);
    const [question, stopped] = told(here);
    expect(question).toMatchObject({
      event: "question",
      message: `workspace: Write some files.\n${session_id} needs a person:\nc1.name: Whose name?\n  bosun answer ${session_id} c1.name Ada`,
    });
    expect(stopped).toMatchObject({ event: "stopped" });
    const spec = readFileSync(join(ROOT, "SPEC.md"), "utf8");
    const example = JSON.parse(/^```json notify=question\n([^]*?)^```$/m.exec(spec)?.[1] ?? "") as Notification;
    expect(keysOf(question)).toEqual(keysOf(example));
    expect(keysOf(question?.questions?.[0])).toEqual(keysOf(example.questions?.[0]));
    for (const command of stopped?.next ?? []) {
      expect(first.stdout).toContain(command);
      expect(await typed(here, command.split(" ").slice(1))).toMatchObject({ stderr: "" });
    }
    expect(told(here).map(({ event }) => event)).toEqual(["question", "stopped", "closed"]);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Ada\n");
    await verified(here, session_id);
  });

  it("is run for a detached session, which waits for it at the end", async () => {
    const here = endAfterwards(rig());
    const slowly = "until [ -e heard ]; do sleep 0.05; done; " + KEEPS;
    const args = ["run", "--plan", here.write("plan.json", QUICK), ...notifies(here, slowly, ["closed"]), "--detach"];
    expect((await here.run(args)).code).toBe(0);
    const session_id = await onlySession(here);
    await until("the session to close", async () => (await statusOf(here, session_id)).state === "closed");
    expect((await statusOf(here, session_id)).owner).not.toBeNull();
    here.write("workspace/heard", "");
    await until("its scheduler to leave", async () => (await statusOf(here, session_id)).owner === null);
    expect(told(here)).toMatchObject([{ event: "closed" }]);
    await everyProcessEnds(here);
  });

  it.each<readonly [CrashPoint, tellings: RegExp]>([
    ["after_commit", /^told$/],
    ["notification_spawned", /^told$/],
    ["notification_pid_committed", /^again$/],
    ["notification_running", /^(told )?again$/],
    ["notification_ended", /^told again$/],
  ])("sends each question despite a crash at %s, and again only if it may be cut short", async (point, tellings) => {
    const here = rig();
    const args = ["run", "--plan", here.write("plan.json", ASK), ...notifies(here, KEEPS, ["question"])];
    // The third commit holds the question.
    const passing = point === "after_commit" ? 3 : 1;
    const crashed = await here.run(args, { env: { BOSUN_CRASH_AT: `${point}:${passing}` } });
    expect(crashed.signal).toBe("SIGKILL");
    expect((await typed(here, ["inbox"])).stdout).toContain("Whose name?");
    for (let times = 0; times < 3; times += 1) expect((await typed(here, ["resume", "--no-input"])).code).toBe(4);
    // The program of the first notification may have outlived the crash.
    expect(
      told(here)
        .map((one) => (one.again === true ? "again" : "told"))
        .join(" "),
    ).toMatch(tellings);
    expect(strays(here)).toEqual([]);
    expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    await verified(here, await onlySession(here));
  });

  it("leaves no hanging program after a kill, and repeats the question", async () => {
    const here = endAfterwards(rig());
    const hangs = `${KEEPS}; [ -e hung ] || { : >hung; exec sleep 3600; }`;
    const args = ["run", "--plan", here.write("plan.json", ASK), ...notifies(here, hangs, ["question"]), "--detach"];
    expect((await here.run(args)).code).toBe(0);
    const session_id = await onlySession(here);
    await until("the program to hang", () => existsSync(join(here.workspace, "hung")));
    process.kill((await statusOf(here, session_id)).owner?.pid ?? 0, "SIGKILL");
    await until("it to be gone", async () => (await statusOf(here, session_id)).owner === null);
    expect((await typed(here, ["resume", "--no-input"])).code).toBe(4);
    expect(strays(here)).toEqual([]);
    expect(told(here).map(({ again }) => again)).toEqual([undefined, true]);
  });

  it("is run for a missed end when the session is resumed", async () => {
    const here = rig();
    const args = ["run", "--plan", here.write("plan.json", QUICK), ...notifies(here, KEEPS, ["closed"])];
    expect(await here.run(args, { env: { BOSUN_CRASH_AT: "notification_spawned" } })).toMatchObject({
      signal: "SIGKILL",
    });
    const session_id = await onlySession(here);
    const records = (await typed(here, ["replay", session_id, "--json"])).stdout;
    for (let times = 0; times < 2; times += 1) expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect(told(here)).toMatchObject([{ event: "closed", message: expect.stringContaining("is done") as string }]);
    expect((await typed(here, ["replay", session_id, "--json"])).stdout).toBe(records);
  });

  it("only warns if it fails: on stderr, in scheduler.log and in a viewer", async () => {
    const words = '"sh" exited with code 7, saying: no network.';
    const fails = "echo no network >&2; exit 7";
    const near = rig();
    const flags = ["--plan", near.write("plan.json", ASK), "--answer", "name=Eve"];
    const foreground = await typed(near, ["run", ...flags, ...notifies(near, fails, ["closed"])]);
    expect(foreground.code).toBe(0);
    expect(foreground.stderr).toMatch(new RegExp(`^Warning: .*"closed".* ${words}.*\n$`));

    const here = endAfterwards(rig());
    const plan = here.write("plan.json", ASK);
    expect((await here.run(["run", "--plan", plan, ...notifies(here, fails, ["question"]), "--detach"])).code).toBe(0);
    const session_id = await onlySession(here);
    const log = join(here.home, "sessions", session_id, "scheduler.log");
    await until("the warning", () => readFileSync(log, "utf8").includes(words));
    expect(readFileSync(log, "utf8").split("Warning:")).toHaveLength(2);
    const viewer = here.start(["attach", "--json", "--no-input"]);
    await until("the warning", () => viewer.stdout().includes('"type":"warning"'));
    expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
    const events = jsonLines<{ type: string }>((await viewer.done).stdout);
    expect(events.filter(({ type }) => type === "warning")).toEqual([
      { type: "warning", message: expect.stringContaining(words) as string },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "result", exit_code: 0 });
  });

  it("is checked by doctor", async () => {
    const here = rig();
    const config = here.write(
      "config.json",
      JSON.stringify({ notify: { command: ["no-such-bell"], on: ["question"] } }),
    );
    const missing = await typed(here, ["doctor", "--config", config]);
    expect(missing.code).toBe(3);
    expect(missing.stdout).toMatch(/!! +notify .*"no-such-bell"/);
    expect(missing.stdout).toContain(`${config}:1`);
    const there = await typed(here, ["doctor", ...notifies(here, KEEPS)]);
    expect(there.stdout).toMatch(/ok +notify +\S+\/sh, /);
    expect((await typed(here, ["doctor"])).stdout).toMatch(/^ +notify +/m);
  });
});

describe("bosun stop", () => {
  const detach = async (here: Rig, ...more: string[]) => {
    expect((await here.run(["run", "--plan", here.write("plan.json", WAIT), "--detach", ...more])).code).toBe(0);
    return taskRuns(here);
  };

  it("stops a detached scheduler, records who did it, and leaves no process", async () => {
    const here = endAfterwards(rig());
    const { session_id } = await detach(here, ...notifies(here, KEEPS, ["stopped"]));
    const stopped = await typed(here, ["stop", "--reason", "The machine is needed."]);
    expect(stopped).toMatchObject({ code: 0, stderr: "" });
    expect(stopped.stdout).toContain(`next    bosun resume ${session_id}\n`);
    await everyProcessEnds(here);
    expect(await statusOf(here, session_id)).toMatchObject({ state: "stopped", owner: null });
    const record = JSON.parse(
      (await typed(here, ["replay", session_id, "--type", "session_stopped", "--json"])).stdout,
    ) as object;
    const message = expect.stringMatching(/^stopped by \S+ on \S+: The machine is needed\.$/) as string;
    expect(record).toMatchObject({ payload: { reason: "signal", message } });
    expect(told(here)).toMatchObject([{ event: "stopped", reason: "signal" }]);
    letGo(here);
    expect((await typed(here, ["resume"])).code).toBe(0);
    await verified(here, session_id);
  });

  it("ends `run` at a terminal like Ctrl-C, with 130", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id } = await taskRuns(here);
    expect((await typed(here, ["stop", session_id])).code).toBe(0);
    expect(await pane.exit()).toBe(130);
    expect(pane.screen()).toMatch(/STOP by \S+[^]*stopped by /);
    expect(pane.screen()).toContain(`bosun resume ${session_id}`);
    pane.hangUp();
    await everyProcessEnds(here);
  });

  it("stops a paused session, whose question stays open", async () => {
    const here = endAfterwards(rig());
    expect((await here.run(["run", "--plan", here.write("plan.json", ASK), "--detach"])).code).toBe(0);
    await until("the question", async () => (await typed(here, ["inbox"])).stdout.includes("Whose name?"));
    expect((await typed(here, ["pause"])).code).toBe(0);
    expect((await typed(here, ["stop"])).stdout).toContain("paused");
    expect((await typed(here, ["answer", "Eve"])).stdout).toContain("Kept for");
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
  });

  it("exits with 7 after a minute if the scheduler hangs, which stops once it can", async () => {
    const here = endAfterwards(rig());
    const { session_id, owner } = await detach(here);
    await freeze(here, owner);
    // Only the clock of this command runs faster.
    const now = performance.now.bind(performance);
    const start = now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => start + (now() - start) * 40);
    const stopped = await typed(here, ["stop", session_id]).finally(() => clock.mockRestore());
    expect(now() - start).toBeGreaterThan(60_000 / 40);
    expect(stopped).toMatchObject({ code: 7, stdout: "" });
    expect(stopped.stderr).toContain(`process ${owner} on `);
    expect(stopped.stderr).toContain(`bosun resume ${session_id} --take-over`);
    process.kill(owner, "SIGCONT");
    await everyProcessEnds(here);
    expect(await statusOf(here, session_id)).toMatchObject({ state: "stopped", owner: null });
  });

  it("names a frozen scheduler that locks the database, and how to continue", async () => {
    const here = endAfterwards(rig());
    const env = { BOSUN_CRASH_AT: "before_commit:4:SIGSTOP" };
    const session = ["run", "--plan", here.write("plan.json", WAIT), "--session", "mine", "--detach"];
    expect((await here.run(session, { env })).code).toBe(0);
    const { owner } = await statusOf(here, "mine");
    await until("it to stand still", () => frozen(owner?.pid));
    const stopped = await typed(here, ["stop", "mine"]);
    expect([stopped.code, stopped.stdout]).toEqual([3, ""]);
    expect(stopped.stderr).toContain(`process ${owner?.pid} on `);
    expect(stopped.stderr).toContain("bosun resume mine --take-over");
  });

  it("does nothing to a session that is not running, also when it is resumed", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    const session_id = await onlySession(here);
    expect(await typed(here, ["stop"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`next    bosun resume ${session_id}`) as string,
    });
    expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await typed(here, ["stop", session_id])).code).toBe(2);
  });
});
