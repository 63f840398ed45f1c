import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ASKING, type Rig, rig, tinyPlan, until } from "../../commands/rig.ts";
import { endAfterwards } from "../../commands/strays.ts";
import { openDashboard, openTerminal, type Pane } from "../../commands/terminal.ts";
import { letGo, taskRuns, WAITING_TASK } from "../../commands/waiting-task.ts";

const SIZE = { columns: 80, rows: 24 };
const AFTER = { task_id: "after", shell: "echo after > after.txt", dependencies: ["wait"] };

const seen = (pane: Pane, what: string | RegExp) =>
  until(
    () => `${what} on the screen, which is\n${pane.visible()}`,
    () => (typeof what === "string" ? pane.visible().includes(what) : what.test(pane.visible())),
  );

const planFile = (here: Rig, ...tasks: Parameters<typeof tinyPlan>[0]) =>
  here.write("plan.json", tinyPlan([WAITING_TASK, ...tasks]));

/** The dashboard of a session whose only task waits for `letGo`. */
async function working(here: Rig, ...args: readonly string[]): Promise<Pane> {
  const pane = openDashboard(here, ["run", "--plan", planFile(here, AFTER), ...args], SIZE);
  await taskRuns(here);
  await seen(pane, "in_progress      shell");
  return pane;
}

describe("the dashboard at a terminal", () => {
  it("takes late replies, mouse reports, chords, releases and cut pastes for no keys, and is deaf where it is too small", async () => {
    const pane = await working(rig());
    pane.send("\x1b]11;rgb:1e1e/1e1e/2e2e\x07\x1bP>|tmux p\x1b\\\x1b[M x!\x1bp\x1bx\x1b[112;9u\x1b[112;1:3u");
    pane.send("\x1b[2");
    pane.send("00~xyp on the plane\x1b[201~");
    await pane.resize(30, 8);
    await seen(pane, "Needs 40×10");
    pane.send("pxymp\r");
    await pane.resize(80, 24);
    await seen(pane, "in_progress");
    expect(pane.visible()).toMatch(/ running .*\n {3}nothing needs you\n/);
    // Keys act in order, so all before this one have acted.
    pane.type("?");
    await seen(pane, "the dependency graph");
    expect(pane.visible()).toMatch(/ running .*\n {3}nothing needs you\n/);
  });

  it("keeps a text over a slow arrow key, and has the terminal's cursor in it", async () => {
    const pane = await working(rig());
    expect(pane.cursor()).toBeUndefined();
    pane.type("m", "日本語");
    await seen(pane, "tell the session: 日本語▏");
    await until("the cursor behind it", () => pane.cursor() === "25 23");
    pane.send("\x1b");
    pane.send("[D");
    await seen(pane, "tell the session: 日本▏語");
    await until("the cursor in it", () => pane.cursor() === "23 23");
    pane.type("Escape");
    await seen(pane, "? help");
    expect(pane.cursor()).toBeUndefined();
  });

  it("shows each ticket beside its id, whatever width the terminal gives a title", async () => {
    const here = rig();
    const titles = ["bb 👍🏽👍🏽👍🏽👍🏽👍🏽", "cc हिन्दी हिन्दी", "dd น้ำ น้ำ น้ำ"];
    const tasks = titles.map((title) => ({ task_id: title.slice(0, 2), shell: "true", dependencies: ["wait"], title }));
    const more = tasks.map(({ title, ...task }) => ({ ...task, more: { description: `${title} ${"x".repeat(60)}` } }));
    const pane = openDashboard(here, ["run", "--plan", planFile(here, ...more)], SIZE);
    await taskRuns(here);
    const rows = /^ bosun s-[^]*\n \S bb .*bb .*\n \S cc .*cc .*\n \S dd .*dd .*\n\n/;
    await seen(pane, rows);
    // All of them are in the first frame then.
    pane.write("\x1b[1;1Hreboot at noon");
    await seen(pane, "reboot at noon");
    pane.type("C-l");
    await seen(pane, "in_progress      shell");
    await expect.poll(() => pane.visible()).toMatch(rows);
  });

  it("draws everything again on Ctrl-L, and when it continues after another program had the terminal", async () => {
    const pane = await working(rig());
    const before = /^ bosun s-/;
    pane.write("\x1b[1;1Hreboot at noon");
    await seen(pane, "reboot at noon");
    pane.type("C-l");
    await seen(pane, before);
    expect(pane.visible()).not.toContain("noon");
    const pid = pane.pid();
    process.kill(pid, "SIGSTOP");
    pane.sane();
    pane.write("\x1b[?1049l\x1b[1;1Hreboot at noon");
    process.kill(pid, "SIGCONT");
    await until("the dashboard", () => pane.isAlternate());
    await seen(pane, before);
    pane.type("?");
    await seen(pane, "the dependency graph");
  });

  it("drops frames while the terminal does not read them, and the work goes on", async () => {
    const here = rig();
    const noise = {
      ...WAITING_TASK,
      shell: `${WAITING_TASK.shell}; for i in $(seq 300); do echo "line $i"; sleep 0.01; done`,
    };
    const plan = here.write("plan.json", tinyPlan([noise, AFTER]));
    const size = { columns: 250, rows: 70 };
    const pane = openDashboard(here, ["run", "--plan", plan, "--foreground"], size);
    await taskRuns(here);
    await seen(pane, "in_progress      shell");
    const reader = pane.reader();
    onTestFinished(() => void process.kill(reader, "SIGCONT"));
    process.kill(reader, "SIGSTOP");
    letGo(here);
    await until("the next task to be done", () => existsSync(join(here.workspace, "after.txt")));
    process.kill(reader, "SIGCONT");
    expect(await pane.exit()).toBe(0);
    expect(pane.isAlternate()).toBe(false);
    await pane.shows("2 of 2 tickets done");
  });

  it("is not shown by a job in the background, which prints lines and is not stopped", async () => {
    const here = rig();
    const environment = { ...endAfterwards(here).environment, BOSUN_HOME: here.home };
    const env = { PS1: "$ ", LC_ALL: "C.UTF-8" };
    const pane = openTerminal(here.workspace, ["bash", "--noprofile", "--norc", "-i"], { environment, env, ...SIZE });
    pane.type(`bosun run --plan ${planFile(here)} & wait %1; echo ended $?`, "Enter");
    await taskRuns(here);
    letGo(here);
    await pane.shows("ended 0");
    expect(pane.screen()).toContain("1 of 1 ticket done");
    expect(pane.isAlternate()).toBe(false);
  });

  it("is shown without colours where NO_COLOR is set", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here)], { ...SIZE, env: { NO_COLOR: "1" } });
    const written = here.write("written", "");
    pane.record(written);
    await taskRuns(here);
    await seen(pane, "in_progress      shell");
    expect(pane.isAlternate()).toBe(true);
    letGo(here);
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(written, "utf8")).not.toMatch(/\[[\d;]+m/);
  });
});

