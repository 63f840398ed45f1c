import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Json, type JsonObject, textWithin } from "../../src/lib/json.ts";
import type { Asked } from "./programs.ts";
import { answerOf, cleanUp, crewRun, directory, programFile, turnLine } from "./programs.ts";

afterEach(cleanUp);

const plan = {
  questions: [
    {
      question_id: "window",
      text: "How far back?",
      default: "1 year",
      metadata: { playbook: { pattern: "all|\\d+ years?" } },
    },
    { question_id: "who", text: "Who reads it?" },
  ],
  summary: "For ${answers.who}.",
  tasks: [
    {
      task_id: "look",
      description: "Look at ${answers.window}; $${HOME} stays.",
      risks: ["it may be long"],
      metadata: { team: "blue", playbook: { fatal_issues: ["data lost"] } },
      instruction: {
        summary: "Look.",
        steps: [
          { text: "argv", command: ["${node}", "${crew.shell}", "${answers.who}"] },
          { text: "sh", shell: "echo ${answers.who} $HOME" },
        ],
      },
    },
    {
      task_id: "tell",
      description: "Tell.",
      dependencies: ["look"],
      instruction: { summary: "Tell." },
      metadata: { playbook: { revisions: [{ summary: "Tell slowly." }, { summary: "Shout." }] } },
    },
    { task_id: "stop", description: "Stop.", metadata: { playbook: { on_error: "give_up" } } },
  ],
};

const answered = [
  { question: "How far back?", answer: "2 years" },
  { question: "Who reads it?", answer: "Ann's 'friends'; rm -rf /" },
];

function playbook(document: Json, asked: Asked, name = "plan.json"): Promise<{ type: string; payload: JsonObject }> {
  const file = join(directory(), name);
  writeFileSync(file, typeof document === "string" ? document : JSON.stringify(document));
  return answerOf("playbook", asked, { env: { BOSUN_PLAYBOOK: file } });
}

function onTicket(task: string, type: string, more: Partial<Asked> & { history?: Json[] } = {}): Asked {
  const { history, context, ...rest } = more;
  const ticket = { ticket_id: task, task_id: task, status: "in_progress" };
  return {
    type,
    payload: ticket,
    expects: ["instruction", "instruction_proposal", "clarification", "review", "plan", "error"],
    context: { clarifications: answered, ticket, history: history ?? [], ...context },
    ...rest,
  };
}

it("the playbook says in a plan that was sent back that it cannot change it", async () => {
  const sentBack: Asked = {
    type: "requirement",
    payload: { text: "Go." },
    expects: ["clarification", "plan"],
    context: { clarifications: answered, notes: ["Fewer tasks, please."] },
  };
  const { payload } = await playbook(plan, sentBack);
  const first = await playbook(plan, { ...sentBack, context: { clarifications: answered } });
  const [summary, added] = textWithin(payload["summary"]).split("\n");
  expect([summary, added]).toEqual([textWithin(first.payload["summary"]), expect.stringContaining("plan file")]);
  expect(payload["tasks"]).toEqual(first.payload["tasks"]);
});

