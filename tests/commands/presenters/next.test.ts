import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextSteps, lateMessages } from "../../../src/commands/presenters/ending.ts";
import { scheduleReader } from "../../../src/modes/schedule/reader.ts";
import { planFileText } from "../../../src/commands/lookup/plan.ts";
import { parseDocument } from "../../../src/protocol/document/document.ts";
import { loadPlanFile } from "../../../src/config/plan-file.ts";
import { emptyLedger } from "../../../src/kernel/ledger.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import type { TicketLine } from "../../../src/ui/reporter.ts";
import { valueOf } from "../../config/scratch.ts";
import { onlySession, typed, typedIn, typedJson } from "../in-process.ts";
import { rig, tinyPlan, until, withoutRetries } from "../rig.ts";
import { ASK, letGo, taskRuns, WAIT } from "../waiting-task.ts";

const TWO = tinyPlan([
  { task_id: "good", shell: "true" },
  { task_id: "bad", shell: "exit 1" },
]);
const GOOD = tinyPlan([{ task_id: "good", shell: "true" }]);

/** The commands at the end of an output, from `next` on. */
function nextIn(stdout: string): string[] {
  const lines = stdout.trimEnd().split("\n");
  return lines.slice(lines.findLastIndex((line) => line.startsWith("next    "))).map((line) => line.slice(8));
}

describe("the next commands", () => {
  it("repeat a message that came too late only where it is possible", () => {
    const retry = (ticket_id: string) => ({ said: `retry ${ticket_id}`, command: "retry", ticket_id });
    const ticket = (ticket_id: string, status: string): TicketLine => ({
      ticket_id,
      status,
      title: "",
      attempt: 1,
      outputs: [],
    });
    const kept = ["s", [retry("a"), retry("b")], [ticket("a", "done"), ticket("b", "error")]] as const;
    const told = lateMessages(scheduleReader.presentation, ...kept);
    const withoutRetry = lateMessages({ ...scheduleReader.presentation, retries: false }, ...kept);
    expect(withoutRetry).toEqual([{ said: "retry a" }, { said: "retry b" }]);
    expect(told).toEqual([{ said: "retry a" }, { said: "retry b", again: "bosun retry s b" }]);
  });

  it("are the same in run, status and log of a failed session", async () => {
    const here = rig();
    const run = await typed(here, ["run", "--plan", here.write("plan.json", TWO), ...withoutRetries(here)]);
    expect(run.code).toBe(1);
    const session_id = await onlySession(here);
    const next = [`bosun log ${session_id} bad`, `bosun retry ${session_id} bad`, `bosun report ${session_id}`];
    expect(nextIn(run.stdout)).toEqual(next);
    expect(nextIn((await typed(here, ["status", session_id])).stdout)).toEqual(next);
    expect(nextIn((await typed(here, ["log"])).stdout)).toEqual([`bosun log ${session_id} bad`]);
    for (const [words, again] of [
      [["stop", session_id], `bosun retry ${session_id} TICKET.`],
      [["tell", session_id, "bad", "x"], `bosun retry ${session_id} bad.`],
      [["tell", session_id, "good", "x"], `bosun retry ${session_id} TICKET.`],
    ] as const) {
      const { stderr } = await typed(here, words);
      expect(stderr).toContain(again);
    }
  });

  it("are shown after a message to a running session, and after stop", async () => {
    const here = rig();
    const running = here.start(["run", "--plan", here.write("plan.json", WAIT), "--session", "s"]);
    await taskRuns(here);
    for (const [words, next] of [
      [["tell", "Hurry."], "bosun status s"],
      [["status"], "bosun log s --follow"],
      [["pause"], "bosun status s"],
      [["status"], "bosun resume s"],
      [["resume"], "bosun status s"],
      [["pause"], "bosun status s"],
      [["stop"], "bosun resume s"],
      [["stop"], "bosun resume s"],
    ] as const) {
      const { stdout } = await typed(here, words);
      expect([words, nextIn(stdout)]).toEqual([words, [next]]);
    }
    expect((await running.done).code).toBe(130);
  });

  it("are shown by every command that only shows something", async () => {
    const here = rig();
    await typed(here, ["run", "--session", "won", "--plan", here.write("plan.json", GOOD)]);
    const folder = join(here.home, "logs/won");
    for (const [words, next] of [
      [["status"], "bosun status won"],
      [["inbox"], "bosun status"],
      [["review", "won"], "bosun status won"],
      [["replay", "won", "--verify"], "bosun log won"],
      [["replay", folder, "--verify"], `bosun replay ${folder}`],
    ] as const) {
      const { code, stdout } = await typed(here, words);
      expect([words, code, nextIn(stdout)]).toEqual([words, 0, [next]]);
    }
  });

  it("name the session in the report for people", async () => {
    const here = rig();
    const run = (session: string, plan: string) =>
      typed(here, [
        "run",
        "--session",
        session,
        "--plan",
        here.write(`${session}.json`, plan),
        ...withoutRetries(here),
      ]);
    for (const [session, plan] of Object.entries({ lost: TWO, won: GOOD, newest: GOOD })) await run(session, plan);
    const steps = (session: string) => {
      const text = readFileSync(join(here.home, "sessions", session, "final_report.md"), "utf8");
      return text.slice(text.indexOf("## Next\n\n- ") + 11).trimEnd();
    };
    expect(steps("lost")).toBe("bosun log lost bad\n- bosun retry lost bad");
    expect(steps("won")).toBe("bosun replay won --verify");
    for (const step of [...steps("lost").split("\n- "), steps("won")]) {
      const { code } = await typed(here, step.split(" ").slice(1));
      expect([step, code]).toEqual([step, step.includes("retry") ? 1 : 0]);
    }
    // The recorded report is the mode's own and names no session.
    const recorded = JSON.parse(readFileSync(join(here.home, "sessions/won/final_report.json"), "utf8")) as object;
    expect(recorded).toMatchObject({ next_steps: ["bosun replay --verify"] });
  });

  it("name no ticket of a session without tickets, and no cancelled one", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    const session_id = await onlySession(here);
    expect(nextIn((await typed(here, ["log"])).stdout)).toEqual([`bosun status ${session_id}`]);
    const gated = here.write("c.json", JSON.stringify({ plan_approval: "ask" }));
    const planned = ["run", "--plan", here.write("two.json", TWO), "--config", gated, "--session"];
    for (const session of ["cancelled", "rejected"]) expect((await typed(here, [...planned, session])).code).toBe(4);
    expect(nextIn((await typed(here, ["cancel", "cancelled"])).stdout)).toEqual(["bosun report cancelled"]);
    expect((await typed(here, ["plan", "rejected", "--reject"])).code).toBe(0);
    expect(nextIn((await typed(here, ["resume", "rejected"])).stdout)).toEqual(["bosun report rejected"]);
  });

  it("name a withdrawn ticket only if another depends on it", () => {
    const withdrawn = { ticket_id: "old", status: "error", reason: "withdrawn" };
    const steps = (...others: JsonObject[]) =>
      nextSteps("s", {
        presentation: schedulePresentation,
        exit_code: 1,
        waiting: [],
        children: [],
        ledger: emptyLedger(),
        report: { tickets: [withdrawn, ...others] },
      });
    expect(steps({ ticket_id: "mine", status: "error", reason: "cancelled" })).toEqual(["bosun report s"]);
    expect(steps({ ticket_id: "next", status: "pending", blocked_by: ["old"] })).toEqual([
      "bosun log s old",
      "bosun retry s old",
      "bosun report s",
    ]);
  });
});

