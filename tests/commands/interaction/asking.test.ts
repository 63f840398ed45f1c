import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { ASKING, type Rig, rig, tinyPlan, until } from "../rig.ts";
import { endAfterwards } from "../strays.ts";
import { open } from "../terminal.ts";
import { freeze, statusOf } from "../waiting-task.ts";

const REVIEWED = tinyPlan(["one", "two"].map((task_id) => ({ task_id, shell: "true", more: { review: "user" } })));

async function pending(here: Rig, session_id: string): Promise<number> {
  type Pending = Record<"pending_decisions" | "pending_questions", unknown[]>;
  const { pending_decisions, pending_questions } = await typedJson<Pending>(here, ["status", session_id, "--json"]);
  return pending_decisions.length + pending_questions.length;
}

describe("two reviews at once", () => {
  it.each([{ command: ["resume", "--foreground"] }, { command: ["resume"] }])(
    "are answered one at a time: $command",
    async ({ command }) => {
      const here = endAfterwards(rig());
      // One worker, so that "one" is reviewed first.
      const run = ["run", "--plan", here.write("plan.json", REVIEWED), "--max-workers", "1"];
      expect((await here.run(run)).code).toBe(4);
      const session_id = await onlySession(here);
      const pane = open(here, command);
      await pane.asks("Review of one");
      pane.type("1", "Enter");
      await pane.asks("Review of two");
      expect(await pending(here, session_id)).toBe(1);
      pane.type("C-d");
      expect(await pane.exit()).toBe(4);
      expect(pane.screen().split("Review of two")).toHaveLength(2);
      const reviews = await typed(here, ["replay", session_id, "--type", "review", "--json"]);
      expect(
        reviews.stdout
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as object),
      ).toMatchObject([{ payload: { ticket_id: "one" } }]);
    },
  );
});

describe("a line begun for a question that is settled elsewhere", () => {
  const NEXT = "Press Enter to continue (pending input is discarded).";

  it.each([{ flags: ["--foreground"] }, { flags: [] }])(
    "does not answer the next question: $flags",
    async ({ flags }) => {
      const here = endAfterwards(rig());
      const shell = "echo ${answers.branch} ${answers.delete} > out.txt";
      const two = tinyPlan([{ task_id: "write", shell }], {
        questions: [
          { question_id: "branch", text: "Which branch?", options: ["main", "next"] },
          { question_id: "delete", text: "Delete the old data?", options: ["yes", "no"], default: "yes" },
        ],
      });
      const pane = open(here, ["run", "--plan", here.write("plan.json", two), ...flags]);
      await pane.asks("Question 1 of 2");
      pane.type("ne");
      await pane.shows("> ne");
      expect((await typed(here, ["answer", "branch", "1"])).code).toBe(0);
      await pane.shows("No longer open: c1.branch: ");
      await pane.shows(NEXT);
      expect(pane.screen()).not.toContain("Question 2 of 2");
      pane.type("xt", "Enter");
      await pane.asks("Question 2 of 2");
      expect(await pending(here, await onlySession(here))).toBe(1);
      pane.type("2", "Enter");
      expect(await pane.exit()).toBe(0);
      expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("main no\n");
    },
  );

  it.each([{ flags: ["--foreground"] }, { flags: [] }])("does not decide a later review: $flags", async ({ flags }) => {
    const here = endAfterwards(rig());
    const more = { review: "user" };
    const plan = tinyPlan([
      { task_id: "one", shell: "true", more },
      { task_id: "two", shell: "true", more, dependencies: ["one"] },
    ]);
    const gated = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    const pane = open(here, ["run", "--plan", here.write("plan.json", plan), "--config", gated, ...flags]);
    await pane.asks("1  Approve");
    const session_id = await onlySession(here);
    const approved = "No longer open: The plan ";
    const reviewed = "No longer open: The work on one ";
    for (const [command, told, next] of [
      [["plan", session_id, "--approve"], approved, "Review of one"],
      [["review", session_id, "one", "--approve"], reviewed, "Review of two"],
    ] as const) {
      expect((await typed(here, command)).code).toBe(0);
      await pane.shows(told);
      await until(NEXT, () => pane.screen().trimEnd().endsWith(NEXT));
      pane.type("1", "Enter");
      await pane.asks(next);
      expect(await pending(here, session_id)).toBe(1);
    }
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });
});

