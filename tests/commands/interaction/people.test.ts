import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { putMessage } from "../../../src/commands/interaction/put.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { ASKING, type Rig, rig, tinyPlan } from "../rig.ts";

const ASK = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], ASKING);
const ALWAYS_ASK = JSON.stringify({ plan_approval: "ask" });

interface Status {
  readonly state: string;
  readonly outcome: string | null;
  readonly pending_questions: { question_id: string; text: string; options: string[]; default: string }[];
  readonly pending_decisions: { kind: string }[];
  readonly tickets: { ticket_id: string; description: string }[];
}

const status = (here: Rig, session_id: string) => typedJson<Status>(here, ["status", session_id, "--json"]);

describe("a session that needs a person and has none", () => {
  it("stops with 4 and names question, options, default and commands", async () => {
    const here = rig();
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", ASK)]);
    expect(stopped.code).toBe(4);
    const session_id = await onlySession(here);
    for (const told of ["c1.name: Whose name?", "why: It is written down.", "options: Ada | Bob", "default: Ada"]) {
      expect(stopped.stdout).toContain(told);
    }
    expect(stopped.stdout).toContain(`bosun answer ${session_id} c1.name Ada`);
    expect(stopped.stdout).toContain(`bosun resume ${session_id}`);
    expect((await status(here, session_id)).pending_questions).toMatchObject([
      { question_id: "c1.name", text: "Whose name?", options: ["Ada", "Bob"], default: "Ada" },
    ]);
    const inbox = await typed(here, ["inbox"]);
    expect(inbox.stdout).toContain(`bosun answer ${session_id} c1.name Ada`);
    const kept = await typed(here, ["answer", "name", "Grace", "Hopper"]);
    expect(kept.code).toBe(0);
    expect(kept.stdout).toContain(`bosun resume ${session_id}`);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Grace Hopper\n");
    expect((await typed(here, ["inbox"])).stdout).not.toContain("bosun answer");
  });

  it("names what it needs with --reporter silent, each command once", async () => {
    const here = rig();
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", ASK), "--reporter", "silent"]);
    const session_id = await onlySession(here);
    expect([stopped.code, stopped.stdout]).toEqual([4, ""]);
    for (const told of ["c1.name: Whose name?", `bosun answer ${session_id} c1.name Ada`, `bosun resume ${session_id}`])
      expect(stopped.stderr.split(told)).toHaveLength(2);
  });

  it("takes defaults or leaves the decision to the manager with --unanswered", async () => {
    for (const policy of ["default", "manager"]) {
      const here = rig();
      const ran = await typed(here, ["run", "--plan", here.write("plan.json", ASK), "--unanswered", policy, "--json"]);
      expect(ran.code).toBe(0);
      expect(ran.stdout).toContain(policy === "manager" ? '"status":"complete"' : '"status":"answered"');
      expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Ada\n");
    }
  });

  it("takes answers from a file by id or by part of the question", async () => {
    const here = rig();
    const two = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions: [...ASKING.questions, { question_id: "age", text: "How old?" }],
    });
    const answers = here.write("answers.yaml", "- match: whose\n  text: Eve\n");
    const stopped = await typed(here, [
      "run",
      "--plan",
      here.write("plan.json", two),
      "--answers",
      answers,
      "--unanswered",
      "default",
    ]);
    expect(stopped.code).toBe(4);
    expect(stopped.stdout).toContain("c1.age");
    expect(stopped.stdout).not.toContain("c1.name Ada");
    const session_id = await onlySession(here);
    expect((await status(here, session_id)).pending_questions).toHaveLength(1);
    expect((await typed(here, ["answer", "--file", here.write("more.yaml", "age: 7\n")])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 7\n");
  });

  it("refuses half a character in an answer or a plan, with its place", async () => {
    const here = rig();
    const plan = here.write("plan.json", ASK);
    const half = here.write(
      "half.json",
      String.raw`{"name":
  "half \ud800 pair"}`,
    );
    const told = (done: { code: number | null; stderr: string }, file: string) => {
      expect(done.stderr).toContain(file);
      expect(done.stderr).toContain("half a surrogate pair");
      expect(done.code).toBe(3);
    };
    told(await here.run(["run", "--plan", plan, "--answers", half, "--foreground"]), `${half}:2:3`);
    const halfPlan = here.write("half-plan.json", ASK.replace("Write some files.", String.raw`\ud800`));
    told(await here.run(["run", "--plan", halfPlan, "--foreground"]), `${halfPlan}:1:16`);
    expect(here.sessions()).toEqual([]);
    expect((await here.run(["run", "--plan", plan, "--foreground"])).code).toBe(4);
    told(await here.run(["answer", "--file", half]), `${half}:2:3`);
    expect((await here.run(["answer", "name", "😀"])).code).toBe(0);
    expect((await here.run(["resume", "--foreground"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("😀\n");
  });

  it("puts no message into the inbox that no record can hold", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    const store = openStore(here.home);
    if (!store.ok) throw new Error(store.error.message);
    try {
      const [row] = store.value.sessions();
      if (!row) throw new Error("there is no session");
      const put = await putMessage(store.value, row, {
        payload_type: "clarification_response",
        payload: { answers: [{ question_id: "name", text: "\ud800" }], status: "answered" },
      });
      expect(put).toMatchObject({ ok: false, error: { code: "usage" } });
      expect(store.value.inbox.pending(row.session_id)).toEqual([]);
    } finally {
      store.value.close();
    }
  });
});

describe("a plan that waits for approval", () => {
  async function gated(here: Rig, args: readonly string[] = []): Promise<string> {
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "echo hello > out.txt" }]));
    const stopped = await typed(here, ["run", "--plan", plan, "--ask-plan", ...args]);
    expect(stopped.code).toBe(4);
    const session_id = await onlySession(here);
    expect(stopped.stdout).toContain(`bosun plan ${session_id} --approve`);
    return session_id;
  }

  it("is shown, and carried out when approved", async () => {
    const here = rig();
    const session_id = await gated(here);
    const shown = await typed(here, ["plan"]);
    expect(shown.stdout).toContain("\nwrite\n  by any worker; review: checks\n");
    expect(shown.stdout).toContain("\n     $ echo hello > out.txt\n");
    expect(existsSync(join(here.workspace, "out.txt"))).toBe(false);
    expect((await typed(here, ["plan", session_id, "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(existsSync(join(here.workspace, "out.txt"))).toBe(true);
  });

  it("needs no approval with --yes, on run or resume", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
    expect(
      (await typed(here, ["run", "--plan", plan, "--config", here.write("config.json", ALWAYS_ASK), "--yes"])).code,
    ).toBe(0);
    const other = rig();
    await gated(other);
    expect((await typed(other, ["resume", "--yes"])).code).toBe(0);
  });

  it("goes back to the manager with --revise", async () => {
    const here = rig();
    const session_id = await gated(here);
    expect((await typed(here, ["plan", "--revise", "Two files, please."])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(4);
    const records = await typed(here, ["replay", session_id, "--type", "approval", "--json"]);
    expect(JSON.parse(records.stdout)).toMatchObject({
      payload: { decision: "changes_requested", notes: "Two files, please." },
    });
    expect((await status(here, session_id)).pending_decisions).toHaveLength(1);
  });

  it("ends the session when rejected", async () => {
    const here = rig();
    const session_id = await gated(here);
    expect((await typed(here, ["plan", session_id, "--reject"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(1);
    expect(await status(here, session_id)).toMatchObject({ state: "closed", outcome: "cancelled" });
  });

  it("can be edited, and the edited one is carried out", async () => {
    const here = rig();
    const session_id = await gated(here);
    const editor = here.write("editor.sh", "#!/bin/sh\nsed -i 's/Do write/Do it well/' \"$1\"\n");
    chmodSync(editor, 0o755);
    const edited = await typed(here, ["plan", "--edit"], { EDITOR: editor });
    expect(edited.stderr).toBe("");
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await status(here, session_id)).tickets).toMatchObject([{ ticket_id: "write", description: "Do it well" }]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("is not approved by an editor that changes nothing or breaks it", async () => {
    const here = rig();
    const session_id = await gated(here);
    const shown = here.write("shown", "");
    const reading = `sh ${here.write("reading.sh", `cat "$1" > ${shown}\n`)}`;
    expect((await typed(here, ["plan", "--edit"], { EDITOR: reading })).stdout).toContain("--approve");
    expect(readFileSync(shown, "utf8")).toMatch(/^tasks:\n {2}- task_id: write\n {4}description: Do write\n/m);
    const editor = here.write("editor.sh", "#!/bin/sh\necho 'tasks: 7' > \"$1\"\n");
    chmodSync(editor, 0o755);
    const broken = await typed(here, ["plan", "--edit"], { EDITOR: editor });
    expect(broken.code).toBe(3);
    expect(broken.stderr).toMatch(/plan-to-edit\.yaml:1:8/);
    expect((await status(here, session_id)).pending_decisions).toHaveLength(1);
    expect(broken.stderr).toContain(`bosun plan ${session_id} --edit\n`);
    await typed(here, ["plan", "--edit"], { EDITOR: reading });
    expect(readFileSync(shown, "utf8")).toBe("tasks: 7\n");
    expect((await typed(here, ["plan", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await status(here, session_id)).tickets).toMatchObject([{ description: "Do write" }]);
  });

  it("is not approved with a cycle, which is reported at its place", async () => {
    const here = rig();
    const session_id = await gated(here);
    const waits = (id: string, other: string) => `{task_id: ${id}, description: d, dependencies: [${other}]}`;
    const tasks = ["{task_id: write, description: d}", waits("a", "b"), waits("b", "a")];
    const cycle = here.write("cycle.yaml", ["tasks:", ...tasks.map((task) => `  - ${task}`)].join("\n"));
    const refused = await typed(here, ["plan", "--edit"], { EDITOR: `cp ${cycle}` });
    expect([refused.code, refused.stderr]).toEqual([
      3,
      expect.stringMatching(/plan-to-edit\.yaml:3:5: the dependencies form a cycle: a -> b -> a\n[^]*is kept/),
    ]);
    expect((await status(here, session_id)).pending_decisions).toHaveLength(1);
  });

  it("opens no vi without a terminal", async () => {
    const here = rig();
    await gated(here);
    const refused = await typed(here, ["plan", "--edit"], { EDITOR: "", VISUAL: "" });
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([3, "", expect.stringMatching(/"vi".*\n.*EDITOR/)]);
  });

  it("is not approved if the editor leaves no file or an empty one", async () => {
    const here = rig();
    const session_id = await gated(here);
    const seen = here.write("seen", "");
    const looking = `sh ${here.write("looking.sh", `cat "$1" > ${seen}\n`)}`;
    for (const [editor, why] of [
      ["rm", "there is no such file"],
      ["truncate -s 0", "file is empty"],
    ] as const) {
      const lost = await typed(here, ["plan", "--edit"], { EDITOR: editor });
      expect([lost.code, lost.stderr]).toEqual([3, expect.stringMatching(`plan-to-edit\\.yaml.*${why}`)]);
      expect(lost.stderr).toContain(`To edit the plan as it is: bosun plan ${session_id} --edit\n`);
      expect((await status(here, session_id)).pending_decisions).toHaveLength(1);
      await typed(here, ["plan", "--edit"], { EDITOR: looking });
      expect(readFileSync(seen, "utf8")).toMatch(/^tasks:\n {2}- task_id: write\n/m);
    }
  });

  it("stops there with --plan-only, and can be exported and run again", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "echo hello > out.txt" }]));
    expect((await typed(here, ["run", "--plan", plan, "--plan-only"])).code).toBe(4);
    const file = join(here.workspace, "again.yaml");
    expect((await typed(here, ["plan", "--export", file])).code).toBe(0);
    expect((await typed(here, ["plan", "--export", file])).code).toBe(2);
    const again = await typed(here, ["run", "--plan", file, "--json"]);
    expect(again.code).toBe(0);
  });
});

describe("work that waits for a person's review", () => {
  it("is approved or sent back by command", async () => {
    const here = rig();
    const shell = 'echo x >> out.txt; cp out.txt "$BOSUN_ARTIFACTS_DIR"';
    const plan = tinyPlan([{ task_id: "write", shell, more: { review: "user" } }]);
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", plan)]);
    expect(stopped.code).toBe(4);
    const session_id = await onlySession(here);
    expect(stopped.stdout).toContain(`bosun review ${session_id} write --approve`);
    const waits = `The work on write needs your review.
      reported: 1 of 1 steps run, 1 artifact kept
      outputs: out.txt
      file: added out.txt
      bosun review ${session_id} write --approve`;
    for (const look of [["review"], ["inbox"], ["status", session_id]])
      expect((await typed(here, look)).stdout).toContain(waits);
    expect((await typed(here, ["review", "write", "--changes", "Once more."])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(4);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("x\nx\n");
    expect((await typed(here, ["review", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
  });

  it("is shown alone if its ticket is named", async () => {
    const here = rig();
    const review = { more: { review: "user" } };
    const plan = tinyPlan(["one", "two"].map((task_id) => ({ task_id, shell: "true", ...review })));
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan)])).code).toBe(4);
    const asked = (text: string) => [...text.matchAll(/The work on (\w+) needs/g)].map(([, ticket]) => ticket);
    expect(new Set(asked((await typed(here, ["review"])).stdout))).toEqual(new Set(["one", "two"]));
    expect(asked((await typed(here, ["review", "one"])).stdout)).toEqual(["one"]);
    const unclear = await typed(here, ["review", "--approve"]);
    expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringMatching(/one, two|two, one/)]);
    expect((await typed(here, ["review", "one", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(4);
    const none = await typed(here, ["review", "one"]);
    expect([none.code, none.stdout]).toEqual([0, expect.stringMatching(/^one of s-\w+ /)]);
  });

  it("names its failed checks and is not approved before they pass", async () => {
    const here = rig();
    const acceptance_criteria = [{ text: "twice", command: ["grep", "-c", "xx", "out.txt"] }];
    const more = { review: "user", acceptance_criteria };
    const plan = tinyPlan([{ task_id: "write", shell: "printf x >> out.txt", more }]);
    const config = here.write("config.json", '{"check_rounds":0}');
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--config", config]);
    const session_id = await onlySession(here);
    const evidence = 'Its checks failed, so it can only be sent back: "twice: exit code 1 (grep -c xx out.txt)"';
    expect(stopped.stdout).toContain(evidence);
    expect(stopped.stdout).not.toContain(`bosun review ${session_id} write --approve`);
    const status = await typedJson<{ pending_decisions: object[] }>(here, ["status", session_id, "--json"]);
    expect(status.pending_decisions).toMatchObject([
      { kind: "review", failed_checks: ["twice: exit code 1 (grep -c xx out.txt)"] },
    ]);
    const approved = await typed(here, ["review", "--approve"]);
    expect([approved.code, approved.stderr]).toEqual([2, expect.stringContaining("cannot be approved")]);
    expect((await typed(here, ["review", "--changes", "Once more."])).code).toBe(0);
    const again = await typed(here, ["resume"]);
    expect(again.stdout).not.toContain(evidence);
    expect((await typed(here, ["review", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
  });

  it("is followed by the result with --confirm", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
    const stopped = await typed(here, ["run", "--plan", plan, "--confirm"]);
    expect(stopped.code).toBe(4);
    const session_id = await onlySession(here);
    expect(stopped.stdout).toContain(`bosun review ${session_id} --approve`);
    expect((await typed(here, ["review", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});
