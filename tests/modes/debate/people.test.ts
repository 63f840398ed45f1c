import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { AGENT_PAYLOAD_TYPES, PAYLOAD_TYPES, type PayloadType } from "../../../src/protocol/payload.ts";
import { permits, type Sender } from "../../../src/protocol/rights.ts";
import { stampOf } from "../../../src/kernel/ledger.ts";
import { DEBATERS, DebateSession, JUDGE, judging } from "./session.ts";

const BRIEF = { text: "Be brief." };

describe("tell", () => {
  it("reaches every later turn, the judge's too", () => {
    const session = new DebateSession({ rounds: 1 }).admit("python").command("tell", undefined, { text: "One." });
    expect(session.asked("go").context.notes).toEqual(["One."]);
    session.everyOpinion().command("tell", undefined, { text: "Two." });
    expect(session.asked(JUDGE).context.notes).toEqual(["One.", "Two."]);
  });

  it("reaches only the debater that it names", () => {
    const session = new DebateSession().command("tell", "go", BRIEF).command("tell", undefined, { text: "Be fair." });
    session.command("tell", "go", { text: "Be kind." });
    expect(session.asked("go").context.notes).toEqual(["Be brief.", "Be fair.", "Be kind."]);
    expect(session.asked("python").context.notes).toEqual(["Be fair."]);
  });

  it("waits for the next round if its debater has answered in this one", () => {
    const session = new DebateSession().opinion("go").command("tell", "go", BRIEF).everyOpinion();
    expect(session.asked("go").context.notes).toEqual(["Be brief."]);
  });

  it("is taken in the last round until its debater has answered", () => {
    expect(new DebateSession({ rounds: 1 }).command("tell", "go", BRIEF).last.disposition).toBe("applied");
  });

  it.each<[string, () => DebateSession]>([
    ["has answered in the last round", () => new DebateSession({ rounds: 1 }).opinion("python").opinion("go")],
    ["is with the judge", () => judging()],
    [
      "is with the judge before the last round",
      () => new DebateSession({ rounds: 3 }).command("cancel", "python").command("cancel", "architect").opinion("go"),
    ],
  ])("is refused if its debater %s", (_, make) => {
    const session = make().command("tell", "go", BRIEF);
    expect([session.refused, session.debater("go").notes]).toEqual(["not_permitted", undefined]);
  });

  it("is refused if all debaters were dropped, and says that the judge concludes", () => {
    const session = judging();
    for (const id of DEBATERS) session.command("cancel", id);
    const { refused } = session.command("tell", "go", BRIEF).last.step;
    expect(refused?.hint).toContain("the judge concludes");
  });

  it.each<[string, string | undefined, JsonObject]>([
    ["names an unknown debater", "rust", BRIEF],
    ["has no text", undefined, {}],
  ])("is refused if it %s", (_, id, more) => {
    const session = new DebateSession().command("tell", id, more);
    expect([session.refused, session.last.changes]).toEqual(["not_permitted", []]);
  });
});

it("refuses a retry: a debate retries by itself", () => {
  expect(new DebateSession().command("retry", "go").refused).toBe("not_permitted");
});

describe("cancel", () => {
  it("drops the debaters that still owe an answer, and keeps what the others said", () => {
    const session = new DebateSession().opinion("python", "this").admit("go").fail("architect").command("cancel");
    const dropped = { status: "dropped", reason: "cancelled" };
    expect(session.ended?.report["result"]).toMatchObject({
      debaters: [
        { role_id: "python", status: "answered", opinion: { position: "this" } },
        { role_id: "go", ...dropped },
        { role_id: "architect", ...dropped },
      ],
    });
  });

  it.each([
    ["debaters answer", () => new DebateSession()],
    ["the judge is asked", () => judging()],
    ["a debater waits for a timer", () => new DebateSession().fail("go")],
    ["the session is stopped", () => new DebateSession().stop()],
  ])("closes the debate while %s", (_, make) => {
    const session = make().command("cancel");
    expect(session.ended).toMatchObject({ outcome: "cancelled", reason: "cancelled" });
    expect(session.open).toEqual([]);
  });

  it("of one debater drops it, and ends the round if it was the last one awaited", () => {
    const session = new DebateSession().opinion("python").opinion("go");
    const { turn_id } = session.turn("architect");
    session.command("cancel", "architect");
    expect(session.last.step.commands[0]).toEqual({ do: "withdraw_turn", turn_id, reason: "cancelled" });
    expect(session.debater("architect")).toMatchObject({ status: "dropped", reason: "cancelled" });
    expect(session.round).toBe(2);
    expect(session.command("cancel", "architect").refused).toBe("not_permitted");
  });

  it("of all debaters lets the judge conclude from what they said", () => {
    const session = judging();
    for (const id of DEBATERS) session.command("cancel", id);
    expect(session.phase).toBe("judging");
    expect(session.verdict().ended?.outcome).toBe("done");
  });

  it("of a debater that waits for its next try clears its timer", () => {
    const session = new DebateSession().fail("go").command("cancel", "go");
    expect(session.last.step.commands).toEqual([{ do: "clear_timer", timer_id: "retry:go" }]);
  });

  it("of the last awaited debater of a stopped session begins the next round on resume", () => {
    const session = new DebateSession().opinion("python").opinion("go").stop().command("cancel", "architect");
    expect(session.recover().debate).toMatchObject({ phase: "debating", round: 2 });
  });
});