describe("bosun answer at a terminal", () => {
  it("keeps what was answered before Ctrl-C, and offers it the next time, to be changed or sent", async () => {
    const here = rig();
    const two = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions: [...ASKING.questions, { question_id: "age", text: "How old?" }],
    });
    expect((await here.run(["run", "--plan", here.write("plan.json", two)])).code).toBe(4);
    const session_id = await onlySession(here);
    const pane = open(here, ["answer"]);
    await pane.asks("Question 1 of 2");
    pane.type("2", "Enter");
    await pane.asks("Question 2 of 2");
    pane.type("half", "C-c");
    expect(await pane.exit()).toBe(130);
    expect(pane.screen()).toContain("1 answer is kept");
    expect((await typed(here, ["answer"])).stdout).not.toContain("kept");
    expect(await pending(here, session_id)).toBe(2);
    const again = open(here, ["answer"], {}, 40);
    await again.asks("Question 2 of 2");
    expect(again.screen()).toContain("1 answer from before is not sent yet.");
    again.type("8", "Enter");
    await again.asks("Your answers");
    expect(again.screen()).toContain("  1  Whose name?\n     Bob\n  2  How old?\n     8\n");
    again.type("3", "Enter");
    await again.asks("number from 1 to 2");
    again.type("1", "Enter");
    await again.asks("Question 1 of 2");
    again.type("Eve", "Enter");
    await again.asks("Your answers", 2);
    again.type("Enter");
    await again.asks("Resume it now?");
    again.type("Enter");
    expect(await again.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8\n");
    expect(readdirSync(join(here.home, "sessions", session_id))).not.toContain("answers-to-send.json");
  });
});

describe("a question answered elsewhere while `bosun answer` asks", () => {
  it("keeps that answer, and the others are taken", async () => {
    const here = endAfterwards(rig());
    const three = tinyPlan(
      [{ task_id: "write", shell: "echo ${answers.name} ${answers.age} ${answers.town} > out.txt" }],
      {
        questions: [
          ...ASKING.questions,
          { question_id: "age", text: "How old?" },
          { question_id: "town", text: "Where?" },
        ],
      },
    );
    expect((await here.run(["run", "--plan", here.write("plan.json", three), "--detach"])).code).toBe(0);
    const session_id = await onlySession(here);
    await until("the questions", async () => (await pending(here, session_id)) === 3);
    const pane = open(here, ["answer"]);
    await pane.asks("Question 1 of 3");
    expect((await typed(here, ["answer", "name", "Eve"])).code).toBe(0);
    expect((await typed(here, ["answer", "age", "8"])).code).toBe(0);
    pane.type("2", "Enter");
    await pane.asks("Question 3 of 3");
    pane.type("York", "Enter");
    expect(await pane.exit()).toBe(0);
    for (const question_id of ["c1.name", "c1.age"])
      expect(pane.screen()).toMatch(new RegExp(`No longer open: ${question_id}:`));
    await until("the end", async () => (await statusOf(here, session_id)).state === "closed");
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8 York\n");
  });
});

describe("a question of a stopped session answered elsewhere meanwhile", () => {
  it("keeps that answer", async () => {
    const here = rig();
    const two = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions: [...ASKING.questions, { question_id: "age", text: "How old?" }],
    });
    expect((await here.run(["run", "--plan", here.write("plan.json", two)])).code).toBe(4);
    const pane = open(here, ["answer"]);
    await pane.asks("Question 1 of 2");
    expect((await typed(here, ["answer", "name", "Eve"])).code).toBe(0);
    pane.type("2", "Enter");
    await pane.asks("Question 2 of 2");
    pane.type("8", "Enter");
    await pane.asks("Resume it now?");
    expect(pane.screen()).toMatch(/No longer open: c1\.name:/);
    pane.type("Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8\n");
  });
});

describe("several questions at an attached terminal", () => {
  it("are kept when it detaches, and sent together, though the scheduler takes them late", async () => {
    const here = endAfterwards(rig());
    const two = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions: [...ASKING.questions, { question_id: "age", text: "How old?" }],
    });
    expect((await here.run(["run", "--plan", here.write("plan.json", two), "--detach"])).code).toBe(0);
    const session_id = await onlySession(here);
    await until("the questions", async () => (await pending(here, session_id)) === 2);
    const { owner } = await statusOf(here, session_id);
    const first = open(here, ["attach", session_id]);
    await first.asks("Question 1 of 2");
    first.type("2", "Enter");
    await first.asks("Question 2 of 2");
    first.type("C-c");
    expect(await first.exit()).toBe(130);
    await freeze(here, owner?.pid ?? 0);
    const pane = open(here, ["attach", session_id]);
    await pane.asks("Question 2 of 2");
    pane.type("7", "Enter");
    await pane.asks("Your answers");
    expect(await pending(here, session_id)).toBe(2);
    pane.type("Enter");
    await pane.shows("not taken it yet");
    process.kill(owner?.pid ?? 0, "SIGCONT");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob 7\n");
  });
});