describe("a home named with --home", () => {
  it("is in every printed command, unless it is found without", async () => {
    const here = rig();
    const home = join(here.workspace, "it's a home");
    const at = (directory: string, args: readonly string[]) => typedIn(directory, here.environment, args);
    const copied = (command: string) =>
      at(
        here.workspace,
        execFileSync("sh", ["-c", `bosun() { printf '%s\\n' "$@"; }; ${command}`], { encoding: "utf8" })
          .trimEnd()
          .split("\n"),
      );
    const asking = here.write("ask.json", ASK);
    const asked = await at(here.workspace, ["run", "--plan", asking, "--session", "asks", "--home", home]);
    expect(asked.code).toBe(4);
    const named = `bosun --home '${home.replace("'", "'\\''")}'`;
    const [answer = "", resume = ""] = nextIn(asked.stdout);
    expect([answer, resume]).toEqual([`${named} answer asks c1.name Ada`, `${named} resume asks`]);
    expect((await copied(`${named} inbox`)).stdout).toContain(`\n      ${answer}\n`);
    const paused = await copied(`${named} pause asks`);
    expect(paused.stderr).toContain(`${resume}.`);
    expect((await copied(answer)).stdout).toContain(`  ${resume}\n`);
    expect((await copied(resume)).stdout).toContain(`next    ${named} report asks\n`);
    expect((await copied(`${named} roles`)).stdout).toContain(`next    ${named} doctor\n`);
    expect((await copied(`${named} doctor`)).stdout).toContain(
      `next    ${named} run --plan FILE\n        ${named} run "…" --manager CMD --worker CMD\n`,
    );
    const found = await at(home, ["status", "asks", "--home", home]);
    expect(nextIn(found.stdout)).toEqual(["bosun report asks", "bosun replay asks --verify"]);
  });

  it("is in the hints of JSON errors", async () => {
    const here = rig();
    const home = join(here.workspace, "named");
    const running = here.start([
      "run",
      "--plan",
      here.write("plan.json", WAIT),
      "--session",
      "s",
      "--json",
      "--home",
      home,
    ]);
    await until("the task to run", () => existsSync(join(here.workspace, "pid")));
    // A takeover does this where file locks do not work.
    const database = new SqliteDatabase(join(home, "bosun.db"));
    database.exec("UPDATE sessions SET epoch = epoch + 1");
    database.close();
    letGo(here);
    const { code, stdout } = await running.done;
    const hint = expect.stringContaining(`\`bosun --home ${home} status s\``) as string;
    const result: unknown = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    expect([code, result]).toMatchObject([7, { type: "result", error: { code: "stale_lease", hint }, message: hint }]);
  });

  it("is in the hints of doctor", async () => {
    const here = rig();
    const home = join(here.workspace, "named");
    const crew = ["--home", home, "--manager", "not-there", "--worker", "not-there"];
    const hint = expect.stringContaining(`\`bosun --home ${home} doctor\``) as string;
    expect((await typed(here, ["doctor", ...crew])).stdout).toEqual(hint);
    const { findings } = await typedJson<{ findings: { name: string; hint: string }[] }>(here, [
      "doctor",
      ...crew,
      "--json",
    ]);
    expect(findings.filter(({ hint: told }) => /bosun/.test(told))).toMatchObject([{ hint }, { hint }]);
  });
});

