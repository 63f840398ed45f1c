import { describe, expect, it, test } from "vitest";
import { done, Scene } from "./rig.ts";
import type { PayloadByType } from "../../../src/protocol/payload.ts";
import { APPROVED, asking, COMPLETED, INSTRUCTION, runs, task } from "./words.ts";
import { computing } from "../../computing.ts";

const GIVES_UP = { code: "agent_failed", message: "I cannot" };

describe("a session ends", () => {
  it("when every ticket is done", () => {
    expect(done(new Scene().planned(task("a"), task("b")), "a").ended).toBeUndefined();
    expect(done(new Scene().planned(task("a"), task("b")), "a", "b").report.ended).toBe("done");
  });

  it("as failed when the rest waits on an error, directly or not, and says on which", () => {
    const scene = new Scene().planned(
      task("a"),
      task("b", { dependencies: ["a"] }),
      task("c", { dependencies: ["b"] }),
      task("d", { dependencies: ["c", "e"] }),
      task("e"),
    );
    scene.says("a", "error", GIVES_UP);
    expect([scene.ended, scene.open]).toEqual([undefined, ["manager ticket e"]]);
    const { ended, tickets, whole } = done(scene, "e").report;
    expect([ended, tickets]).toEqual([
      "failed tickets_failed",
      {
        a: "error agent_failed",
        b: "pending waiting_for_dependency by a",
        c: "pending waiting_for_dependency by a",
        d: "pending waiting_for_dependency by a",
        e: "done",
      },
    ]);
    expect(whole["next_steps"]).toEqual(["bosun log a", "bosun retry a"]);
    const alone = new Scene().planned(task("a"), task("b")).says("a", "error", GIVES_UP);
    expect(done(alone, "b").report.whole["next_steps"]).toEqual(["bosun log a", "bosun retry a"]);
    const many = Array.from({ length: 12 }, (_, index) => task(`t${index}`));
    const lost = new Scene().planned(...many);
    for (const { task_id } of many) lost.says(task_id, "error", GIVES_UP);
    expect(lost.report.whole["next_steps"]).toHaveLength(20);
    const unplanned = new Scene().requirement().says(undefined, "error", GIVES_UP);
    expect(unplanned.report.whole["next_steps"]).toEqual(["bosun log"]);
    const cancelled = new Scene().planned(task("a")).command("cancel");
    expect(cancelled.report.whole["next_steps"]).toEqual(["bosun log"]);
  });

  it("when the last open ticket fails and takes all that wait for it along", () => {
    const scene = new Scene()
      .planned(task("a"), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] }))
      .says("a", "error", GIVES_UP);
    expect(scene.report.ended).toBe("failed tickets_failed");
  });

  it("counts a blockedByError ticket once, though it is cancelled besides", () => {
    const scene = new Scene().planned(task("a"), task("b", { dependencies: ["a"] }), task("c"), task("d"));
    scene.says("a", "error", GIVES_UP).command("cancel", "b");
    expect(done(scene, "c").ended).toBeUndefined();
    expect(done(scene, "d").report.ended).toBe("failed tickets_failed");
  });

  it("when the last is given up, though one that waited for it was cancelled before", () => {
    const scene = new Scene().planned(task("a"), task("b", { dependencies: ["a"] })).command("cancel", "b");
    expect(scene.ended).toBeUndefined();
    const { ended, tickets, whole } = scene.says("a", "error", GIVES_UP).report;
    expect([ended, tickets]).toEqual(["failed tickets_failed", { a: "error agent_failed", b: "error cancelled" }]);
    expect(whole["tickets"]).toMatchObject([{ reviews: 0 }, { reviews: 0 }]);
  });

  it("with its plan's summary for a requirement, where a person gave the plan and said nothing else", () => {
    const plan = { summary: "Mend the roof", tasks: [task("a")] };
    const scene = new Scene({ input: { plan_given: true } }).person("plan", plan);
    expect(done(scene, "a").report.whole).toMatchObject({ requirement: "Mend the roof" });
    const unsaid = new Scene({ input: { plan_given: true } }).person("plan", { tasks: [task("a")] });
    expect(done(unsaid, "a").report.whole).not.toHaveProperty("requirement");
  });

  it("does not count as failed what a revised plan withdrew", () => {
    const scene = new Scene()
      .planned(task("a"), task("b"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", { status: "blocked" });
    done(scene.says("a", "plan", { tasks: [task("b")] }), "b");
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "error withdrawn", b: "done" } });
  });

  it("with a report of what was asked, made and used", () => {
    const scene = new Scene().requirement("Mend the roof").says(undefined, "plan", { tasks: [task("b"), task("a")] });
    scene.says("b", "instruction", INSTRUCTION).admit("b");
    scene
      .says("b", "artifact_ref", { label: "roof", uri: "roof.txt" })
      .says("b", "artifact_ref", { label: "plan", uri: "plan.txt" })
      .says("b", "artifact_ref", { label: "roof", uri: "roof2.txt" });
    scene
      .says("b", "report", {
        ...COMPLETED,
        summary: "It is tight.",
        outputs: ["a roof"],
        issues: ["a leak"],
        next_actions: ["mend it"],
      })
      .says("b", "review", APPROVED);
    done(scene, "a");
    expect(scene.report.whole).toEqual({
      requirement: "Mend the roof",
      tickets: [
        {
          ticket_id: "b",
          task_id: "b",
          description: "Do b",
          status: "done",
          attempts: 1,
          reviews: 1,
          owner: "hand",
          summary: "It is tight.",
          outputs: ["a roof"],
          issues: ["a leak"],
          next_actions: ["mend it"],
          artifacts: [
            { label: "plan", uri: "plan.txt" },
            { label: "roof", uri: "roof2.txt" },
          ],
        },
        {
          ticket_id: "a",
          task_id: "a",
          description: "Do a",
          status: "done",
          attempts: 1,
          reviews: 1,
          owner: "hand",
          artifacts: [],
        },
      ],
      next_steps: ["bosun replay --verify"],
    });
  });

  it("with a report of what a person was asked and answered, about the whole and about its tickets", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "clarification", asking("lang", "style"))
      .answers({ lang: "Rust" }, "complete")
      .says(undefined, "plan", { tasks: [task("a"), task("b")] })
      .says("b", "clarification", asking("size"))
      .says("a", "clarification", asking("colour"))
      .answers({ colour: "green" })
      .answers({ size: "large" });
    done(scene, "a", "b");
    expect(scene.report.whole["clarifications"]).toEqual([
      { question: "What of lang?", answer: "Rust" },
      { question: "What of colour?", answer: "green", ticket_id: "a" },
      { question: "What of size?", answer: "large", ticket_id: "b" },
    ]);
  });

  it("with a report of whether the checks of a ticket passed when they last ran, where it has some", () => {
    const checks = { acceptance_criteria: [runs("npm", "test")], review: "checks" } as const;
    const scene = new Scene({ config: { check_rounds: 1, max_escalations: 0 } })
      .planned(task("a", checks), task("b", checks), task("c"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED)
      .checked("a", false)
      .says("a", "report", COMPLETED)
      .checked("a", true)
      .says("b", "instruction", INSTRUCTION)
      .says("b", "report", COMPLETED)
      .checked("b", true, false)
      .says("b", "report", COMPLETED)
      .checked("b", false);
    const { tickets } = done(scene, "c").report.whole as unknown as PayloadByType["final_report"];
    expect(tickets.map((ticket) => [ticket.status, ticket.checks_passed])).toEqual([
      ["done", true],
      ["error", false],
      ["done", undefined],
    ]);
  });

  it("as failed, saying so, if nothing is open and it had not ended: that would be a bug", () => {
    expect(new Scene().planned(task("a")).stops("no_progress").report).toMatchObject({
      ended: "failed no_progress",
      tickets: { a: "error no_progress" },
    });
  });

  it("in time, though its plan is a chain of ten thousand whose first link breaks", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      task(`t${index}`, index === 0 ? {} : { dependencies: [`t${index - 1}`] }),
    );
    const scene = new Scene({ unchecked: true }).planned(...chain);
    expect(computing(() => scene.says("t0", "error", GIVES_UP))).toBeLessThan(3000);
    expect(scene.ended?.outcome).toBe("failed");
  });

  it("in time, though there are 2^30 ways from the link that breaks to the last", () => {
    const layers = Array.from({ length: 30 }, (_, layer) =>
      ["l", "r"].map((side) =>
        task(`${side}${layer}`, { dependencies: layer === 0 ? ["a"] : [`l${layer - 1}`, `r${layer - 1}`] }),
      ),
    );
    const scene = new Scene({ unchecked: true }).planned(task("a"), ...layers.flat());
    expect(computing(() => scene.says("a", "error", GIVES_UP))).toBeLessThan(3000);
    expect(scene.report.tickets).toMatchObject({ r29: "pending waiting_for_dependency by a" });
  });
});