describe("a stopped debate", () => {
  it.each([
    ["signal", "stopped"],
    ["limit", "stopped"],
    ["waiting", "waiting"],
  ] as const)("by %s is %s, and resumes where it was", (reason, phase) => {
    const session = new DebateSession().admit("go").stop(reason);
    expect(session.phase).toBe(phase);
    expect(session.stop(reason).recover().phase).toBe("debating");
    expect(session.turn("go")).toMatchObject({ status: "offered", run: 2 });
  });

  it("by a crash repeats the open turns and changes nothing else", () => {
    const session = new DebateSession().everyOpinion().opinion("go").admit("python");
    expect(session.recover(false).last.step).toMatchObject({ changes: [], effects: [], commands: [] });
    expect(session.turn("python")).toMatchObject({ status: "offered", run: 2 });
    expect(session.turn("architect")).toMatchObject({ status: "offered", run: 1 });
  });

  it("resumes again after a crash right after it was resumed", () => {
    const session = new DebateSession().stop().recover().recover(false);
    expect([session.last.disposition, session.phase]).toEqual(["applied", "debating"]);
  });

  it("without progress ends as failed", () => {
    expect(new DebateSession().stop("no_progress").ended).toMatchObject({ outcome: "failed", reason: "no_progress" });
  });
});

describe("a closed debate", () => {
  it("refuses to be reopened, and is closed again as it was", () => {
    const session = judging().verdict();
    const { ended } = session;
    expect(session.reopen().refused).toBe("not_permitted");
    expect(session.ended).toEqual(ended);
  });

  it("takes nothing more", () => {
    expect(new DebateSession().command("cancel").command("tell", undefined, BRIEF).last.disposition).toBe("late");
  });
});

describe("the opening", () => {
  const MANY = Array.from({ length: 101 }, (_, index) => `r${index}`);
  const REFUSED: Readonly<Record<string, [JsonObject, RegExp]>> = {
    "no topic": [{ topic: "  " }, /topic/],
    "one debater": [{ debaters: ["go"] }, /"debaters".*at least 2/],
    "no list of debaters": [{ debaters: "go" }, /"debaters".*list/],
    "101 debaters": [{ debaters: MANY }, /"debaters".*at most 100/],
    "the same debater twice": [{ debaters: ["go", "python", "go"] }, /"debaters" names "go".*already/],
    "an unknown debater": [{ debaters: ["go", "rust"] }, /"debaters" names "rust"/],
    "a worker as debater": [{ debaters: ["go", "hand"] }, /"debaters" names "hand"/],
    "a manager as debater": [{ debaters: ["go", "boss"] }, /"debaters" names "boss"/],
    "no judge": [{ judge: undefined }, /judge/],
    "an unknown judge": [{ judge: "nobody" }, /"judge" names "nobody"/],
    "a worker as judge": [{ judge: "hand" }, /"judge" names "hand"/],
    "a debater as judge": [{ judge: "go" }, /"judge" names "go".*already/],
    "no rounds": [{ rounds: 0 }, /"rounds".*0/],
    "21 rounds": [{ rounds: 21 }, /"rounds".*21/],
    "half a round": [{ rounds: 1.5 }, /"rounds"/],
    "another end": [{ until: "tired" }, /"tired"/],
    "a field too many": [{ round: 3 }, /"round"/],
    "a debater that is no text": [{ debaters: ["go", 7] }, /entry 2.*string/],
  };

  it.each(Object.keys(REFUSED))("with %s is refused, and closes the session as failed", (name) => {
    const [input, facts] = REFUSED[name] ?? [{}, /-/];
    const session = new DebateSession(input);
    expect(session.last.step.refused?.message).toMatch(facts);
    expect(session.last.step.refused?.hint).toBeTruthy();
    const end = { outcome: "failed", reason: "invalid_input" };
    expect(session.ended).toMatchObject({ ...end, report: { requirement: "", tickets: [], next_steps: [] } });
    expect([session.phase, session.standing.subjects.size]).toEqual(["closed", 0]);
    expect(session.reopen().ended).toMatchObject(end);
  });

  it("without rounds and end has three rounds and holds them all", () => {
    expect(new DebateSession({ rounds: undefined, until: undefined }).debate).toMatchObject({
      rounds: 3,
      until: "rounds",
    });
  });

  it("may have twenty rounds", () => {
    expect(new DebateSession({ rounds: 20 }).debate).toMatchObject({ rounds: 20, round: 1 });
  });

  it("names the roles that fit where one does not", () => {
    const hint = new DebateSession({ debaters: ["go", "rust"] }).last.step.refused?.hint;
    expect(hint).toMatch(/python/);
    expect(hint).not.toContain("boss");
  });

  it("is refused a second time", () => {
    const session = new DebateSession().everyOpinion();
    session.submit("scheduler", "session_opened", session.opening);
    expect([session.last.disposition, session.round]).toEqual(["refused", 2]);
  });
});