describe("an exported plan", () => {
  it("means the same when it is run again, and is safe for a terminal", async () => {
    const here = rig();
    const boss = { role_id: "boss", type: "manager", cli_command: ["false"] };
    const roles = here.write("roles.json", JSON.stringify({ roles: [boss] }));
    const task_id = "good";
    const description = "Good \u001B[2J\u009B2J\u202E: # 'or'\n  \"not\"\n";
    const shell = 'echo "${HOME:+home}" $${#1} >> out.txt';
    const plan = { tasks: [{ task_id, description, instruction: { summary: "it", steps: [{ shell }] } }] };
    const given = here.write("plan.json", JSON.stringify(plan));
    const first = ["run", "--plan", given, "--roles", roles, "--config", here.write("c.json", '{"review": "user"}')];
    expect((await typed(here, first)).code).toBe(4);
    const session_id = await onlySession(here);
    const written = () => readFileSync(join(here.workspace, "out.txt"), "utf8");
    expect(written()).toMatch(/^home \d+\{#1\}\n$/);
    for (const name of ["again.yaml", "again.json"]) {
      const file = join(here.workspace, name);
      rmSync(join(here.workspace, "out.txt"));
      expect((await typed(here, ["plan", session_id, "--export", file])).code).toBe(0);
      expect(readFileSync(file, "utf8")).not.toMatch(/[^\n\P{Cc}]|\u202E/u);
      const again = valueOf(await loadPlanFile(file)).plan;
      expect(again.tasks[0]?.description).toBe(description);
      expect(again).not.toHaveProperty("summary");
      expect((await typed(here, ["run", "--plan", file])).code).toBe(0);
      expect(written()).toMatch(/^home \d+\{#1\}\n$/);
    }
  });

  it("keeps the command of a step that also has a shell text, and runs", async () => {
    const here = rig();
    const boss = { role_id: "boss", type: "manager", cli_command: ["false"] };
    const roles = here.write("roles.json", JSON.stringify({ roles: [boss] }));
    const steps = ["look", { text: "both", command: ["sh", "-c", "echo command >> out.txt"], shell: "exit 1" }];
    const acceptance_criteria = [{ text: "always", command: ["true"] }];
    const instruction = { summary: "it", steps };
    const task = { task_id: "a", description: "a", instruction, acceptance_criteria, review: "checks" };
    const given = here.write("plan.json", JSON.stringify({ tasks: [task] }));
    expect((await typed(here, ["run", "--plan", given, "--roles", roles])).code).toBe(0);
    const file = join(here.workspace, "again.json");
    expect((await typed(here, ["plan", "--export", file])).code).toBe(0);
    const again = await typed(here, ["run", "--plan", file]);
    expect([again.stderr, again.code]).toEqual(["", 0]);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("command\ncommand\n");
  });
});

describe("a written plan file", () => {
  const readBack = async (file: string, description: string) => {
    const bytes = Buffer.from(await planFileText(file, { tasks: [{ task_id: "a", description }] }));
    return valueOf(parseDocument(file, bytes.toString("utf8"))).value;
  };
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    // Long, without spaces, and with characters that need quotes: folding a line must not split a character.
    fc.tuple(fc.nat(9), fc.nat(99)).map(([some, many]) => `${"x".repeat(some)}: ${"漢字😀".repeat(30 + many)}`),
  );

  it.each(["plan.yaml", "plan.json", "plan.JSON", "plan.jsonc"])("keeps every text in %s", async (file) => {
    await fc.assert(
      fc.asyncProperty(texts, async (description) => {
        expect(await readBack(file, description)).toEqual({ tasks: [{ task_id: "a", description }] });
      }),
      { numRuns: 500, seed: 20_260_101 },
    );
  });
});
