import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until, withoutRetries } from "./rig.ts";
import { open } from "./terminal.ts";

/** A manager that plans one task, instructs it and approves its report. */
const MANAGER = `
import json, sys
request = json.loads(sys.stdin.readline())
payload = request["payload"]
answer = {"session_id": request["session_id"], "source": payload["role_id"], "target": "scheduler", "version": "1.0"}
expects = payload["expects"]
if "plan" in expects:
    answer |= {"payload_type": "plan", "payload": {"summary": "One.", "tasks": [{"task_id": "build", "description": "Build it"}]}}
elif "instruction" in expects:
    answer |= {"payload_type": "instruction", "payload": {"summary": "Build it", "steps": ["build"], "ticket_id": "build"}}
else:
    answer |= {"payload_type": "review", "payload": {"decision": "approved", "notes": "Fine."}}
print(json.dumps(answer))
`;

/** The start of a worker: it reads the request and can print envelopes. */
const WORKER = `
import json, sys
request = json.loads(sys.stdin.readline())
payload = request["payload"]
answer = {"session_id": request["session_id"], "source": payload["role_id"], "target": "scheduler", "version": "1.0"}
def say(payload_type, payload):
    print(json.dumps(answer | {"payload_type": payload_type, "payload": payload}), flush=True)
`;

function crew(here: Rig, worker: string): string[] {
  const manager = here.write("manager.py", MANAGER);
  return ["--manager", `python3 ${manager}`, "--worker", `python3 ${here.write("worker.py", WORKER + worker)}`];
}

