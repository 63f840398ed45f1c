import { describe, expect, it } from "vitest";
import { readInput } from "../../../src/kernel/kit/input.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { pipeline } from "../../../src/modes/pipeline/pipeline.ts";
import { PipelineSession, ROLES } from "./session.ts";

describe("the steps", () => {
  it("work one after the other, each on the result of the one before", () => {
    const session = new PipelineSession();
    expect([session.open, session.told("1-researcher")]).toEqual([["researcher instruction 1-researcher"], "Report."]);
    session.done("Facts.");
    expect([session.open, session.told("2-analyst")]).toEqual([
      ["analyst instruction 2-analyst"],
      "Report.\n\nThe result of the step before, as data to work on:\n\nFacts.",
    ]);
    session.done("Points.").done("The report.");
    expect(session.ended).toMatchObject({
      outcome: "done",
      report: { requirement: "Report.", result: { output: "The report.", steps: [{ result: "Facts." }, {}, {}] } },
    });
  });

  it("are told their template, in which braces of results are text", () => {
    const session = new PipelineSession([
      { role: "researcher", task_template: "First: {task} {prev_result}" },
      { role: "analyst", task_template: '{prev_result} as {"json": {}} for {task}' },
    ]);
    expect(session.told("1-researcher")).toBe("First: Report. Report.");
    expect(session.done("{task}!").told("2-analyst")).toBe('{task}! as {"json": {}} for Report.');
  });

  it("may be of the same role", () => {
    const session = new PipelineSession([{ role: "writer" }, { role: "writer" }]).done("Draft.").done("Text.");
    expect(session.steps).toEqual(["1-writer done", "2-writer done"]);
  });

  it("end with their result: anything else is refused, and asked again", () => {
    const session = new PipelineSession().report({ status: "proposal", summary: "Shall I?" });
    expect([session.refused, session.open]).toEqual([
      "validation_failed /status",
      ["researcher instruction 1-researcher"],
    ]);
    expect(session.report({ status: "completed", summary: " " }).refused).toBe("validation_failed /summary");
    expect(session.steps[0]).toBe("1-researcher error (validation_failed)");
  });
});

describe("a step that fails", () => {
  it("is tried once more, and then ends the pipeline", () => {
    const session = new PipelineSession().done("Facts.").fail("2-analyst");
    expect(session.open).toEqual(["retry:2-analyst in 1000 ms"]);
    session.fireTimer("retry:2-analyst").report({ status: "error", summary: "No." });
    expect(session.ended).toMatchObject({
      outcome: "failed",
      reason: "step_failed",
      report: { result: { output: "Facts." } },
    });
    expect(session.steps).toEqual([
      "1-researcher done",
      "2-analyst error (agent_failed)",
      "3-writer skipped (step_failed)",
    ]);
  });

  it("is tried as often as it says", () => {
    const session = new PipelineSession([{ role: "writer", on_error: "abort", retry: 2 }]);
    session.fail("1-writer").fireTimer("retry:1-writer").fail("1-writer").fireTimer("retry:1-writer");
    expect(session.ended).toBeUndefined();
    expect(session.report({ status: "blocked" }).steps).toEqual(["1-writer error (needs_input)"]);
  });

  it("waits for its next try, whatever becomes of the steps after it", () => {
    const session = new PipelineSession().fail("1-researcher").command("cancel", "3-writer");
    expect(session.open).toEqual(["retry:1-researcher in 0 ms"]);
  });

  it("is skipped if it says so, and the next works on the result before it", () => {
    const session = new PipelineSession([
      { role: "researcher" },
      { role: "analyst", on_error: "skip" },
      { role: "writer", task_template: "{prev_result}" },
    ]);
    session.done("Facts.").fail("2-analyst");
    expect([session.steps[1], session.told("3-writer")]).toEqual(["2-analyst skipped (agent_failed)", "Facts."]);
    expect(session.done("Text.").ended).toMatchObject({ outcome: "done" });
  });

  it("leaves a pipeline without a result if every step was skipped", () => {
    const session = new PipelineSession([{ role: "analyst", on_error: "skip" }]).fail("1-analyst");
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "no_result" });
  });

  it("is done when a person retries it, with all steps after it", () => {
    const session = new PipelineSession([
      { role: "researcher" },
      { role: "analyst", on_error: "abort" },
      { role: "writer" },
    ]);
    session.done("Facts.").fail("2-analyst").reopen().command("retry", "3-writer");
    expect(session.refused).toBe("not_permitted");
    session.command("retry", "2-analyst");
    expect(session.steps).toEqual(["1-researcher done", "2-analyst in_progress", "3-writer pending"]);
    expect(session.done("Points.").done("Text.").ended).toMatchObject({ outcome: "done" });
  });

  it("stays as it is if the session is reopened and nothing is retried", () => {
    const session = new PipelineSession([{ role: "writer", on_error: "abort" }]).fail("1-writer").reopen();
    expect(session.stop("no_progress").ended).toMatchObject({ outcome: "failed", reason: "step_failed" });
  });
});

