import { describe, expect, it } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { Json } from "../../../src/lib/json.ts";
import { COMPLETED, CREW, INSTRUCTION, runs, schedule, type ScheduleSession, task } from "./session.ts";

/**
 * A session with known record numbers: 1 opening, 2 requirement, 3 its turn, 4 plan, 5 turn about `base`, 6 its instruction, 7 its turn,
 * 8 artifact, 9 report, 10 turn for the review, 11 review. Then the manager is asked about `a`.
 */
function session(more: Parameters<typeof task>[1] = {}): ScheduleSession {
  const made = schedule()
    .requirement()
    .answer(undefined, "plan", {
      summary: "Two steps",
      tasks: [task("base"), task("a", { dependencies: ["base"], ...more })],
    });
  made.instruct("base").admit("base").answer("base", "artifact_ref", { label: "log", uri: "log.txt" });
  return made.answer("base", "report", { ...COMPLETED, outputs: ["a base"] }).approve("base");
}

const COMMON = { requirement: { $from: [2, "/text"] }, clarifications: [] };
const PLAN = { plan_file: { $file: [4, ""] } };
const SUMMARY = { $from: [4, "/summary"] };
const DEPENDENCIES = [{ task_id: "base", outputs: { $from: [9, "/outputs"] }, artifacts: [{ $from: [8, ""] }] }];
const TASK = { $from: [4, "/tasks/1"] };

function about(status: string, counts: Record<string, number>, history: readonly number[], ticket: object = {}) {
  return {
    ...COMMON,
    ...PLAN,
    plan: { summary: SUMMARY, counts: { done: 1, ...counts } },
    ticket: { ticket_id: "a", task_id: "a", status, task: TASK, history: { $events: history }, ...ticket },
    history: { $history: history },
    dependencies: DEPENDENCIES,
  };
}

describe("the request for", () => {
  it("requirement", () => {
    expect(schedule().requirement().draft()).toEqual({
      expects: ["clarification", "error", "plan"],
      message: { payload_type: "requirement", payload: { $from: [2, ""] } },
      context: COMMON,
    });
  });

  it("clarification_response", () => {
    const made = schedule().requirement().ask(undefined, "q").answerQuestions({ q: "So" });
    expect(made.draft()).toEqual({
      expects: ["clarification", "error", "plan"],
      message: {
        payload_type: "clarification_response",
        payload: { answers: [{ question_id: "c1.q", text: { $from: [5, "/answers/0/text"] } }], status: "answered" },
      },
      context: {
        ...COMMON,
        clarifications: [{ question: { $from: [4, "/questions/0/text"] }, answer: { $from: [5, "/answers/0/text"] } }],
      },
    });
  });

  it("ticket", () => {
    expect(session().draft("a")).toEqual({
      expects: ["clarification", "error", "instruction", "instruction_proposal"],
      message: { payload_type: "ticket", payload: about("pending", {}, []).ticket },
      context: about("pending", { pending: 1 }, []),
      discuss: false,
    });
  });

  it("instruction_proposal", () => {
    expect(session().answer("a", "instruction_proposal", { summary: "So?" }).draft("a")).toEqual({
      expects: ["error", "report"],
      message: { payload_type: "instruction_proposal", payload: { $from: [13, ""] } },
      context: about("discussing", { discussing: 1 }, [13]),
    });
  });

  it("report, of a proposal", () => {
    const made = session()
      .answer("a", "instruction_proposal", { summary: "So?" })
      .answer("a", "report", { status: "proposal" });
    expect(made.draft("a")).toEqual({
      expects: ["clarification", "error", "instruction"],
      message: { payload_type: "report", payload: { $from: [15, ""] } },
      context: about("discussing", { discussing: 1 }, [13, 15], { owner: "hand" }),
    });
  });

  it("instruction", () => {
    expect(session().instruct("a").draft("a")).toEqual({
      expects: ["error", "report"],
      message: { payload_type: "instruction", payload: { $from: [13, ""] } },
      context: about("in_progress", { in_progress: 1 }, [13]),
    });
  });

  it("instruction, given with the plan", () => {
    expect(session({ instruction: INSTRUCTION }).draft("a").message).toEqual({
      payload_type: "instruction",
      payload: { $from: [4, "/tasks/1/instruction"] },
    });
  });

  it("review_request to a reviewer, if the crew has one", () => {
    const reviewer = { role_id: "critic", type: "participant", backend: "scripted", capabilities: ["review"] } as const;
    const reviewed = schedule({ roles: [...CREW, reviewer] })
      .plan(task("a"))
      .instruct("a")
      .deliver("a");
    expect([...reviewed.engine.ledger.turns.values()]).toMatchObject([
      { seat: { type: "participant", capability: "review", unlike: "hand" } },
    ]);
    expect(reviewed.draft("a").expects).toEqual(["clarification", "error", "review"]);
    expect(reviewed.answer("a", "review", { decision: "approved" }).ended?.outcome).toBe("done");
  });

  it("review_request", () => {
    const made = session({ acceptance_criteria: [runs("true")] })
      .instruct("a")
      .deliver("a")
      .finishChecks("a", true);
    expect(made.draft("a")).toEqual({
      alone: true,
      expects: ["clarification", "error", "review"],
      message: {
        payload_type: "review_request",
        payload: {
          ticket_id: "a",
          instruction: { $from: [13, ""] },
          report: { $from: [15, ""] },
          checks: { $from: [16, "/results"] },
          artifacts: [],
        },
      },
      context: about("awaiting_review", { awaiting_review: 1 }, [13, 15, 16], { owner: "hand" }),
    });
  });

  it("error", () => {
    const made = session().instruct("a").block("a");
    expect(made.draft("a")).toEqual({
      expects: ["clarification", "error", "instruction", "plan"],
      message: {
        payload_type: "error",
        payload: {
          code: "agent_failed",
          message: "ticket a is blocked (needs_input) after 1 attempts; 5 more are allowed",
          resolution_hint: "answer with a new instruction, a revised plan, a clarification, or error to give it up",
        },
      },
      context: about("blocked", { blocked: 1 }, [13, 15], { owner: "hand", reason: "needs_input" }),
    });
  });

  it("error, with the details that its schema allows", () => {
    const made = schedule({ config: { max_retries: 0 } })
      .plan(task("a"))
      .instruct("a");
    const details = {
      exit_code: 1,
      signal: "SIGKILL",
      retry_at: "2026-01-01T01:00:00Z",
      pointer: "/status",
      rule: "r",
    };
    made.fail("a", "timeout", { details: { ...details, stderr_tail: "oops", outlived_kill: true } });
    expect(resolve(made.draft("a").message.payload, made.lookup)).toMatchObject({ code: "timeout", details });
    expect(resolve(made.draft("a").message.payload, made.lookup)).not.toHaveProperty("details.stderr_tail");
    expect(made.admit("a").last.disposition).toBe("applied");
  });
});

