import { describe, expect, it } from "vitest";
import { PipelineSession } from "./session.ts";

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