describe("stopping", () => {
  it("is not closing: turns stay, and are repeated under a higher run", () => {
    const scene = new Scene().planned(task("a"), task("b")).says("a", "instruction", INSTRUCTION).admit("a");
    const turn = { turn_id: scene.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    scene.stops();
    expect([scene.phase, scene.ended, scene.open]).toEqual([
      "stopped",
      undefined,
      ["manager ticket b", "worker instruction a"],
    ]);
    scene.recovers();
    expect([scene.phase, scene.moved, scene.engine.ledger.turns.get(turn.turn_id)]).toMatchObject([
      "running",
      [],
      { status: "offered", run: 2 },
    ]);
    scene.fact("hand", "report", COMPLETED, { subject: "a", turn });
    expect(scene.last.disposition).toBe("late");
    scene.says("a", "report", COMPLETED);
    expect([scene.moved, scene.ticket("a").attempt]).toEqual([
      ["a: in_progress -report_completed-> awaiting_review"],
      1,
    ]);
  });

  it("twice keeps the phase that the first interrupted", () => {
    const scene = new Scene().requirement().stops().stops("waiting").recovers();
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement"]]);
  });

  it("without a word, when the scheduler died, changes nothing but the runs", () => {
    const scene = new Scene().planned(task("a")).admit("a").recovers(false);
    expect([scene.phase, scene.open, scene.engine.ledger.figures.recoveries]).toEqual([
      "running",
      ["manager ticket a"],
      1,
    ]);
  });

  it("keeps a timer that is due meanwhile", () => {
    const scene = new Scene()
      .planned(task("a"))
      .says("a", "instruction", INSTRUCTION)
      .fails("a")
      .stops()
      .recovers()
      .fires("retry:a");
    expect(scene.moved).toEqual(["a: blocked -retry-> in_progress"]);
  });

  it("does not hide that all was over when it goes on", () => {
    const scene = new Scene().planned(task("a"), task("b")).says("a", "error", GIVES_UP).stops().command("cancel", "b");
    expect([scene.phase, scene.ended]).toEqual(["stopped", undefined]);
    expect(scene.recovers().report.ended).toBe("failed tickets_failed");
  });
});

describe("a dependency that takes long", () => {
  const waiting = () =>
    new Scene({ config: { dependency_notice_s: 60 } }).planned(
      task("a"),
      task("b", { dependencies: ["a"] }),
      task("c"),
    );

  it("is told to the manager in a blocked report that names who waits, again and again", () => {
    const scene = waiting();
    expect(scene.engine.ledger.timers.get("notice")).toEqual({ due_at: "2026-01-01T00:01:03Z", passive: true });
    scene.says("a", "instruction", INSTRUCTION).fires("notice");
    expect(scene.last.envelopes).toEqual([]);
    scene.fires("notice");
    const issues = [expect.stringMatching(/^a is in_progress since 2026-01-01T00:00:05Z and holds up b$/)];
    expect(scene.last.envelopes).toEqual([
      {
        target: "boss",
        payload_type: "report",
        subject: "a",
        payload: {
          status: "blocked",
          summary: { $from: [4, "/tasks/0/description"] },
          issues,
          metadata: { reason: "waiting_for_dependency", ticket_ids: ["b"] },
        },
      },
    ]);
    expect([scene.moved, scene.fires("notice").last.envelopes.length]).toEqual([[], 1]);
  });

  it("is told in the ticket's history, too, so that the manager reads it with whatever comes next of that ticket", () => {
    const scene = waiting().says("a", "instruction", INSTRUCTION).fires("notice");
    const notice = scene.fires("notice").sequence + 1;
    expect(scene.lookup.record(notice).payload).toMatchObject({ status: "blocked" });
    scene.says("a", "report", COMPLETED);
    expect(scene.draft("a").context["history"]).toEqual({ $history: [expect.any(Number), notice, scene.sequence] });
  });

  it("leaves what was said of the ticket in its history, however often it is told", () => {
    const scene = waiting().says("a", "instruction", INSTRUCTION);
    const instructed = scene.sequence;
    scene.fails("a").fires("retry:a");
    const failed = [instructed, expect.any(Number)];
    for (let hour = 0; hour < 30; hour += 1) scene.fires("notice");
    const notice = scene.sequence + 1;
    scene.says("a", "report", COMPLETED);
    expect(scene.draft("a").context["history"]).toEqual({ $history: [...failed, notice, scene.sequence] });
  });

  it("is not told when nobody waits for it", () => {
    const scene = waiting().says("c", "instruction", INSTRUCTION).fires("notice").fires("notice");
    expect(scene.last.envelopes).toEqual([]);
  });

  it("is not told for what was cancelled, which waits for nothing", () => {
    const scene = waiting()
      .command("cancel", "b")
      .says("a", "instruction", INSTRUCTION)
      .fires("notice")
      .fires("notice");
    expect(scene.last.envelopes).toEqual([]);
  });

  it("names ten of those that wait, and how many more", () => {
    const many = Array.from({ length: 12 }, (_, index) => task(`w${index}`, { dependencies: ["a"] }));
    const scene = new Scene({ config: { dependency_notice_s: 1 } })
      .planned(task("a"), ...many)
      .says("a", "instruction", INSTRUCTION)
      .fires("notice")
      .fires("notice");
    const named = many.slice(0, 10).map(({ task_id }) => task_id);
    expect(scene.last.envelopes[0]?.payload).toMatchObject({
      issues: [expect.stringContaining(`holds up ${named.join(", ")} and 2 more`)],
      metadata: { ticket_ids: named },
    });
  });

  it("is looked at no longer when the session is closed", () => {
    const scene = done(waiting(), "a", "b", "c");
    expect(scene.fires("notice").last.disposition).toBe("late");
  });
});

describe("what nobody expects", () => {
  test.each([
    ["ticket", { ticket_id: "a", task_id: "a", status: "done" }],
    ["review_request", { ticket_id: "a", report: COMPLETED }],
    ["session_closed", { outcome: "done", exit_code: 0 }],
    ["approval_request", { subject: "plan", ask_id: "a9" }],
    ["requirement", { text: "Another" }],
    ["error", { code: "agent_failed", message: "In nobody's turn" }],
    ["clarification", { questions: [], status: "complete" }],
  ] as const)("%s is refused and moves nothing", (type, payload) => {
    const scene = new Scene().planned(task("a"));
    scene.fact("scheduler", type, payload);
    expect([scene.last.disposition, scene.refused, scene.moved, scene.open]).toEqual([
      "refused",
      "not_permitted",
      [],
      ["manager ticket a"],
    ]);
  });

  it("a second opening is refused", () => {
    const scene = new Scene().planned(task("a"));
    scene.fact("scheduler", "session_opened", scene.records[0]?.payload ?? {});
    expect([scene.refused, scene.status("a")]).toEqual(["not_permitted", "pending"]);
  });

  it("timers, checks and answers of turns that nobody holds are late", () => {
    const scene = new Scene().planned(task("a"));
    const turn = { turn_id: "t99", subject: "a", attempt: 1, run: 1 };
    scene.fires("retry:a");
    expect(scene.last.disposition).toBe("late");
    scene.fact("scheduler", "check_result", { check_id: "k99", results: [] }, { subject: "a" });
    expect(scene.last.disposition).toBe("late");
    scene.fact("hand", "report", COMPLETED, { subject: "a", turn });
    expect([scene.last.disposition, scene.open]).toEqual(["late", ["manager ticket a"]]);
  });

  it("a turn's answer counts once", () => {
    const scene = new Scene().planned(task("a")).admit("a");
    const turn = { turn_id: scene.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    scene
      .fact("boss", "instruction", INSTRUCTION, { subject: "a", turn })
      .fact("boss", "instruction", INSTRUCTION, { subject: "a", turn });
    expect([scene.last.disposition, scene.open]).toEqual(["late", ["worker instruction a"]]);
  });
});