describe("why an agent failed", () => {
  it("is shown with its last lines and the file that has all of them", async () => {
    const here = rig();
    const ran = await typed(here, [
      "run",
      "x",
      "--manager",
      "python3 nosuch.py",
      "--no-input",
      ...withoutRetries(here),
    ]);
    expect(ran.code).toBe(4);
    expect(ran.stdout).toMatch(/ manager failed: .*can't open file .*nosuch\.py/);
    expect(ran.stdout).toMatch(/^The manager failed: .*can't open file .*nosuch\.py/m);
    const [, file = ""] = /stderr: (\S+\.stderr\.log)/.exec(ran.stdout) ?? [];
    expect(readFileSync(file, "utf8")).toContain("can't open file");
    expect(ran.stdout).toMatch(/^next +bosun log s-/m);
    for (const look of ["status", "inbox", "report"]) {
      const shown = await typed(here, look === "inbox" ? [look] : [look, ...here.sessions()]);
      expect(shown.stdout).toMatch(/manager failed: .*can't open file .*nosuch\.py/);
    }
    const told = await typed(here, ["log"]);
    expect(told.stdout).toMatch(/\| .*can't open file .*nosuch\.py/);
    expect(told.stdout).toMatch(/^What agents printed:\n {2}manager, attempt 1, stderr: \S+\.stderr\.log$/m);
  });

  it("is shown once in two lines by run, after its live output, and in ten by log", async () => {
    const here = rig();
    const script = "import sys\nfor n in range(1, 31): print('line', n, file=sys.stderr)\nsys.exit(3)\n";
    const manager = ["--manager", `python3 ${here.write("m.py", script)}`, "--no-input"];
    const ran = await typed(here, ["run", "x", ...manager, ...withoutRetries(here)]);
    const lines = (text: string, before: string) =>
      Array.from(text.matchAll(new RegExp(`${before}\\| line (\\d+)$`, "gm")), ([, number]) => Number(number));
    expect(lines(ran.stdout, " manager ").slice(0, 3)).toEqual([1, 2, 3]);
    expect(lines(ran.stdout, " - +")).toEqual([29, 30]);
    const { stdout } = await typed(here, ["log"]);
    expect(lines(stdout, "")).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  });

  it("is shown beside its ticket, and in full in the log", async () => {
    const here = rig();
    const reason = `${"because ".repeat(100)}of the end`;
    const ran = await typed(here, [
      "run",
      "x",
      ...crew(here, `say("report", {"status": "error", "summary": "${reason}"})`),
      ...withoutRetries(here),
    ]);
    expect(ran.code).toBe(1);
    const longest = Math.max(...[...ran.stdout.matchAll(/^\d.*?(because.*)/gm)].map(([, quote = ""]) => quote.length));
    expect(longest).toBeGreaterThan(350);
    expect(longest).toBeLessThan(450);
    expect((await typed(here, ["log"])).stdout).toContain("of the end");
  });

  it("is shown with the role whose message was refused", async () => {
    const here = rig();
    const worker = `print('{"payload_type": oops')\nsay("report", {"status": "completed", "summary": "Done."})`;
    const ran = await typed(here, ["run", "x", ...crew(here, worker)]);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/build +REFUSED message from worker "/);
    expect((await typed(here, ["log", "build"])).stdout).toMatch(/build +REFUSED message from worker "/);
  });
});

describe("what agents print", () => {
  it("ends the log of their ticket, by attempt and role", async () => {
    const here = rig();
    const words =
      "for n in $(seq 1 60); do echo row $n; done; printf 'red \\033[31mtext\\n'; test -e again || { touch again; exit 1; }";
    const plan = tinyPlan([{ task_id: "talk", shell: words }]);
    const config = here.write("config.json", JSON.stringify({ retry_backoff_ms: 1 }));
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--config", config]);
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    const { stdout } = await typed(here, ["log", session_id, "talk"]);
    const headings = stdout.match(/^ {2}shell, attempt \d+, stdout: .+$/gm) ?? [];
    expect(headings.map((line) => line.split(":")[0])).toEqual([
      "  shell, attempt 1, stdout",
      "  shell, attempt 2, stdout",
    ]);
    expect(stdout).toContain("row 60");
    expect(stdout).not.toContain("row 30\n");
    expect(stdout).toContain("red text");
    expect(stdout).not.toContain("\u001b[31m");
  });
});

describe("a held role", () => {
  const HOLD = `
import os
if not os.path.exists("limited"):
    open("limited", "w").close()
    import datetime
    retry_at = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=SECONDS)).strftime("%Y-%m-%dT%H:%M:%SZ")
    say("error", {"code": "rate_limited", "message": "Too many requests.", "resolution_hint": "Wait.", "details": {"retry_at": retry_at}})
else:
    say("report", {"status": "completed", "summary": "Done."})
`;

  it("is shown when the hold begins, until when, and when it ends", async () => {
    const here = rig();
    const ran = await typed(here, ["run", "x", ...crew(here, HOLD.replace("SECONDS", "2"))]);
    expect(ran.code).toBe(0);
    const session_id = await onlySession(here);
    const story = [
      `HELD worker until [\\d:. -]+ \\(rate_limited\\); to release it now: bosun resume ${session_id} --release worker`,
      "NO LONGER HELD: worker",
      "awaiting_review",
    ];
    expect(ran.stdout).toMatch(new RegExp(story.join("[^]*")));
    expect((await typed(here, ["log", session_id, "build"])).stdout).toMatch(new RegExp(story.join("[^]*")));
  });

  it("is shown with the same time by run and status", async () => {
    const here = rig();
    const settings = ["--config", here.write("config.json", JSON.stringify({ max_hold_s: 60 }))];
    const ran = await typed(here, ["run", "x", ...crew(here, HOLD.replace("SECONDS", "120")), ...settings]);
    expect(ran.code).toBe(5);
    const [, until = "nothing"] = /HELD worker until ([\d:. -]+) \(rate_limited\)/.exec(ran.stdout) ?? [];
    const { stdout } = await typed(here, ["status", await onlySession(here)]);
    expect(stdout).toContain(`worker is held: rate_limited, until ${until}`);
  });

  it("is shown once for a rate limit, not for each turn", async () => {
    const here = rig();
    const roles = JSON.stringify({
      roles: [{ role_id: "shell", type: "worker", rate_limit: { turns_per_minute: 2 } }],
    });
    const tasks = ["a", "b", "c"].map((task_id) => ({ task_id, shell: "true" }));
    const plan = here.write("plan.json", tinyPlan(tasks));
    const running = here.start([
      "run",
      "--plan",
      plan,
      "--crew",
      "embedded",
      "--roles",
      here.write("roles.json", roles),
    ]);
    await until("the hold to be shown", () => /HELD shell until [\d:. -]+: .* 2 turns/.test(running.stdout()));
    await typed(here, ["stop"]);
    expect((await running.done).stdout.match(/HELD shell/g)).toHaveLength(1);
  });
});

describe("a table in a pipe", () => {
  it("is not cut, but for descriptions, which are whole in the JSON", async () => {
    const here = rig();
    const task_id = `long-${"name-".repeat(8)}end`;
    const description = `${"Long ".repeat(400)}end`;
    const what = `${"Long ".repeat(23)}Long…`;
    const shell = `for n in one two three four five six; do echo x > "$BOSUN_ARTIFACTS_DIR/the-output-number-$n.txt"; done`;
    const plan = tinyPlan([{ task_id, shell, more: { description } }], { requirement: description });
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan)]);
    const outputs = "the-output-number-one\\.txt.*the-output-number-two\\.txt";
    expect(ran.stdout).toMatch(new RegExp(`^${task_id} +done .* ${what} -> .*${outputs}$`, "m"));
    expect(ran.stdout).toContain("1 of 1 steps run, 6 artifacts kept");
    const session_id = await onlySession(here);
    expect((await typed(here, ["plan", session_id])).stdout).toContain(`\n  ${description}\n`);
    expect((await typed(here, ["status", session_id])).stdout).toMatch(new RegExp(`^${task_id} .* ${what} -> `, "m"));
    expect((await typed(here, ["status", "--all"])).stdout).toMatch(new RegExp(`^${session_id} .* ${what}$`, "m"));
    expect(await typedJson(here, ["plan", session_id, "--json"])).toMatchObject({ tasks: [{ description }] });
    expect(await typedJson(here, ["status", session_id, "--json"])).toMatchObject({ tickets: [{ description }] });
  });
});

describe("the reviewer of a task", () => {
  it("is shown in the plan, from the plan or the settings", async () => {
    const here = rig();
    const plan = tinyPlan([
      { task_id: "given", shell: "true", more: { review: "checks" } },
      { task_id: "default", shell: "true", more: { review: undefined } },
    ]);
    const config = here.write("config.json", JSON.stringify({ plan_approval: "ask", review: "user" }));
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--config", config]);
    expect(ran.code).toBe(4);
    const { stdout } = await typed(here, ["plan"]);
    expect(stdout).toContain("\ngiven\n  by any worker; review: checks\n");
    expect(stdout).toContain("\ndefault\n  by any worker; review: user\n");
    expect(await typedJson(here, ["plan", "--json"])).toMatchObject({ review: "user" });
  });
});

describe("a narrow terminal", () => {
  it("breaks no words and no commands", async () => {
    const here = rig();
    const text = "Which of the Küchenhelfer in the neighbourhood shall be given the Donaudampfschifffahrt?";
    const plan = here.write(
      "plan.json",
      tinyPlan([{ task_id: "write", shell: "true" }], { questions: [{ question_id: "name", text }] }),
    );
    const pane = open(here, ["run", "--plan", plan], {}, 50);
    await pane.asks("Question 1 of 1");
    const words = "whoever of the Küchenhelfer has nothing else to do in the whole neighbourhood";
    pane.type(words, "Enter");
    expect(await pane.exit()).toBe(0);
    const screen = pane.screen();
    const flat = screen.replace(/\s+/g, " ");
    expect(flat).toContain(`QUESTIONS from playbook "${text}"`);
    expect(flat).toMatch(new RegExp(`- ANSWERED by .+ ${words}"`));
    expect(flat).toContain("Ctrl-C stops it, closing this terminal does not: bosun attach s-");
    expect(screen).toMatch(/bosun attach s-\w{6}\n/);
    // A narrow line leaves the session's id out.
    expect(screen).toMatch(/^\d\d:\S+ - ANSWERED/m);
  });
});