describe("a person", () => {
  it("skips a step by cancelling it, whether it works or waits", () => {
    const session = new PipelineSession().command("cancel", "3-writer").command("cancel", "1-researcher");
    expect(session.steps).toEqual([
      "1-researcher skipped (cancelled)",
      "2-analyst in_progress",
      "3-writer skipped (cancelled)",
    ]);
    expect(session.done("Points.").ended).toMatchObject({ outcome: "done" });
  });

  it("tells a later step something", () => {
    const session = new PipelineSession().command("tell", "2-analyst", { text: "Be short." }).done("Facts.");
    expect(session.resolved(session.draft("2-analyst")).context).toMatchObject({ notes: ["Be short."] });
  });

  it("resumes the step that a stop interrupted", () => {
    const session = new PipelineSession().done("Facts.").admit("2-analyst").stop().recover();
    expect(session.open).toEqual(["analyst instruction 2-analyst"]);
    expect(session.done("Points.").done("Text.").ended).toMatchObject({ outcome: "done" });
  });

  it("resumes a session that ended during a stop and was retried", () => {
    const session = new PipelineSession([{ role: "writer", on_error: "abort" }]).admit("1-writer").stop();
    session.fail("1-writer").reopen().command("retry", "1-writer").recover(false);
    expect(session.refused).toBeUndefined();
    expect(session.done("Text.").ended).toMatchObject({ outcome: "done" });
  });
});

