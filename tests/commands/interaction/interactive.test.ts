import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { ASKING, foreignCrew, type Rig, rig, tinyPlan, until } from "../rig.ts";
import { open, type Pane } from "../terminal.ts";
import { freeze } from "../waiting-task.ts";

const GATED = JSON.stringify({ plan_approval: "ask" });
const ASK = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], ASKING);

/** A manager that asks when it is told to. */
const LATE = JSON.stringify({
  roles: [
    {
      role_id: "playbook",
      type: "manager",
      cli_command: ["sh", "-c", 'until [ -e go ]; do sleep 0.05; done; exec "$@"', "sh", "${node}", "${crew.playbook}"],
    },
  ],
});

/** Runs that plan at a terminal; the plan needs approval. */
function gated(here: Rig, env: Record<string, string> = {}): Pane {
  const config = here.write("config.json", GATED);
  return open(here, ["run", "--plan", here.write("plan.json", ASK), "--config", config], env);
}

describe("a person at the terminal", () => {
  it("is asked one thing at a time, and picks options by number", async () => {
    const here = rig();
    const pane = gated(here);
    await pane.asks("Question 1 of 1");
    for (const told of ["Whose name?", "why: It is written down.", "1  Ada  (suggested: Enter)", "2  Bob"])
      expect(pane.screen()).toContain(told);
    pane.type("2", "Enter");
    await pane.shows("A plan of 1 task");
    await pane.asks("1  Approve");
    pane.type("9", "Enter");
    await pane.asks("Type a number from 1 to 5");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
    expect(pane.screen()).toContain("1 of 1 ticket done");
  });

  it("does not answer with keys typed before the question", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK), "--roles", here.write("roles.json", LATE)]);
    await pane.shows("asked playbook");
    pane.type("Enter");
    pane.type("Ada", "Enter");
    await pane.shows("Ada");
    writeFileSync(join(here.workspace, "go"), "");
    await pane.asks("Question 1 of 1");
    pane.type("2", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
  });

  it("takes the default with Enter, sends a plan back, and rejects it", async () => {
    const here = rig();
    const pane = gated(here);
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    await pane.asks("1  Approve");
    pane.type("2", "Enter");
    await pane.shows("What should be different?");
    pane.type("Shorter.", "Enter");
    await pane.asks("1  Approve", 2);
    expect(pane.screen().split("A plan of 1 task")).toHaveLength(3);
    pane.type("4", "Enter");
    expect(await pane.exit()).toBe(1);
    const session_id = await onlySession(here);
    const approvals = await typed(here, ["replay", session_id, "--type", "approval", "--json"]);
    expect(
      approvals.stdout
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { payload: object }).payload),
    ).toMatchObject([{ decision: "changes_requested", notes: "Shorter." }, { decision: "rejected" }]);
  });

  it("continues a refused plan edit until it is taken", async () => {
    const here = rig();
    const seen = join(here.workspace, "seen");
    const editor = here.write(
      "editor.sh",
      `cat "$1" >> ${seen}
case $(cat ${seen}.times 2> /dev/null | wc -l) in
  0) sed -i 's/Do write/Do it well/; s/summary: One/summary: : One/' "$1" ;;
  1) sed -i 's/summary: : One/summary: One/; s/^  - task_id: write/&\\n    assigned_to: { role_id: nowhere }/' "$1" ;;
  2) ;;
  3) sed -i '/nowhere/d' "$1" ;;
esac
echo >> ${seen}.times
`,
    );
    const pane = gated(here, { EDITOR: `sh ${editor}` });
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    const edit = async (time: number) => {
      await pane.asks("1  Approve", time);
      pane.type("3", "Enter");
    };
    await edit(1);
    await pane.shows("plan-to-edit.yaml:");
    await edit(2);
    await pane.shows('is assigned to the worker "nowhere"');
    await edit(3);
    await pane.shows("Nothing was changed");
    await edit(4);
    expect(await pane.exit()).toBe(0);
    const saw = readFileSync(seen, "utf8");
    expect(saw.match(/Do it well/g)?.length).toBeGreaterThanOrEqual(3);
    const session_id = await onlySession(here);
    const { tickets } = await typedJson<{ tickets: object[] }>(here, ["status", session_id, "--json"]);
    expect(tickets).toMatchObject([{ description: "Do it well" }]);
    expect(readdirSync(join(here.home, "sessions", session_id)).filter((name) => name.includes("to-edit"))).toEqual([]);
  });

  it("keeps an edited plan that the scheduler refuses late, and is told why", async () => {
    const here = rig();
    const editor = here.write(
      "editor.sh",
      `sed -i 's/^  - task_id: write/&\\n    assigned_to: { role_id: nowhere }/' "$1"\n`,
    );
    const pane = gated(here, { EDITOR: `sh ${editor}` });
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    await pane.asks("1  Approve");
    const session_id = await onlySession(here);
    const { owner } = await typedJson<{ owner: { pid: number } }>(here, ["status", session_id, "--json"]);
    await freeze(here, owner.pid);
    pane.type("3", "Enter");
    await pane.shows(`Kept for ${session_id}`);
    process.kill(owner.pid, "SIGCONT");
    await pane.asks('is assigned to the worker "nowhere"');
    expect(readdirSync(join(here.home, "sessions", session_id)).join()).toContain("plan-to-edit.yaml");
    pane.type("4", "Enter");
    expect(await pane.exit()).toBe(1);
  });

  it("keeps an edited plan that was not taken when they leave", async () => {
    const here = rig();
    const pane = gated(here, { EDITOR: "sed -i 's/Do write/Do it well/'" });
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    await pane.asks("1  Approve");
    const session_id = await onlySession(here);
    const { owner } = await typedJson<{ owner: { pid: number } }>(here, ["status", session_id, "--json"]);
    await freeze(here, owner.pid);
    pane.type("3", "Enter");
    const store = openStore(here.home);
    if (!store.ok) throw new Error(store.error.message);
    await until("their version to be in the inbox", () => store.value.inbox.pending(session_id).length === 1);
    store.value.close();
    pane.type("C-c");
    await pane.shows("Stopping:");
    process.kill(owner.pid, "SIGKILL");
    await pane.exit();
    const [kept = ""] = readdirSync(join(here.home, "sessions", session_id)).filter((name) => name.includes("to-edit"));
    expect(readFileSync(join(here.home, "sessions", session_id, kept), "utf8")).toContain("Do it well");
  });

  it("approves the commands that a program of their own will run, and its result", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], { ...ASKING, metadata: {} });
    const checks = { ticket: [{ text: "it is there", command: ["test", "-s", "out.txt"] }] };
    const config = here.write("config.json", JSON.stringify({ checks }));
    const crew = [...foreignCrew().slice(2), "--config", config];
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan), ...crew]);
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    await pane.asks("1  Approve");
    for (const command of ["echo ${answers.name} > out.txt", "true", "test -s out.txt"])
      expect(pane.screen()).toContain(`\n     $ ${command}\n`);
    expect(readdirSync(here.workspace)).toEqual([]);
    pane.type("1", "Enter");
    await pane.asks("1  Yes, accept it");
    expect(pane.screen()).toMatch(/\nwrite +done /);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Ada\n");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("is shown the choices again after an empty line", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "true", more: { review: "user" } }]);
    const gated = here.write("config.json", GATED);
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan), "--config", gated, "--confirm"]);
    for (const [choice, before, label] of [
      ["1  Approve", 0, "What should be different?"],
      ["1  Approve", 2, "What should be different?"],
      ["1  Yes, accept it", 0, "What is missing?"],
    ] as const) {
      await pane.asks(choice, before + 1);
      pane.type("2", "Enter");
      await until(label, () => pane.screen().trimEnd().endsWith(label));
      pane.type("Enter");
      await pane.asks(choice, before + 2);
      pane.type("1", "Enter");
    }
    for (const asked of ["A plan of 1 task", "Review of write", "Accept the result?"])
      expect(pane.screen()).toContain(asked);
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).not.toContain("not valid");
  });

  it("can only send work with failed checks back, and sees them", async () => {
    const here = rig();
    const acceptance_criteria = [{ text: "twice", command: ["grep", "-c", "xx", "out.txt"] }];
    const more = { review: "user", acceptance_criteria };
    const plan = tinyPlan([
      { task_id: "write", shell: 'printf x >> out.txt; cp out.txt "$BOSUN_ARTIFACTS_DIR"', more },
    ]);
    const config = here.write("config.json", '{"check_rounds":0}');
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan), "--config", config]);
    await pane.asks("1  Ask for changes");
    expect(pane.screen()).toMatch(/outputs: out\.txt\n +file: added out\.txt\n +failed twice: exit code 1/);
    pane.type("1", "Enter");
    await until("the words", () => pane.screen().trimEnd().endsWith("What should be different?"));
    pane.type("Once more.", "Enter");
    await pane.asks("1  Approve");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("leaves a question open with Ctrl-D: exit code 4", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK)]);
    await pane.asks("Question 1 of 1");
    pane.type("C-d");
    expect(await pane.exit()).toBe(4);
    expect(pane.screen()).toMatch(/^>\n.*stopped: a person left a question open/m);
    expect(pane.screen()).toContain(`bosun answer ${await onlySession(here)} c1.name Ada`);
  });

  it("stops the session with Ctrl-C at a question: exit code 130", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK)]);
    await pane.asks("Question 1 of 1");
    pane.type("half an ans", "C-c");
    expect(await pane.exit()).toBe(130);
    expect(pane.screen()).toMatch(/^> half an ans\nStopping:.*\n.*stopped/m);
    expect((await typedJson<{ state: string }>(here, ["status", await onlySession(here), "--json"])).state).toBe(
      "stopped",
    );
  });

  it("sees a question disappear when it is answered elsewhere", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK)]);
    await pane.shows("Question 1 of 1");
    expect((await typed(here, ["answer", "Eve"])).stdout).not.toContain("Kept");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toMatch(/ANSWERED by[^]*^>\n[^]*^ {2}No longer open: c1\.name: .*\n/m);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
  });

  it("answers one question with a pasted text, and edits a line on a dumb terminal", async () => {
    const here = rig();
    const two = tinyPlan([{ task_id: "write", shell: "true" }], {
      questions: ["first", "second"].map((question_id) => ({ question_id, text: `The ${question_id}?` })),
    });
    expect((await here.run(["run", "--plan", here.write("plan.json", two)])).code).toBe(4);
    const session_id = await onlySession(here);
    const pane = open(here, ["resume"]);
    await pane.asks("Question 1 of 2");
    pane.paste("one\n\ntwo\nthe end of it");
    await pane.shows("the end of it");
    pane.type("Enter");
    await pane.asks("Question 2 of 2");
    pane.type("C-d");
    expect(await pane.exit()).toBe(4);
    const dumb = open(here, ["resume"], { TERM: "dumb" });
    await dumb.asks("Question 2 of 2");
    dumb.type("three", "BSpace", "Enter");
    await dumb.asks("Your answers");
    dumb.type("Enter");
    expect(await dumb.exit()).toBe(0);
    const said = await typed(here, ["replay", session_id, "--type", "clarification_response", "--json"]);
    const answers = said.stdout
      .trimEnd()
      .split("\n")
      .flatMap((line) => (JSON.parse(line) as { payload: { answers: { text: string }[] } }).payload.answers);
    expect(answers.map(({ text }) => text)).toEqual(["one\n\ntwo\nthe end of it", "thre"]);
  });

  it("is asked again for an option that does not exist", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK)]);
    await pane.asks("Question 1 of 1");
    pane.type("3", "Enter");
    await pane.asks("c1.name has no option 3. Give a number from 1 to 2, or an answer in words.");
    pane.type("2", "Enter");
    await pane.shows("c1.name: Bob");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
  });

  it("picks options that are numbers by their text", async () => {
    const here = rig();
    const shell = "echo ${answers.workers} > out.txt";
    const plan = tinyPlan([{ task_id: "write", shell }], {
      questions: [{ question_id: "workers", text: "How many workers?", options: ["2", "4", "8"], default: "4" }],
    });
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan)]);
    await pane.asks("  -  2\n  -  4  (suggested: Enter)\n  -  8\n");
    pane.type("3", "Enter");
    await pane.shows("c1.workers: 3\n  This is none of the options");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("3\n");
  });

  it("is asked again after an answer that is none of the options of a closed question", async () => {
    const here = rig();
    const closed = [{ question_id: "sure", text: "Sure?", options: ["yes", "no"], free_text: false }];
    const plan = tinyPlan([{ task_id: "write", shell: "echo ${answers.sure} > out.txt" }], { questions: closed });
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan)]);
    await pane.asks("Sure?");
    pane.type("perhaps", "Enter");
    await pane.asks('"perhaps" is none of the options of c1.sure. Give one of them, or its number: yes, no.');
    pane.type("2", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("no\n");
  });

  it("never sees characters that move the cursor or the reading direction", async () => {
    const here = rig();
    const hostile = tinyPlan([{ task_id: "write", shell: "printf '\\033[2J\\033]0;owned\\007'" }], {
      questions: [{ question_id: "q", text: "Ri\u202eght\u001b[31m?\u0007 \u{e0041}x", default: "\u001b[2Jy" }],
    });
    const pane = open(here, ["run", "--plan", here.write("plan.json", hostile)]);
    await pane.shows("Question 1 of 1");
    await pane.shows("Ri\\u{202e}ght?\\u{7} \\u{e0041}x");
    pane.type("Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("is not asked with --no-input or in an automatic build", async () => {
    for (const [flags, env] of [
      [["--no-input"], {}],
      [[], { CI: "true" }],
    ] as const) {
      const here = rig();
      const pane = open(here, ["run", "--plan", here.write("plan.json", ASK), ...flags], env);
      expect(await pane.exit()).toBe(4);
      expect(pane.screen()).not.toContain("Question 1 of 1");
    }
  });
});