describe("the playbook's questions", () => {
  const requirement: Asked = { type: "requirement", payload: { text: "Go." }, expects: ["clarification", "plan"] };

  it("are asked first, without the metadata that only the playbook reads", async () => {
    const { type, payload } = await playbook(plan, requirement);
    expect(type).toBe("clarification");
    expect(payload["status"]).toBe("open");
    expect(payload["questions"]).toEqual([
      { question_id: "window", text: "How far back?", default: "1 year" },
      { question_id: "who", text: "Who reads it?" },
    ]);
  });

  it("are asked again, with the reason, after an answer that the plan cannot use", async () => {
    const { payload } = await playbook(plan, {
      type: "clarification_response",
      payload: {
        answers: [
          { question_id: "c1.window", text: "ten" },
          { question_id: "c1.who", text: "Ann" },
        ],
        status: "answered",
      },
      expects: ["clarification", "plan"],
    });
    expect(payload["questions"]).toEqual([
      {
        question_id: "window",
        text: "How far back?",
        default: "1 year",
        why: expect.stringMatching(/^"ten" .*: 1 year\.$/),
      },
    ]);
  });

  it("take the latest answer", async () => {
    const clarifications = [{ question: "How far back?", answer: "ten" }, ...answered];
    const { type, payload } = await playbook(plan, { ...requirement, context: { clarifications } });
    expect(type).toBe("plan");
    expect(payload["tasks"]).toMatchObject([{ description: "Look at 2 years; ${HOME} stays." }, {}, {}]);
  });

  it("take their defaults when no more may be asked, and fail without a default", async () => {
    const { type, payload } = await playbook(plan, {
      type: "clarification_response",
      payload: { answers: [], status: "complete" },
      expects: ["clarification", "plan"],
      context: { clarifications: [{ question: "Who reads it?", answer: "(not answered: decide yourself)" }] },
    });
    expect(type).toBe("error");
    expect(payload["message"]).toMatch(/answer to who\b/);
    const { questions, ...rest } = plan;
    const withDefault = { ...rest, questions: [questions[0], { ...questions[1], default: "all" }] } as Json;
    const second = await playbook(withDefault, {
      type: "clarification_response",
      payload: { answers: [], status: "complete" },
      expects: ["clarification", "plan"],
    });
    expect(second).toMatchObject({ type: "plan", payload: { summary: "For all." } });
  });
});

describe("the playbook's plan", () => {
  it("holds the tasks with every placeholder filled in, without the instructions", async () => {
    const { type, payload } = await playbook(plan, {
      type: "clarification_response",
      payload: { answers: [], status: "answered" },
      expects: ["clarification", "plan"],
      context: { clarifications: answered },
    });
    expect(type).toBe("plan");
    expect(payload).toEqual({
      turn_id: "t7",
      usage: { input_tokens: 0, output_tokens: 0, cost_usd: 0 },
      summary: "For Ann's 'friends'; rm -rf /.",
      tasks: [
        {
          task_id: "look",
          description: "Look at 2 years; ${HOME} stays.",
          risks: ["it may be long"],
          metadata: { team: "blue" },
        },
        { task_id: "tell", description: "Tell.", dependencies: ["look"] },
        { task_id: "stop", description: "Stop." },
      ],
    });
  });

  it("holds the instructions if the file says so", async () => {
    const document = {
      tasks: [
        {
          task_id: "a",
          description: "A.",
          instruction: { summary: "Do A." },
          metadata: { playbook: { instruction: "with_plan" } },
        },
      ],
    };
    const { payload } = await playbook(document, { type: "requirement", payload: { text: "x" }, expects: ["plan"] });
    expect(payload["tasks"]).toEqual([{ task_id: "a", description: "A.", instruction: { summary: "Do A." } }]);
  });

  it("may be YAML", async () => {
    const document = "tasks:\n  - task_id: a\n    description: ${crew.shell}\n";
    const { payload } = await playbook(
      document,
      { type: "requirement", payload: { text: "x" }, expects: ["plan"] },
      "plan.yaml",
    );
    expect(payload["tasks"]).toEqual([{ task_id: "a", description: programFile("shell") }]);
  });

  it("is not repeated after a refusal, because the same file gives the same answer", async () => {
    const refused = [{ payload_type: "plan", code: "invalid_plan", pointer: "/tasks/0", message: "unknown role" }];
    const { type, payload } = await playbook(plan, {
      type: "requirement",
      payload: { text: "x" },
      expects: ["plan"],
      context: { refused },
    });
    expect(type).toBe("error");
    expect(payload["message"]).toContain("unknown role (/tasks/0)");
  });
});

