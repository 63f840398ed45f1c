import { describe, expect, it, test } from "vitest";
import { Scene, type SceneOptions } from "./rig.ts";
import { asking, COMPLETED, INSTRUCTION, task } from "./words.ts";

function instructed(options: SceneOptions = {}): Scene {
  return new Scene(options).planned(task("a"), task("b")).says("a", "instruction", INSTRUCTION);
}

/** The worker fails until its retries are spent. */
function spent(scene: Scene): Scene {
  return scene.fails("a").fires("retry:a").fails("a").fires("retry:a").fails("a");
}

describe("work that fails", () => {
  test.each(["timeout", "idle_timeout", "agent_failed", "no_answer", "malformed_output", "output_limit"])(
    "%s blocks the ticket, says why, and is tried again",
    (code) => {
      const scene = instructed().fails("a", code);
      expect(scene.moved).toEqual([`a: in_progress -work_stopped-> blocked (${code})`]);
      expect(scene.open).toEqual(["manager ticket b", "retry:a in 1000 ms"]);
      scene.fires("retry:a");
      expect(scene.moved).toEqual(["a: blocked -retry-> in_progress"]);
      expect(scene.open).toEqual(["manager ticket b", "worker instruction a"]);
    },
  );

  test.each(["budget_exhausted", "cancelled"])(
    "with %s is not tried again by itself: it is the manager's at once",
    (code) => {
      const scene = instructed().fails("a", code);
      expect([scene.moved, scene.open]).toEqual([
        [`a: in_progress -work_stopped-> blocked (${code})`],
        ["manager error a", "manager ticket b"],
      ]);
      expect(scene.draft("a").message.payload).toMatchObject({ code });
      const manager = instructed().says("a", "report", COMPLETED).fails("a", code);
      expect(manager.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
    },
  );

  it("counts the same when the worker reports an error, or answers with one", () => {
    const reported = instructed().says("a", "report", { status: "error", issues: ["no disk"] });
    expect(reported.moved).toEqual(["a: in_progress -work_stopped-> blocked (agent_failed)"]);
    const answered = instructed().says("a", "error", { code: "conflict", message: "Somebody else is at it" });
    expect(answered.moved).toEqual(["a: in_progress -work_stopped-> blocked (conflict)"]);
    for (const scene of [reported, answered]) expect(scene.open).toContain("retry:a in 1000 ms");
  });

  it("is tried again by somebody else if anybody can; a refused report, and work that is sent back, by anybody", () => {
    const seatOf = (scene: Scene) =>
      [...scene.engine.ledger.turns.values()].find(({ subject }) => subject === "a")?.seat;
    const hand = { type: "worker", rather_not: "hand" };
    const scene = instructed().fails("a").fires("retry:a");
    expect(seatOf(scene)).toEqual(hand);
    expect(seatOf(scene.says("a", "report", { status: "proposal" }))).toEqual({ type: "worker" });
    scene.says("a", "report", COMPLETED).says("a", "review", { decision: "changes_requested" });
    expect(seatOf(scene)).toEqual({ type: "worker" });
  });

  it("is nobody's reason to keep another seat for it because the manager failed", () => {
    const scene = new Scene({ config: { max_retries: 1 } }).planned(task("a"), task("b"));
    scene.says("a", "instruction_proposal", { summary: "One way" }).fails("a").fires("retry:a").fails("a");
    scene.says("a", "error", { code: "agent_failed", message: "It cannot be done" });
    scene.command("retry", "a").fails("a").fires("retry:a");
    const asked = [...scene.engine.ledger.turns.values()].find(({ subject }) => subject === "a");
    expect(asked).toMatchObject({ seat: { type: "manager" }, reserve: { type: "worker" } });
    expect(asked?.reserve).not.toHaveProperty("rather_not");
  });

  it("waits twice as long each time, and never longer than a minute", () => {
    const scene = instructed({ config: { max_retries: 8 } });
    const waits: string[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      scene.fails("a");
      waits.push(...scene.open.filter((line) => line.startsWith("retry:a")));
      scene.fires("retry:a");
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => `retry:a in ${seconds}000 ms`));
  });

  it("goes to the manager when the retries are spent, while the ticket stays blocked", () => {
    const scene = spent(instructed());
    expect([scene.moved, scene.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (agent_failed)"],
      ["manager error a", "manager ticket b"],
    ]);
    expect(scene.ticket("a").attempt).toBe(3);
    scene.admit("a");
    expect(scene.status("a")).toBe("blocked (agent_failed)");
  });

  it("has no retries where none are configured", () => {
    expect(instructed({ config: { max_retries: 0 } }).fails("a").open).toContain("manager error a");
  });

  it("starts afresh with the manager's new instruction", () => {
    const scene = spent(instructed()).says("a", "instruction", { summary: "Differently" });
    expect(scene.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
    expect(spent(scene).open).toContain("manager error a");
    expect(scene.ticket("a").attempt).toBe(6);
  });

  it("is given up after max_escalations, without asking the manager again", () => {
    const scene = spent(instructed());
    for (let round = 0; round < 2; round++) spent(scene.says("a", "instruction", INSTRUCTION));
    expect(scene.moved).toEqual([
      "a: in_progress -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    expect(scene.open).toEqual(["manager ticket b"]);
  });

  it("is given up when the manager answers with an error, keeping the reason of the work", () => {
    const scene = instructed({ config: { max_retries: 0 } })
      .fails("a", "timeout")
      .says("a", "error", { code: "agent_failed", message: "Hopeless" });
    expect(scene.moved).toEqual(["a: blocked -retries_exceeded-> error (timeout)"]);
    expect(scene.open).toEqual(["manager ticket b"]);
  });

  it("may make the manager ask the person first", () => {
    const scene = spent(instructed()).says("a", "clarification", asking("q"));
    expect([scene.status("a"), scene.open]).toEqual([
      "blocked (agent_failed)",
      ["ask questions c1", "manager ticket b"],
    ]);
    expect(scene.answers({ q: "Use the other disk" }).open).toEqual(["manager error a", "manager ticket b"]);
  });

  it("keeps no stale failure for what is asked later", () => {
    const scene = instructed()
      .fails("a", "timeout", { details: { exit_code: 9 } })
      .fires("retry:a");
    scene.says("a", "report", { status: "blocked" });
    expect(scene.draft("a").message.payload).not.toHaveProperty("details");
  });

  it("is told to the manager with its own details, and not with those of a manager's turn that failed", () => {
    const details = { exit_code: 7 };
    const asked = instructed({ config: { max_retries: 0 } }).fails("a", "timeout", { details: { exit_code: 9 } });
    const { payload } = asked.draft("a").message;
    const again = instructed({ config: { max_retries: 1 } }).says("a", "report", { status: "blocked" });
    again.fails("a", "timeout", { details }).fires("retry:a");
    const reviewed = instructed({ config: { max_review_rounds: 0 } }).says("a", "report", COMPLETED);
    reviewed.fails("a", "timeout", { details }).fires("retry:a").says("a", "review", { decision: "changes_requested" });
    expect(payload).toHaveProperty("details");
    const said = instructed({ config: { max_retries: 0 } }).says("a", "error", {
      code: "conflict",
      message: "No",
      details,
    });
    expect(said.draft("a").message.payload).toMatchObject({
      code: "conflict",
      details: { exit_code: { $from: [said.sequence, "/details/exit_code"] } },
    });
    for (const scene of [again, reviewed]) {
      expect(scene.open).toContain("manager error a");
      expect(scene.draft("a").message.payload).not.toHaveProperty("details");
    }
  });

  it("is tried again at once when the person says so", () => {
    const scene = instructed().fails("a").command("retry", "a");
    expect(scene.moved).toEqual(["a: blocked -retry-> in_progress"]);
    expect(scene.open).toEqual(["manager ticket b", "worker instruction a"]);
    expect(scene.fires("retry:a").last.disposition).toBe("late");
  });
});

describe("a worker that is stuck", () => {
  it("asks, and the manager answers with an instruction", () => {
    const scene = instructed().says("a", "report", { status: "blocked", questions: asking("where").questions });
    expect(scene.moved).toEqual(["a: in_progress -report_blocked-> blocked (needs_input)"]);
    expect(scene.open).toEqual(["manager report a", "manager ticket b"]);
    scene.says("a", "instruction", { summary: "There" });
    expect(scene.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
  });

  it("without a question is the manager's trouble at once", () => {
    const scene = instructed().says("a", "report", { status: "blocked", issues: ["no idea"] });
    expect([scene.moved, scene.open]).toEqual([
      ["a: in_progress -report_blocked-> blocked (needs_input)"],
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("says what it is doing without moving anything", () => {
    const scene = instructed().admit("a");
    const before = scene.open;
    scene.says("a", "report", { status: "progress", summary: "Half way" });
    expect([scene.last.disposition, scene.moved, scene.open, scene.status("a")]).toEqual([
      "applied",
      [],
      before,
      "in_progress",
    ]);
  });
});

describe("a report that does not answer an instruction", () => {
  it("is refused, and the instruction put again with the reason, at once", () => {
    const scene = instructed().says("a", "report", { status: "proposal" });
    expect([scene.last.disposition, scene.refused, scene.status("a")]).toEqual([
      "refused",
      "validation_failed /status",
      "in_progress",
    ]);
    expect(scene.draft("a").context["refused"]).toEqual([
      {
        payload_type: "report",
        code: "validation_failed",
        pointer: "/status",
        message: '"instruction" is answered by a report that says completed, blocked, error, not "proposal"',
      },
    ]);
    expect(scene.last.envelopes).toMatchObject([
      { target: "hand", payload_type: "error", subject: "a", payload: { code: "validation_failed" } },
    ]);
  });

  it("is forgotten with the next answer", () => {
    const scene = instructed().says("a", "report", { status: "proposal" }).says("a", "report", COMPLETED);
    expect(scene.draft("a").context).not.toHaveProperty("refused");
  });

  it("counts as a retry, together with work that fails", () => {
    const scene = instructed().says("a", "report", { status: "proposal" }).fails("a").fires("retry:a");
    scene.says("a", "report", { status: "proposal" });
    expect(scene.moved).toEqual(["a: in_progress -work_stopped-> blocked (validation_failed)"]);
    expect(scene.open).toContain("manager error a");
    expect(scene.ticket("a").attempt).toBe(3);
  });

  it("counts on after checks sent the work back", () => {
    const scene = new Scene().planned(task("a", { acceptance_criteria: [{ text: "passes", command: ["true"] }] }));
    scene.says("a", "instruction", INSTRUCTION).fails("a").fires("retry:a").says("a", "report", COMPLETED);
    scene.checked("a", false).says("a", "report", { status: "proposal" });
    expect(scene.open).toEqual(["worker instruction a"]);
    expect(scene.says("a", "report", { status: "proposal" }).open).toEqual(["manager error a"]);
  });

  it("tells the next try what a failed turn had refused", () => {
    const refused = [
      { payload_type: "report", code: "validation_failed", pointer: "/payload/status", message: "no such status" },
    ];
    const scene = instructed().fails("a", "malformed_output", { refused }).fires("retry:a");
    expect(scene.draft("a").context["refused"]).toEqual(refused);
  });
});

describe("a manager that fails", () => {
  it("is asked again without moving the ticket", () => {
    const scene = instructed().says("a", "report", COMPLETED).fails("a", "timeout");
    expect([scene.moved, scene.status("a")]).toEqual([[], "awaiting_review"]);
    expect(scene.open).toEqual(["manager ticket b", "retry:a in 1000 ms"]);
    scene.fires("retry:a");
    expect([scene.moved, scene.open]).toEqual([[], ["manager review_request a", "manager ticket b"]]);
  });

  it("is asked again what to do with a blocked ticket, which stays so", () => {
    const scene = spent(instructed()).fails("a", "timeout");
    expect([scene.moved, scene.open]).toEqual([[], ["manager ticket b", "retry:a in 1000 ms"]]);
    scene.fires("retry:a");
    expect([scene.moved, scene.status("a"), scene.open]).toEqual([
      [],
      "blocked (agent_failed)",
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("is asked again about the session in the same way", () => {
    const scene = new Scene().requirement().fails(undefined, "timeout");
    expect(scene.open).toEqual(["retry: in 1000 ms"]);
    expect(scene.fires("retry:").open).toEqual(["manager requirement"]);
  });

  it("stops the session at once where it has one try", () => {
    const scene = new Scene({ config: { max_retries: 0 } }).requirement().fails(undefined, "timeout");
    expect(scene.last.step.commands).toMatchObject([
      { message: "the manager failed once on requirement (the requirement), with timeout" },
    ]);
  });

  it("stops the session when its tries are spent, and is asked afresh when that goes on", () => {
    const scene = instructed().says("a", "report", COMPLETED);
    scene.fails("a", "timeout").fires("retry:a").fails("a", "timeout").fires("retry:a").fails("a", "no_answer");
    expect(scene.last.step.commands).toEqual([
      {
        do: "stop_session",
        reason: "manager_failed",
        message: "the manager failed 3 times on review_request (ticket a), the last time with no_answer",
      },
    ]);
    expect([scene.moved, scene.status("a"), scene.ended]).toEqual([[], "awaiting_review", undefined]);
    scene.stops("manager_failed");
    expect(scene.phase).toBe("stopped");
    scene.recovers();
    expect([scene.phase, scene.open]).toEqual(["running", ["manager review_request a", "manager ticket b"]]);
    scene.fails("a", "timeout").fires("retry:a").fails("a", "timeout");
    expect(scene.open).toContain("retry:a in 2000 ms");
  });

  it("stops the session over the requirement too", () => {
    const scene = new Scene({ config: { max_retries: 0 } }).requirement().fails(undefined, "timeout");
    expect(scene.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
    expect(scene.stops("manager_failed").recovers().open).toEqual(["manager requirement"]);
  });

  it.each(["malformed_output", "cancelled"])("is told when that goes on what its last try had refused (%s)", (code) => {
    const refused = [{ payload_type: "plan", code: "validation_failed", pointer: "/tasks", message: "is missing" }];
    const scene = new Scene({ config: { max_retries: 0 } }).requirement().fails(undefined, code, { refused });
    expect(scene.stops("manager_failed").recovers().draft().context["refused"]).toEqual(refused);
  });

  it("gives up a ticket that it says it cannot instruct or review, and the session over the requirement", () => {
    const cannot = { code: "agent_failed", message: "I cannot" };
    const ticket = new Scene().planned(task("a"), task("b")).says("a", "error", cannot);
    expect(ticket.moved).toEqual([
      "a: pending -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    const review = instructed().says("a", "report", COMPLETED).says("a", "error", cannot);
    expect(review.moved).toEqual([
      "a: awaiting_review -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    expect(new Scene().requirement().says(undefined, "error", cannot).report.ended).toBe("failed agent_failed");
  });
});

describe("an agent that calls its failure what only a plan or a person can make of a ticket", () => {
  const WITHDRAWN = { code: "withdrawn", message: "Nothing to see here" };

  it("has failed like any other, and the session with it", () => {
    const worker = new Scene({ config: { max_retries: 0 } })
      .planned(task("a"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "error", WITHDRAWN);
    expect(worker.moved).toEqual(["a: in_progress -work_stopped-> blocked (agent_failed)"]);
    const manager = new Scene().planned(task("a"));
    for (const scene of [worker.says("a", "error", WITHDRAWN), manager.says("a", "error", WITHDRAWN)]) {
      expect(scene.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error agent_failed" } });
    }
  });

  test.each([
    "cancelled",
    "needs_input",
    "no_progress",
    "plan_rejected",
    "replanned",
    "result_rejected",
    "waiting_for_dependency",
  ])("is not believed that it was %s", (code) => {
    const scene = instructed().says("a", "error", { code, message: "Nothing to see here" });
    expect(scene.status("a")).toBe("blocked (agent_failed)");
  });
});

describe("an answer that is not the sender's to give", () => {
  test.each([
    ["a worker", "plan", { tasks: [task("evil")] }, "a"],
    ["a worker", "review", { decision: "approved" }, "a"],
    ["a worker", "instruction", INSTRUCTION, "a"],
    ["a worker", "instruction_proposal", INSTRUCTION, "a"],
    ["a worker", "clarification", asking("q"), "a"],
    ["a worker", "opinion", { round: 1, position: "No" }, "a"],
    ["a manager", "verdict", { conclusion: "No" }, "b"],
    ["a manager", "report", COMPLETED, "b"],
    ["a manager", "review", { decision: "approved" }, "b"],
    ["a manager", "plan", { tasks: [task("a")] }, "b"],
  ] as const)("%s: %s is refused, moves nothing, and the same message is put again", (_, type, payload, id) => {
    const scene = instructed().admit(id);
    const before = [scene.status("a"), scene.status("b"), scene.open];
    scene.says(id, type, payload);
    expect([scene.last.disposition, scene.refused, scene.moved]).toEqual(["refused", "not_permitted", []]);
    expect([scene.status("a"), scene.status("b"), scene.open]).toEqual(before);
    expect(scene.draft(id).context["refused"]).toMatchObject([{ payload_type: type, code: "not_permitted" }]);
  });
});