describe("Ctrl-C on the dashboard", () => {
  it("asks before it cuts a turn off, and a second one stops the session", async () => {
    const pane = await working(rig());
    pane.type("C-c");
    await seen(pane, "stop and cut off 1 turn? ^C yes, any other key no");
    pane.type("Escape");
    await seen(pane, "? help");
    pane.type("C-c");
    await seen(pane, "stop and cut off 1 turn?");
    pane.type("C-c");
    expect(await pane.exit()).toBe(130);
    await pane.shows("bosun resume");
  });
});

describe("a question on the dashboard", () => {
  async function asked(here: Rig): Promise<Pane> {
    const plan = here.write(
      "plan.json",
      tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], ASKING),
    );
    const pane = openDashboard(here, ["run", "--plan", plan], SIZE);
    await seen(pane, "[a] answer");
    return pane;
  }

  it.each(["Escape", "C-c", "C-d"])(
    "opens by itself once nothing else is at work, and is left for the dashboard: %s",
    async (key) => {
      const here = rig();
      const pane = await asked(here);
      await pane.asks("Question 1 of 1");
      pane.type("half", key);
      if (key === "C-d") pane.type("C-u", key);
      await until("the dashboard", () => pane.isAlternate());
      await seen(pane, "[a] answer");
      pane.type("a");
      await pane.asks("Question 1 of 1", 2);
      pane.type("Enter");
      expect(await pane.exit()).toBe(0);
    },
  );

  it("opens once, however often its key comes", async () => {
    const here = rig();
    const pane = await asked(here);
    pane.send("aaa");
    await pane.asks("Question 1 of 1");
    pane.type("Zoe", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Zoe\n");
    expect(pane.screen().split("Question 1 of 1")).toHaveLength(2);
  });
});