describe("the playbook's instructions", () => {
  it("come on the ticket's turn, with answers quoted only where a shell reads them", async () => {
    const { type, payload } = await playbook(plan, onTicket("look", "ticket"));
    expect(type).toBe("instruction");
    expect(payload["steps"]).toEqual([
      { text: "argv", command: [process.execPath, programFile("shell"), "Ann's 'friends'; rm -rf /"] },
      { text: "sh", shell: "echo 'Ann'\\''s '\\''friends'\\''; rm -rf /' $HOME" },
    ]);
  });

  it("are first proposed in a discussion, and given after the worker's proposal", async () => {
    const proposed = await playbook(plan, onTicket("look", "ticket", { discuss: true }));
    expect(proposed).toMatchObject({
      type: "instruction_proposal",
      payload: { summary: "Look.", risks: ["it may be long"], draft_steps: ["argv", "sh"] },
    });
    const given = await playbook(
      plan,
      onTicket("look", "report", { payload: { status: "proposal", summary: "Fine." } }),
    );
    expect(given).toMatchObject({ type: "instruction", payload: { summary: "Look." } });
  });

  it("wait for the answers to a blocked worker's questions, and then hold them", async () => {
    const payload = { status: "blocked", questions: [{ question_id: "q1", text: "Which port?" }] };
    const asked = await playbook(plan, onTicket("look", "report", { payload }));
    expect(asked).toMatchObject({
      type: "clarification",
      payload: { questions: [{ question_id: "q1", text: "Which port?" }] },
    });
    const clarifications = [...answered, { question: "Which port?", answer: "80" }];
    const given = await playbook(plan, onTicket("look", "report", { payload, context: { clarifications } }));
    expect(given).toMatchObject({ type: "instruction", payload: { resources: ["Asked: Which port?\nAnswered: 80"] } });
  });

  it("are repeated once with a note after an error, then the task fails", async () => {
    const error = { payload: { code: "timeout", message: "too slow" } };
    const first = {
      sequence: 9,
      at: "2026-01-02T03:04:05Z",
      event: "instruction_finalized",
      payload_type: "instruction",
      payload: { summary: "Look." },
    };
    const again = await playbook(plan, onTicket("look", "error", { ...error, history: [first] }));
    expect(again).toMatchObject({
      type: "instruction",
      payload: { summary: "Look.\n\nThe work before this ended: timeout: too slow" },
    });
    const second = { ...first, payload: again.payload };
    const last = await playbook(plan, onTicket("look", "error", { ...error, history: [first, second] }));
    expect(last).toMatchObject({
      type: "error",
      payload: { code: "timeout", message: expect.stringMatching(/no other way to do look$/) },
    });
  });

  it("cut a long error without splitting a character", async () => {
    for (const task of ["look", "stop"]) {
      for (const before of ["", "a"]) {
        const error = { payload: { code: "timeout", message: before + "😀".repeat(3_000) } };
        const { payload } = await playbook(plan, onTicket(task, "error", error));
        expect(JSON.stringify(payload)).not.toContain(String.raw`\ud83d`);
      }
    }
  });

  it("go through the task's revisions before the task fails", async () => {
    const history: Json[] = [];
    const summaries: (string | undefined)[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const type = turn === 0 ? "ticket" : "error";
      const said = await playbook(
        plan,
        onTicket("tell", type, { payload: { task_id: "tell", code: "agent_failed", message: "no" }, history }),
      );
      summaries.push(said.type === "error" ? "gave up" : textWithin(said.payload["summary"]).split("\n")[0]);
      history.push({
        sequence: turn,
        at: "2026-01-02T03:04:05Z",
        event: "x",
        payload_type: said.type,
        payload: said.payload,
      });
    }
    expect(summaries).toEqual(["Tell.", "Tell slowly.", "Shout.", "gave up"]);
  });

  it("are not repeated if the plan says give_up", async () => {
    const { type } = await playbook(
      plan,
      onTicket("stop", "error", { payload: { code: "checks_failed", message: "no" } }),
    );
    expect(type).toBe("error");
  });
});