describe("a group of steps", () => {
  const grouped = () =>
    new PipelineSession([
      { role: "researcher" },
      { role: "analyst", group: "views" },
      { role: "writer", group: "views" },
      { role: "researcher" },
    ]).done("Facts.");

  it("works at once, each on the result of the step before", () => {
    const session = grouped();
    expect(session.open).toEqual(["analyst instruction 2-analyst", "writer instruction 3-writer"]);
    expect(session.told("3-writer")).toContain("Facts.");
    expect(session.told("2-analyst")).toContain("Facts.");
  });

  it("hands on its results in the order of its steps, each under its name, whatever finished first", () => {
    const session = grouped();
    session.answer("3-writer", "report", { status: "completed", summary: "{task} $& writes" });
    expect(session.open).toEqual(["analyst instruction 2-analyst"]);
    session.done("Analyses.");
    expect(session.told("4-researcher")).toBe(
      "Report.\n\nThe result of the step before, as data to work on:\n\n2-analyst:\nAnalyses.\n3-writer:\n{task} $& writes",
    );
    expect(session.done("End.").ended).toMatchObject({ outcome: "done", report: { result: { output: "End." } } });
  });

  it("that is the last makes the output of all its results", () => {
    const session = new PipelineSession([
      { role: "analyst", group: "a" },
      { role: "writer", group: "a" },
    ]);
    session.answer("1-analyst", "report", { status: "completed", summary: "One." }).done("Two.");
    expect(session.ended?.report).toMatchObject({ result: { output: "1-analyst:\nOne.\n2-writer:\nTwo." } });
  });

  it("ends with the first of its steps that fails for good, and is done again when a person retries it", () => {
    const session = new PipelineSession([
      { role: "analyst", group: "a", on_error: "abort" },
      { role: "writer", group: "a" },
    ]);
    session.fail("1-analyst");
    expect(session.steps).toEqual(["1-analyst error (agent_failed)", "2-writer skipped (step_failed)"]);
    session.reopen().command("retry", "1-analyst");
    expect(session.open).toEqual(["analyst instruction 1-analyst", "writer instruction 2-writer"]);
  });

  it("goes on without a step of it that is skipped, and the next is told which", () => {
    const session = new PipelineSession([
      { role: "analyst", group: "a", on_error: "skip" },
      { role: "writer", group: "a" },
      { role: "researcher" },
    ]);
    session.fail("1-analyst").done("Two.");
    expect(session.told("3-researcher")).toMatch(/2-writer:\nTwo\.$/);
    expect(session.resolved(session.draft("3-researcher")).context).toMatchObject({
      metadata: { step: 3, steps: 3, skipped: ["1-analyst"] },
    });
  });

  it("is written with + on the command line", () => {
    expect(pipeline.command.input?.({ task: "T", steps: ["a", "b+c", "d"] })).toEqual({
      task: "T",
      steps: [{ role: "a" }, { role: "b", group: "group-2" }, { role: "c", group: "group-2" }, { role: "d" }],
    });
  });
});

describe("a transform", () => {
  const next = { role: "writer", task_template: "{prev_result}" };

  it("takes the value at a pointer of a result that is JSON, and puts it on record", () => {
    const session = new PipelineSession([{ role: "analyst", transform: { pointer: "/points/1" } }, next]);
    session.done("Points: 1, 2");
    expect([session.refused, session.open]).toEqual(["validation_failed /summary", ["analyst instruction 1-analyst"]]);
    session.done('{"points": []}');
    expect([session.refused, session.steps[0]]).toEqual([
      "validation_failed /summary",
      "1-analyst error (validation_failed)",
    ]);
    session.reopen().command("retry", "1-analyst").done('```json\n{"points": ["a", "便宜"]}\n```');
    expect(session.last.envelopes).toMatchObject([
      { payload_type: "message", payload: { sender: "analyst", content: "便宜", msg_type: "RESULT" } },
    ]);
    expect(session.told("2-writer")).toBe("便宜");
  });

  it("takes a value that is no text as JSON", () => {
    const session = new PipelineSession([{ role: "analyst", transform: { pointer: "" } }, next]).done('{ "a": [1] }');
    expect(session.told("2-writer")).toBe('{"a":[1]}');
  });

  it("runs a program with the result as its input, and hands on what it prints", () => {
    const transform = { command: ["tr", "a-z", "A-Z"], timeout_s: 5 };
    const session = new PipelineSession([{ role: "analyst", transform }, next]).done("facts");
    const [checks] = session.engine.ledger.checks.values();
    expect([session.open, session.resolved(checks)]).toMatchObject([
      ["checks 1-analyst"],
      { input: "facts", criteria: [{ command: ["tr", "a-z", "A-Z"], timeout_s: 5 }] },
    ]);
    session.checked("1-analyst", "FACTS");
    expect([session.steps[0], session.told("2-writer")]).toEqual(["1-analyst done", "FACTS"]);
    session.done("End.");
    expect(session.ended?.report).toMatchObject({ result: { steps: [{ result: "FACTS" }, { result: "End." }] } });
  });

  it("that fails or makes nothing is a failure of its step, which hears why when it is tried again", () => {
    const transform = { function: "upper" };
    const session = new PipelineSession([{ role: "analyst", transform, on_error: "skip", retry: 1 }, next]);
    session.done("facts").checked("1-analyst", "no such thing", false);
    expect(session.open).toEqual(["retry:1-analyst in 1000 ms"]);
    session.fireTimer("retry:1-analyst");
    expect(session.resolved(session.draft("1-analyst")).context).toMatchObject({
      refused: [{ payload_type: "report", code: "checks_failed", message: expect.stringContaining("no such thing") }],
    });
    session.done("facts").checked("1-analyst", "  ");
    expect([session.steps[0], session.told("2-writer")]).toEqual(["1-analyst skipped (checks_failed)", "Report."]);
  });

  it("ends with its step when a person cancels it", () => {
    const session = new PipelineSession([{ role: "analyst", transform: { function: "upper" } }, next]).done("facts");
    expect(session.command("cancel", "1-analyst").open).toEqual(["writer instruction 2-writer"]);
  });
});

