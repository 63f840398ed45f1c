import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { AGENT_PAYLOAD_TYPES, PAYLOAD_TYPES } from "../../../src/protocol/payload.ts";
import { permits, type Sender } from "../../../src/protocol/rights.ts";
import { DebateRig, endOf, stampOf } from "./rig.ts";

function opened(input: JsonObject = {}): DebateRig {
  const rig = new DebateRig();
  rig.open(input);
  return rig;
}

describe("what a person tells", () => {
  it("reaches every turn that is admitted after it, the judge's too", () => {
    const rig = opened({ rounds: 1 });
    rig.begin("python");
    rig.command({ command: "tell", text: "Mind the team of four." });
    expect(rig.request("go").context.notes).toEqual(["Mind the team of four."]);
    rig.round();
    rig.command({ command: "tell", text: "And the budget." });
    expect(rig.request("judge").context.notes).toEqual(["Mind the team of four.", "And the budget."]);
  });

  it("reaches one debater alone if it is meant for one", () => {
    const rig = opened();
    rig.command({ command: "tell", ticket_id: "go", text: "Be brief." });
    rig.command({ command: "tell", text: "Be fair." });
    rig.command({ command: "tell", ticket_id: "go", text: "Be kind." });
    expect(rig.request("go").context.notes).toEqual(["Be brief.", "Be fair.", "Be kind."]);
    expect(rig.request("python").context.notes).toEqual(["Be fair."]);
  });

  it.each([
    ["somebody who is not there", { command: "tell", ticket_id: "rust", text: "Hello." }],
    ["nothing", { command: "tell" }],
    ["a retry", { command: "retry", ticket_id: "go" }],
  ])("is refused if it is %s", (_, payload) => {
    const rig = opened();
    const before = structuredClone(rig.engine.state);
    expect(rig.command(payload)).toMatchObject({
      disposition: "refused",
      step: { refused: { code: "not_permitted" } },
    });
    expect(rig.engine.state).toEqual(before);
  });
});

describe("a word to one debater", () => {
  it.each([
    ["has answered in the last round", ["python", "go"]],
    ["has been heard by the judge", ["python", "go", "architect"]],
  ])("is refused if it %s, since nobody would read it", (_, answering) => {
    const rig = opened({ rounds: 1 });
    for (const id of answering) rig.opinion(id, "this");
    const told = rig.command({ command: "tell", ticket_id: "go", text: "Be brief." });
    expect(told).toMatchObject({ disposition: "refused", step: { refused: { code: "not_permitted" } } });
    expect(rig.debater("go").notes).toBeUndefined();
  });

  it("is taken in the last round by one that has not answered yet, since it may be asked again", () => {
    const rig = opened({ rounds: 1 });
    expect(rig.command({ command: "tell", ticket_id: "go", text: "Be brief." }).disposition).toBe("applied");
  });

  it("is refused while the judge concludes over a debate that came to its end before its last round", () => {
    const rig = opened({ rounds: 3 });
    for (const ticket_id of ["python", "architect"]) rig.command({ command: "cancel", ticket_id });
    rig.opinion("go", "this");
    expect(rig.engine.state.debate).toMatchObject({ argued_by: "one_left", round: 1 });
    expect(rig.command({ command: "tell", ticket_id: "go", text: "Be brief." }).disposition).toBe("refused");
  });

  it("is refused where everybody was dropped while the judge concludes, and names who is left", () => {
    const rig = opened({ rounds: 1 });
    rig.round();
    for (const ticket_id of ["python", "go", "architect"]) rig.command({ command: "cancel", ticket_id });
    const told = rig.command({ command: "tell", ticket_id: "go", text: "Be brief." });
    expect(told.step.refused).toMatchObject({ hint: "nobody is left: the judge concludes" });
  });

  it("waits for the next round of one that has answered in this one", () => {
    const rig = opened({ rounds: 2 });
    rig.opinion("go", "this");
    rig.command({ command: "tell", ticket_id: "go", text: "Be brief." });
    for (const id of ["python", "architect"]) rig.opinion(id, "that");
    expect(rig.request("go").context.notes).toEqual(["Be brief."]);
  });
});