describe("the rights", () => {
  const answersOf = (sender: Sender, message: "requirement" | "report") =>
    PAYLOAD_TYPES.filter(
      (type) => permits(debateMode.rights, sender, type, message) && !permits(debateMode.rights, sender, type),
    );

  it("let a debater answer with an opinion, and the judge with a verdict", () => {
    expect(answersOf("participant", "requirement")).toEqual(["error", "opinion"]);
    expect(answersOf("participant", "report")).toEqual(["error", "verdict"]);
    expect(answersOf("manager", "report")).toEqual(["error", "verdict"]);
    expect(answersOf("manager", "requirement")).toEqual(["error"]);
    for (const sender of ["worker", "user", "scheduler"] as const) {
      for (const message of ["requirement", "report"] as const) expect(answersOf(sender, message)).toEqual([]);
    }
  });

  const ANSWERS: Readonly<Record<(typeof AGENT_PAYLOAD_TYPES)[number], JsonObject>> = {
    artifact_ref: { label: "notes", uri: "artifacts/notes.txt" },
    clarification: { questions: [], status: "complete" },
    comment: { text: "Go." },
    error: { code: "internal", message: "No." },
    instruction: { summary: "Do it" },
    instruction_proposal: { summary: "Like this?" },
    opinion: { round: 1, position: "Go." },
    pass: { reason: "So." },
    plan: { tasks: [{ task_id: "a", description: "Do it" }] },
    plan_decision: { analysis: "So far.", next_action: "FINISH", final_report: "Go." },
    pm_decision: { analysis: "So far.", next_action: "FINISH", final_report: "Go." },
    proposal: { title: "Go", details: "Go." },
    report: { status: "completed" },
    review: { decision: "approved" },
    state_change: { new_state: "voting", reason: "So." },
    summary: { summary_text: "Go." },
    verdict: { conclusion: "Go." },
    vote: { proposal_id: "p1", vote: "yes" },
  };

  it.each(
    AGENT_PAYLOAD_TYPES.flatMap((type) => [["go", type, "opinion"] as const, ["judge", type, "verdict"] as const]),
  )("let %s answer %s only if it may: its own answer is %s", (role_id, type, own) => {
    const session = role_id === "judge" ? judging() : new DebateSession({ rounds: 1 });
    const subject = role_id === "judge" ? JUDGE : role_id;
    session.answer(subject, type, ANSWERS[type]);
    const isAllowed = ["artifact_ref", "error", own].includes(type);
    expect(session.last.disposition).toBe(isAllowed ? "applied" : "refused");
    const isAskedAgain = session.open.some((line) => line.startsWith(role_id));
    expect(isAskedAgain).toBe(!isAllowed || type === "artifact_ref");
  });

  it.each<[PayloadType, JsonObject]>([
    ["requirement", { text: "Another topic." }],
    ["plan", { tasks: [{ task_id: "a", description: "Do it" }] }],
    ["clarification_response", { answers: [], status: "complete" }],
  ])("let no user send a %s", (type, payload) => {
    const session = new DebateSession().send(type, payload);
    expect([session.refused, session.last.step.changes]).toEqual(["not_permitted", []]);
  });

  it("let every role report progress, which moves nothing", () => {
    const session = new DebateSession().admit("go");
    const turn = stampOf(session.turn("go"));
    session.submit("go", "report", { status: "progress", summary: "Reading." }, { subject: "go", turn });
    expect(session.last).toMatchObject({ disposition: "applied", step: { changes: [], commands: [], effects: [] } });
    expect(session.turn("go").status).toBe("open");
  });
});

describe("the view", () => {
  it("has a subject for each debater, titled by its latest position", () => {
    const session = new DebateSession().opinion("go", "Go, for the goroutines.").fail("architect", "timeout");
    const { state, counts, subjects } = session.standing;
    expect([state, Object.fromEntries(counts)]).toEqual(["debating", { answering: 1, answered: 1, waiting: 1 }]);
    expect([...new DebateSession().standing.counts]).toEqual([["answering", 3]]);
    expect(
      Array.from(subjects.values(), ({ id, status, reason, attempt, title }) => [id, status, reason, attempt, title]),
    ).toEqual([
      ["python", "answering", undefined, 1, "python"],
      ["go", "answered", undefined, 1, "Go, for the goroutines."],
      ["architect", "waiting", "timeout", 2, "architect"],
    ]);
  });
});