describe("a request", () => {
  it("throws for a turn that is not open", () => {
    const made = session();
    expect(() => made.engine.mode.request(made.state, { turn_id: "t1", subject: "a", attempt: 1, run: 1 })).toThrow(
      "nobody holds turn t1",
    );
  });

  it("has the latest twenty events of the ticket", () => {
    const made = schedule({ config: { max_clarification_rounds: 50 } }).plan(task("a"));
    for (let round = 1; round <= 15; round++) made.ask("a", "q").answerQuestions({ [`c${round}.q`]: "So" });
    const history = made.draft("a").context["history"] as { readonly $history: readonly number[] };
    expect(history.$history).toHaveLength(20);
    expect(history.$history.at(-1)).toBe(made.sequence);
    expect(history.$history).toEqual(history.$history.toSorted((a, b) => a - b));
  });

  it("has each event once, in order", () => {
    const made = schedule().plan(task("a")).ask("a", "q");
    const { sequence: asked } = made;
    const { sequence: answered } = made.answerQuestions({ q: "So" });
    const { sequence: instructed } = made.instruct("a");
    const { sequence: failed } = made.fail("a");
    expect(made.fireTimer("retry:a").draft("a").context["history"]).toEqual({
      $history: [asked, answered, instructed, failed],
    });
  });

  it("has the ticket's events without payloads, proposals and their reports among them", () => {
    const made = schedule().plan(task("a")).answer("a", "instruction_proposal", { summary: "So?" });
    made.answer("a", "report", { status: "proposal", summary: "Or so" });
    const { ticket } = made.resolved(made.draft("a").context) as { ticket: { history: object[] } };
    expect(ticket.history).toEqual([
      {
        sequence: 6,
        at: expect.any(String),
        event: "proposal_needed",
        payload_type: "instruction_proposal",
        attempt: 1,
      },
      { sequence: 8, at: expect.any(String), event: "report", payload_type: "report", attempt: 1 },
    ]);
  });

  it("always has the current instruction, and no older one", () => {
    const made = schedule({ config: { max_retries: 99, max_attempts: 100 } }).plan(task("a"));
    const history = () => (made.draft("a").context["history"] as { readonly $history: readonly number[] }).$history;
    const fail = () => {
      for (let attempt = 0; attempt < 25; attempt++) made.fail("a").fireTimer("retry:a");
    };
    const { sequence: first } = made.instruct("a");
    fail();
    expect([history().length, history()[0], history().at(-1)]).toEqual([20, first, made.sequence - 1]);
    made.block("a");
    const { sequence: second } = made.instruct("a");
    fail();
    expect([history().length, history()[0]]).toEqual([20, second]);
  });

  it("does not grow with the plan", () => {
    const size = (tasks: number, words: number) => {
      const plan = Array.from({ length: tasks }, (_, index) =>
        task(`t${index}`, { description: "word ".repeat(words) }),
      );
      const made = schedule({ unchecked: true })
        .requirement("word ".repeat(words))
        .answer(undefined, "plan", { summary: "word ".repeat(words), tasks: plan });
      made
        .answer("t0", "instruction", { summary: "word ".repeat(words) })
        .answer("t0", "report", { status: "completed", summary: "word ".repeat(words) });
      return JSON.stringify([made.draft("t0"), made.draft("t1")]).replaceAll(/\d/g, "").length;
    };
    expect(size(1000, 1000)).toBe(size(2, 1));
  });

  it("holds only references to texts", () => {
    const secret = "unmistakable";
    const made = schedule()
      .requirement(secret)
      .answer(undefined, "clarification", { questions: [{ question_id: "q", text: secret }], status: "open" });
    made
      .answerQuestions({ q: secret })
      .answer(undefined, "plan", { summary: secret, tasks: [task("a", { description: secret, risks: [secret] })] });
    made.command("tell", "a", { text: secret });
    const drafts: Json[] = [made.draft("a") as unknown as Json];
    made.answer("a", "instruction_proposal", { summary: secret });
    drafts.push(made.draft("a") as unknown as Json);
    made.answer("a", "report", { status: "proposal", summary: secret });
    drafts.push(made.draft("a") as unknown as Json);
    made
      .answer("a", "instruction", { summary: secret })
      .answer("a", "report", { status: "completed", summary: secret, outputs: [secret] });
    drafts.push(made.draft("a") as unknown as Json);
    expect(JSON.stringify(drafts)).not.toContain(secret);
    for (const draft of drafts) expect(JSON.stringify(resolve(draft, made.lookup))).toContain(secret);
  });
});
