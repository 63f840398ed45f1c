import { describe, expect, it, test } from "vitest";
import { Scene } from "./rig.ts";
import { APPROVED, asking, COMPLETED, INSTRUCTION, task } from "./words.ts";

const PROPOSAL = { summary: "This way?" };
const PROPOSED = { status: "proposal", summary: "Or that way" } as const;

describe("a ticket from plan to done", () => {
  it("is put to the manager, instructed, done, reviewed and archived with the session", () => {
    const scene = new Scene().requirement();
    expect(scene.open).toEqual(["manager requirement"]);
    scene.says(undefined, "plan", { tasks: [task("a")] });
    expect(scene.moved).toEqual(["a: nothing -created-> pending"]);
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket a"]]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.moved).toEqual(["a: pending -instruction_received-> in_progress"]);
    expect(scene.open).toEqual(["worker instruction a"]);
    scene.says("a", "report", COMPLETED);
    expect(scene.moved).toEqual(["a: in_progress -report_completed-> awaiting_review"]);
    expect(scene.open).toEqual(["manager review_request a"]);
    scene.says("a", "review", APPROVED);
    expect(scene.moved).toEqual(["a: awaiting_review -approved-> done"]);
    expect([scene.phase, scene.open]).toEqual(["closed", []]);
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("begins when the last of its dependencies is done, and not before", () => {
    const scene = new Scene().planned(task("a"), task("b"), task("c", { dependencies: ["a", "b"] }));
    expect(scene.open).toEqual(["manager ticket a", "manager ticket b"]);
    for (const id of ["a", "b"]) scene.says(id, "instruction", INSTRUCTION).says(id, "report", COMPLETED);
    scene.says("a", "review", APPROVED);
    expect(scene.open).toEqual(["manager review_request b"]);
    scene.says("b", "review", APPROVED);
    expect(scene.open).toEqual(["manager ticket c"]);
  });

  it("begins several at once in the order of the plan", () => {
    const scene = new Scene().planned(
      task("z"),
      task("c", { dependencies: ["z"] }),
      task("a", { dependencies: ["z"] }),
    );
    scene.says("z", "instruction", INSTRUCTION).says("z", "report", COMPLETED).says("z", "review", APPROVED);
    expect(scene.last.step.commands).toMatchObject([
      { do: "offer_turn", subject: "c" },
      { do: "offer_turn", subject: "a" },
    ]);
  });

  it("goes straight to a worker when the plan gave its instruction", () => {
    const scene = new Scene().planned(task("a", { instruction: INSTRUCTION }));
    expect([scene.status("a"), scene.open]).toEqual(["pending", ["worker instruction a"]]);
    scene.admit("a");
    expect(scene.moved).toEqual(["a: pending -instruction_received-> in_progress"]);
  });

  it("goes to the role or the capability it is assigned to, and keeps that seat while it is put to the manager", () => {
    const scene = new Scene().planned(
      task("a", { assigned_to: { role_id: "eye" } }),
      task("b", { assigned_to: { capability: "coding" } }),
    );
    expect(scene.last.step.commands).toMatchObject([
      { do: "set_timer", timer_id: "notice" },
      { do: "offer_turn", subject: "a", seat: { type: "manager" }, reserve: { type: "worker", role_id: "eye" } },
      { do: "offer_turn", subject: "b", seat: { type: "manager" }, reserve: { type: "worker", capability: "coding" } },
    ]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.open).toEqual(["eye instruction a", "manager ticket b"]);
    scene.admit("a");
    expect(scene.ticket("a").owner).toBe("eye");
  });

  it("counts an attempt for each time a worker takes the instruction, and none for what is put to the manager", () => {
    const scene = new Scene().planned(task("a")).says("a", "instruction", INSTRUCTION);
    expect(scene.ticket("a").attempt).toBe(0);
    scene.admit("a");
    expect(scene.ticket("a").attempt).toBe(1);
    const attempt = () => [...scene.engine.ledger.turns.values()][0]?.attempt;
    scene.says("a", "report", COMPLETED);
    expect(attempt()).toBe(1);
    scene.says("a", "review", { decision: "changes_requested" });
    expect([attempt(), scene.ticket("a").attempt]).toEqual([2, 1]);
    scene.says("a", "report", COMPLETED);
    expect([attempt(), scene.ticket("a").attempt]).toEqual([2, 2]);
  });

  it("asks in the order error, review, report, instruction, ticket, so that what is nearly done is finished first", () => {
    const scene = new Scene().planned(...["a", "b", "c", "d", "e"].map((id) => task(id)));
    for (const id of ["b", "c", "d", "e"]) scene.says(id, "instruction", INSTRUCTION);
    scene.says("c", "report", { status: "blocked", questions: asking("q").questions });
    scene.says("d", "report", COMPLETED).says("e", "report", { status: "blocked" });
    const byPriority = [...scene.engine.ledger.turns.values()].toSorted((a, b) => a.priority - b.priority);
    expect(byPriority.map((turn) => turn.subject)).toEqual(["e", "d", "c", "b", "a"]);
  });
});

describe("what makes a ticket a discussion", () => {
  test.each([
    ["a task without risks", {}, "risk", false],
    ["a risk", { risks: ["loses data"] }, "risk", true],
    ["a risk given as an object", { risks: [{ text: "loses data" }] }, "risk", true],
    ["an expected output that sounds risky", { expected_outputs: ["a database migration"] }, "risk", true],
    [
      "such an output in capitals, as an object",
      { expected_outputs: [{ text: "DEPLOYMENT of the site" }] },
      "risk",
      true,
    ],
    ["an output that only contains a risky word", { expected_outputs: ["a droplet counter"] }, "risk", false],
    ["proposal_needed", { proposal_needed: true }, "risk", true],
    ["a risk that the plan says needs none", { risks: ["small"], proposal_needed: false }, "risk", false],
    ["nothing, where the configuration always discusses", {}, "always", true],
    ["a risk, where the configuration never discusses", { risks: ["loses data"] }, "never", false],
    ["proposal_needed, where the configuration never discusses unasked", { proposal_needed: true }, "never", true],
  ] as const)("%s", (_, more, proposal, discuss) => {
    const scene = new Scene({ config: { proposal } }).planned(task("a", more));
    expect(scene.draft("a").discuss).toBe(discuss);
    scene.admit("a");
    expect(scene.moved).toEqual(discuss ? ["a: pending -proposal_needed-> discussing"] : []);
  });
});

describe("a discussion", () => {
  const discussed = () => new Scene().planned(task("a", { risks: ["breaks"] })).admit("a");

  it("goes by proposal and counter-proposal to the final instruction", () => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL);
    expect([scene.moved, scene.open]).toEqual([[], ["worker instruction_proposal a"]]);
    scene.says("a", "report", PROPOSED);
    expect([scene.status("a"), scene.open]).toEqual(["discussing", ["manager report a"]]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.moved).toEqual(["a: discussing -instruction_finalized-> in_progress"]);
    expect(scene.open).toEqual(["worker instruction a"]);
  });

  it("keeps proposal and answer in the ticket's history", () => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL);
    const proposal = scene.sequence;
    scene.says("a", "report", PROPOSED);
    expect(scene.ticket("a").history).toEqual([proposal, scene.sequence]);
  });

  it("is over when the manager answers with the instruction at once", () => {
    expect(discussed().says("a", "instruction", INSTRUCTION).moved).toEqual([
      "a: discussing -instruction_finalized-> in_progress",
    ]);
  });

  it("begins when the manager proposes unasked", () => {
    const scene = new Scene().planned(task("a")).says("a", "instruction_proposal", PROPOSAL);
    expect(scene.moved).toEqual(["a: pending -proposal_needed-> discussing"]);
  });

  it("lets the worker ask instead of proposing", () => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL);
    scene.says("a", "report", { status: "blocked", questions: asking("q").questions });
    expect([scene.status("a"), scene.open]).toEqual(["discussing", ["manager report a"]]);
  });

  test.each([
    ["error", { status: "error" }],
    ["error, with questions", { status: "error", questions: asking("q").questions }],
    ["blocked", { status: "blocked" }],
  ])("goes to the manager as trouble when the worker answers %s", (_, report) => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL).says("a", "report", report);
    expect(scene.moved).toEqual(["a: discussing -work_stopped-> blocked (agent_failed)"]);
    expect([scene.status("a"), scene.open]).toEqual(["blocked (agent_failed)", ["manager error a"]]);
  });

  it("is not ended by a worker's word that it cannot: somebody is asked again", () => {
    const cannot = { code: "conflict", message: "I cannot" };
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL).says("a", "error", cannot);
    expect([scene.status("a"), scene.open]).toEqual(["discussing", ["retry:a in 1000 ms"]]);
    expect(scene.fires("retry:a").open).toEqual(["worker instruction_proposal a"]);
  });

  it("tries a worker again that fails in it, and then goes to the manager, who may instruct after all", () => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL).fails("a", "timeout");
    expect([scene.status("a"), scene.open]).toEqual(["discussing", ["retry:a in 1000 ms"]]);
    scene.fires("retry:a").fails("a", "timeout").fires("retry:a").fails("a", "timeout");
    expect(scene.moved).toEqual(["a: discussing -work_stopped-> blocked (timeout)"]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
  });

  it("does not take work for a proposal", () => {
    const scene = discussed().says("a", "instruction_proposal", PROPOSAL).says("a", "report", COMPLETED);
    expect([scene.refused, scene.status("a"), scene.open]).toEqual([
      "validation_failed /status",
      "discussing",
      ["worker instruction_proposal a"],
    ]);
  });
});