describe("cancel", () => {
  it("drops whoever still owed an answer, and keeps what the others hold", () => {
    const rig = opened();
    rig.opinion("python", "this");
    rig.begin("go");
    rig.fail("architect");
    const { report } = endOf(rig, rig.command({ command: "cancel" }));
    const dropped = { status: "dropped", reason: "cancelled" };
    expect(report.result).toMatchObject({
      debaters: [
        { role_id: "python", status: "answered", opinion: { position: "this" } },
        { role_id: "go", ...dropped },
        { role_id: "architect", ...dropped },
      ],
    });
  });

  it.each([
    ["while debaters answer", () => opened()],
    [
      "while the judge is asked",
      () => {
        const rig = opened({ rounds: 1 });
        rig.round();
        return rig;
      },
    ],
    [
      "while somebody waits for a timer",
      () => {
        const rig = opened();
        rig.fail("go");
        return rig;
      },
    ],
    [
      "when the session was stopped",
      () => {
        const rig = opened();
        rig.stop("signal");
        return rig;
      },
    ],
  ])("closes the debate %s, with everything withdrawn", (_, make) => {
    const rig = make();
    const done = rig.command({ command: "cancel" });
    expect(endOf(rig, done)).toMatchObject({ outcome: "cancelled", reason: "cancelled" });
    expect(rig.engine.ledger).toMatchObject({ turns: new Map(), timers: new Map() });
  });

  it("of one debater drops it, and the round ends if it was the last one awaited", () => {
    const rig = opened();
    rig.opinion("python", "p");
    rig.opinion("go", "g");
    const withdrawn = rig.turnOf("architect").turn_id;
    const { step } = rig.command({ command: "cancel", ticket_id: "architect" });
    expect(step.commands[0]).toEqual({ do: "withdraw_turn", turn_id: withdrawn, reason: "cancelled" });
    expect(rig.debater("architect")).toMatchObject({ status: "dropped", reason: "cancelled" });
    expect(rig.engine.state.debate?.round).toBe(2);
    expect(rig.command({ command: "cancel", ticket_id: "architect" }).disposition).toBe("refused");
  });

  it("of all debaters leaves the judge, who was put what they said, to conclude", () => {
    const rig = opened({ rounds: 1 });
    rig.round();
    for (const ticket_id of ["python", "go", "architect"]) rig.command({ command: "cancel", ticket_id });
    expect(rig.phase).toBe("judging");
    expect(endOf(rig, rig.answer("judge", "verdict", { conclusion: "Go." }))).toMatchObject({ outcome: "done" });
  });

  it("of a debater that waits for its next try takes its timer back", () => {
    const rig = opened();
    rig.fail("go");
    const { step } = rig.command({ command: "cancel", ticket_id: "go" });
    expect(step.commands).toEqual([{ do: "clear_timer", timer_id: "retry:go" }]);
  });

  it("of one debater while the session is stopped lets the debate go on when it is resumed", () => {
    const rig = opened();
    rig.opinion("python", "p");
    rig.opinion("go", "g");
    rig.stop("signal");
    rig.command({ command: "cancel", ticket_id: "architect" });
    rig.recover(true);
    expect(rig.engine.state.debate).toMatchObject({ phase: "debating", round: 2 });
  });
});