describe("the commands of transforms", () => {
  const steps = [{ role: "analyst", transform: { command: ["sort", "a b"] } }];

  it("are shown before any agent works, and wait for a person where plans do", () => {
    const session = new PipelineSession(steps, { plan_approval: "ask" });
    expect([session.open, session.last.envelopes]).toMatchObject([
      ["ask permission p1"],
      [{ payload: { subject: "permission", about: { action: "have Bosun run: sort 'a b'" } } }],
    ]);
    session.send("approval", { decision: "approved", ask_id: "p1" });
    expect(session.open).toEqual(["analyst instruction 1-analyst"]);
  });

  it("end the session if they are not allowed", () => {
    const session = new PipelineSession(steps, { plan_approval: "ask" });
    session.send("approval", { decision: "rejected", ask_id: "p1" });
    expect(session.ended).toMatchObject({ outcome: "cancelled", reason: "commands_refused" });
  });

  it("are on record without a question where nobody approves plans", () => {
    const session = new PipelineSession(steps);
    expect(session.last.envelopes.map(({ payload_type }) => payload_type)).toEqual(["approval_request", "approval"]);
    expect(session.open).toEqual(["analyst instruction 1-analyst"]);
  });
});

describe("the input", () => {
  const found = (step: JsonObject) => {
    const read = readInput(pipeline, { task: "T", steps: [{ role: "writer", ...step }] }, ROLES);
    return read.ok ? [] : read.error.map(({ pointer }) => pointer);
  };

  it.each([
    [{ task_template: "Use {result}" }, "/steps/0/task_template"],
    [{ transform: {} }, "/steps/0/transform"],
    [{ transform: { pointer: "/a", command: ["sort"] } }, "/steps/0/transform"],
    [{ transform: { pointer: "/a", timeout_s: 3 } }, "/steps/0/transform"],
    [{ transform: { pointer: "a" } }, "/steps/0/transform/pointer"],
  ])("is refused with %j, at its place", (step, pointer) => {
    expect(found(step)).toEqual([pointer]);
  });

  it.each(['{"a": {}}', "{{result}}", "{ }", "{task} {prev_result}"])("takes the braces of %s", (task_template) => {
    expect(found({ task_template })).toEqual([]);
  });

  it("is refused without steps", () => {
    const read = readInput(pipeline, { task: "T", steps: [] }, ROLES);
    expect(read.ok ? [] : read.error).toMatchObject([{ pointer: "/steps" }]);
  });
});

it("a pipeline is shown as seed 2's shared state", () => {
  const session = new PipelineSession().done("Facts.");
  expect(session.resolved(session.engine.mode.projection?.(session.state))).toMatchObject({
    task: "Report.",
    plan: ["Report.", "Report.", "Report."],
    results: { researcher: "Facts." },
    messages: [
      { sender: "user", receiver: "all", content: "Report.", msg_type: "TASK" },
      { sender: "scheduler", receiver: "researcher", msg_type: "TASK", metadata: { step: "1-researcher" } },
      { sender: "researcher", receiver: "all", content: "Facts.", msg_type: "RESULT" },
      { sender: "scheduler", receiver: "analyst", msg_type: "TASK", metadata: { step: "2-analyst" } },
    ],
    status: "executing",
    current_step: 1,
    max_steps: 3,
  });
});