it("the playbook asks on a ticket's turn what was never asked", async () => {
  const asked = await playbook(plan, onTicket("look", "ticket", { context: { clarifications: [] } }));
  expect(asked).toMatchObject({
    type: "clarification",
    payload: { questions: [{ question_id: "window" }, { question_id: "who" }] },
  });
});

describe("the playbook's review", () => {
  const passed = { criterion: { text: "it builds", command: ["make"] }, exit_code: 0, passed: true, output: "" };
  const failed = {
    criterion: { text: "it runs", command: ["make", "run"] },
    exit_code: 2,
    passed: false,
    output: `${"early\n".repeat(50)}segfault\n`,
  };
  const COMPLETED = { status: "completed" };
  const review = (checks: Json[], report: JsonObject, ticket_id = "look"): Asked =>
    onTicket(ticket_id, "review_request", { payload: { ticket_id, report, checks } });

  it("approves a ticket that passed every check", async () => {
    const { payload } = await playbook(plan, review([passed], COMPLETED));
    expect(payload).toMatchObject({ decision: "approved", notes: "Its check passed." });
  });

  it("cuts the output of a failed check without splitting a character", async () => {
    for (const after of ["", "a"]) {
      const check = { ...failed, output: "😀".repeat(2_000) + after };
      const { payload } = await playbook(plan, review([check], COMPLETED));
      expect(JSON.stringify(payload)).not.toContain(String.raw`\ude00`);
    }
  });

  it("names each failed criterion with the end of its output", async () => {
    const { payload } = await playbook(plan, review([passed, failed], COMPLETED));
    expect(payload["decision"]).toBe("changes_requested");
    const changes = payload["requested_changes"] as string[];
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatch(
      /^Not met: it runs\n`make run` ended with exit code 2\nits output ended:\n(early\n){18,19}segfault$/,
    );
  });

  it("does not approve an issue that the plan calls fatal", async () => {
    const fatal = await playbook(plan, review([passed], { ...COMPLETED, issues: ["Some Data Lost on the way"] }));
    expect(fatal.payload["decision"]).toBe("changes_requested");
    const harmless = await playbook(plan, review([passed], { ...COMPLETED, issues: ["a bit slow"] }));
    expect(harmless.payload["decision"]).toBe("approved");
  });

  it("does not approve work that is not completed", async () => {
    const { payload } = await playbook(plan, review([passed], { status: "error" }));
    expect(payload["decision"]).toBe("changes_requested");
  });

  it("uses the evidence alone for a task that a person added to the plan", async () => {
    for (const check of [passed, failed]) {
      const { payload } = await playbook(plan, review([check], COMPLETED, "added"));
      expect(payload["decision"]).toBe(check.passed ? "approved" : "changes_requested");
    }
  });
});

describe("the playbook as a program", () => {
  it.each([
    ["nothing", ""],
    ["a line cut short", '{"session_id":"s'],
  ])("exits without an answer when its input ends after %s", async (_, input) => {
    const ran = await crewRun("playbook", [], { input, env: { BOSUN_PLAYBOOK: "/nowhere" } });
    expect(ran).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("refuses a line that is not a turn request", async () => {
    const ran = await crewRun("playbook", [], { input: '{"payload_type":"plan"}\n' });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/turn_request.*"plan"/);
  });

  it("answers with an error when it has no plan file", async () => {
    const ran = await crewRun("playbook", [], {
      input: turnLine({ type: "requirement", payload: { text: "x" }, expects: ["plan"] }),
    });
    expect(ran.stdout).toContain("BOSUN_PLAYBOOK is not set");
  });
});

it("the playbook waits on when a task holds others up for long", async () => {
  const report = { status: "blocked", summary: "Look.", metadata: { reason: "waiting_for_dependency" } };
  const { type, payload } = await playbook(plan, { ...onTicket("look", "report"), payload: report });
  expect(type).toBe("instruction");
  expect(textWithin(payload["summary"])).toMatch(/^Wait/);
  expect(payload).not.toHaveProperty("steps");
});