describe("stopping and going on", () => {
  it.each([
    ["signal", "stopped"],
    ["limit", "stopped"],
    ["waiting", "waiting"],
  ])("by %s leaves the debate %s, and resuming goes on where it was", (reason, phase) => {
    const rig = opened();
    rig.begin("go");
    rig.stop(reason);
    expect(rig.phase).toBe(phase);
    rig.stop(reason);
    rig.recover(true);
    expect(rig.phase).toBe("debating");
    expect(rig.turnOf("go")).toMatchObject({ status: "offered", run: 2 });
  });

  it("by a dead scheduler repeats what was open and changes nothing else", () => {
    const rig = opened();
    rig.round();
    rig.opinion("go", "g");
    rig.begin("python");
    const before = structuredClone(rig.engine.state);
    rig.recover(false);
    expect(rig.engine.state).toEqual(before);
    expect(rig.turnOf("python")).toMatchObject({ status: "offered", run: 2 });
    expect(rig.turnOf("architect")).toMatchObject({ status: "offered", run: 1 });
  });

  it("by a dead scheduler after an orderly stop goes on too", () => {
    const rig = opened();
    rig.stop("signal");
    rig.recover(true);
    expect(rig.recover(false).disposition).toBe("applied");
    expect(rig.phase).toBe("debating");
  });

  it("without anything to go on with ends it as failed", () => {
    const rig = opened();
    expect(endOf(rig, rig.stop("no_progress"))).toMatchObject({ outcome: "failed", reason: "no_progress" });
  });
});

describe("a debate that has ended", () => {
  it("is not reopened: it is refused and closed again as it was", () => {
    const rig = opened({ rounds: 1 });
    rig.round();
    const first = endOf(rig, rig.answer("judge", "verdict", { conclusion: "Go." }));
    const again = rig.reopen();
    expect(again.step.refused).toMatchObject({ code: "not_permitted" });
    expect(endOf(rig, again)).toEqual(first);
  });

  it("takes nothing more", () => {
    const rig = opened();
    rig.command({ command: "cancel" });
    expect(rig.command({ command: "tell", text: "Wait." }).disposition).toBe("late");
  });
});

describe("the opening", () => {
  it.each<[string, JsonObject, string]>([
    ["no topic", { topic: "  " }, "has no topic"],
    ["one debater", { debaters: ["go"] }, "needs 2 to 100 debaters"],
    ["no list of debaters", { debaters: "go" }, "needs 2 to 100 debaters"],
    ["101 debaters", { debaters: Array.from({ length: 101 }, (_, index) => `r${index}`) }, "needs 2 to 100 debaters"],
    ["the same debater twice", { debaters: ["go", "python", "go"] }, 'names the debater "go" twice'],
    ["an unknown debater", { debaters: ["go", "rust"] }, 'names the debater "rust"'],
    ["a worker as debater", { debaters: ["go", "hand"] }, 'names the debater "hand"'],
    ["a manager as debater", { debaters: ["go", "boss"] }, 'names the debater "boss"'],
    ["no judge", { judge: undefined }, "has no judge"],
    ["an unknown judge", { judge: "nobody" }, 'names the judge "nobody"'],
    ["a worker as judge", { judge: "hand" }, 'names the judge "hand"'],
    ["a debater as judge", { judge: "go" }, 'lets "go" judge itself'],
    ["no rounds", { rounds: 0 }, "cannot have 0 rounds"],
    ["21 rounds", { rounds: 21 }, "cannot have 21 rounds"],
    ["half a round", { rounds: 1.5 }, "cannot have 1.5 rounds"],
    ["another end", { until: "tired" }, 'cannot last until "tired"'],
    ["a field too many", { round: 3 }, 'has no field "round"'],
    ["a debater that is no text", { debaters: ["go", 7] }, "needs 2 to 100 debaters"],
  ])("with %s is refused and closes the session as failed, saying why", (_, input, message) => {
    const rig = new DebateRig();
    const done = rig.open(input);
    expect(done.step.refused?.message).toContain(message);
    expect(done.step.refused?.hint).toBeTruthy();
    const report = { requirement: "", tickets: [], next_steps: [] };
    expect(endOf(rig, done)).toMatchObject({ outcome: "failed", reason: "invalid_input", report });
    expect(debateMode.view(rig.engine.state)).toEqual({ state: "closed", counts: {}, subjects: [] });
    expect(endOf(rig, rig.reopen())).toMatchObject({ outcome: "failed", reason: "invalid_input" });
  });

  it("without rounds and end has three rounds, all of them held", () => {
    const rig = opened({ rounds: undefined, until: undefined });
    expect(rig.engine.state.debate).toMatchObject({ rounds: 3, until: "rounds" });
  });

  it("may have twenty rounds", () => {
    expect(opened({ rounds: 20 }).engine.state.debate).toMatchObject({ rounds: 20, round: 1 });
  });

  it("is told who there is where a role does not fit", () => {
    const hint = new DebateRig().open({ debaters: ["go", "rust"] }).step.refused?.hint;
    expect(hint).toMatch(/^Fitting roles: .*python/);
    expect(hint).not.toContain("boss");
  });
});

describe("the rights", () => {
  const said = (sender: Sender, message: "requirement" | "report") =>
    PAYLOAD_TYPES.filter(
      (type) => permits(debateMode.rights, sender, type, message) && !permits(debateMode.rights, sender, type),
    );

  it("let a debater answer with an opinion, the judge with a verdict, and nobody else with either", () => {
    expect(said("participant", "requirement")).toEqual(["error", "opinion"]);
    expect(said("participant", "report")).toEqual(["error", "verdict"]);
    expect(said("manager", "report")).toEqual(["error", "verdict"]);
    expect(said("manager", "requirement")).toEqual(["error"]);
    for (const sender of ["worker", "user", "scheduler"] as const) {
      for (const message of ["requirement", "report"] as const) expect(said(sender, message)).toEqual([]);
    }
  });

  it.each([
    ["go", ["artifact_ref", "error", "opinion"]],
    ["judge", ["artifact_ref", "error", "verdict"]],
  ])("are kept by the rules too: whatever else %s sends is refused and the message put again", (role_id, allowed) => {
    const payload = { round: 1, position: "Go.", conclusion: "Go.", code: "internal", message: "No." };
    for (const type of AGENT_PAYLOAD_TYPES) {
      const rig = opened({ rounds: 1 });
      if (role_id === "judge") rig.round();
      const done = rig.answer(role_id, type, payload);
      expect({ type, disposition: done.disposition }).toEqual({
        type,
        disposition: allowed.includes(type) ? "applied" : "refused",
      });
      if (done.disposition === "refused") rig.begin(role_id);
    }
  });

  it("let nobody open a debate twice", () => {
    const rig = opened();
    rig.round();
    expect(rig.open().disposition).toBe("refused");
    expect(rig.engine.state.debate?.round).toBe(2);
  });

  it("take nothing that no turn is open for, a person's word neither", () => {
    const rig = opened();
    for (const [type, payload] of [
      ["requirement", { text: "Another topic." }],
      ["plan", { tasks: [] }],
      ["clarification_response", { answers: [], status: "complete" }],
    ] as const) {
      expect(rig.submit("user", type, payload)).toMatchObject({
        disposition: "refused",
        step: { refused: { code: "not_permitted" }, changes: [] },
      });
    }
  });

  it("let everybody report progress, which moves nothing", () => {
    const rig = opened();
    rig.begin("go");
    const done = rig.submit("go", "report", { status: "progress", summary: "Reading." }, stampOf(rig.turnOf("go")));
    expect(done).toMatchObject({ disposition: "applied", step: { changes: [], commands: [], effects: [] } });
    expect(rig.turnOf("go").status).toBe("open");
  });
});

describe("what others see", () => {
  it("is one subject a debater, in the order of the input, titled by what it holds", () => {
    const rig = opened();
    rig.opinion("go", "Go, for the goroutines.");
    rig.fail("architect", "timeout");
    const view = debateMode.view(rig.engine.state);
    expect(view.state).toBe("debating");
    expect(view.counts).toEqual({ answering: 1, answered: 1, waiting: 1 });
    expect(debateMode.view(opened().engine.state).counts).toEqual({ answering: 3 });
    expect(view.subjects.map(({ id, status, reason, attempt }) => ({ id, status, reason, attempt }))).toEqual([
      { id: "python", status: "answering", reason: undefined, attempt: 1 },
      { id: "go", status: "answered", reason: undefined, attempt: 1 },
      { id: "architect", status: "waiting", reason: "timeout", attempt: 2 },
    ]);
    expect(view.subjects.map(({ title }) => rig.resolve({ title }).title)).toEqual([
      "python",
      "Go, for the goroutines.",
      "architect",
    ]);
  });
});
