import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { Json } from "../../../src/lib/json.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/protocol/limits.ts";
import { done, Scene } from "./rig.ts";
import { APPROVED, asking, CHANGES, COMPLETED, INSTRUCTION, runs, task } from "./words.ts";

/** Two tickets, and `a` has come as far as the name says. */
const AT: Record<string, () => Scene> = {
  "pending, offered": () => new Scene().planned(task("a"), task("b")),
  "pending, in the manager's hands": () => AT["pending, offered"]!().admit("a"),
  "pending, with a question open": () => AT["pending, offered"]!().says("a", "clarification", asking("q")),
  discussing: () =>
    new Scene()
      .planned(task("a", { risks: ["breaks"] }), task("b"))
      .says("a", "instruction_proposal", INSTRUCTION)
      .admit("a"),
  "in progress": () => AT["pending, offered"]!().says("a", "instruction", INSTRUCTION).admit("a"),
  "blocked, waiting for a retry": () => AT["in progress"]!().fails("a"),
  "blocked, before the manager": () => AT["in progress"]!().says("a", "report", { status: "blocked" }).admit("a"),
  "awaiting review, checks running": () =>
    new Scene()
      .planned(task("a", { acceptance_criteria: [runs("true")] }), task("b"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED),
  "awaiting review, before the manager": () => AT["in progress"]!().says("a", "report", COMPLETED).admit("a"),
  "awaiting review, before the person": () =>
    new Scene()
      .planned(task("a", { review: "user" }), task("b"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED),
};

describe("cancelling a ticket", () => {
  test.each(Object.keys(AT))("%s: it is withdrawn with all it held, and the others go on", (name) => {
    const scene = AT[name]!();
    const from = scene.ticket("a").status;
    scene.command("cancel", "a");
    expect(scene.moved).toEqual([`a: ${from} -withdrawn-> error (cancelled)`]);
    expect([scene.open, scene.phase]).toEqual([["manager ticket b"], "running"]);
    expect(done(scene, "b").report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "error cancelled", b: "done" },
    });
  });

  it("is refused where it is over, or there is no such ticket", () => {
    const scene = done(new Scene().planned(task("a"), task("b")), "a");
    for (const [id, why] of [
      ["a", 'ticket "a" has ended already (done)'],
      ["nobody", 'there is no ticket "nobody"'],
    ] as const) {
      scene.command("cancel", id);
      expect([scene.refused, scene.last.step.refused?.message, scene.moved]).toEqual(["not_permitted", why, []]);
    }
  });

  it("makes its turn's result late", () => {
    const scene = AT["in progress"]!();
    const turn = { turn_id: scene.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    scene.command("cancel", "a").fact("hand", "report", COMPLETED, { subject: "a", turn });
    expect([scene.last.disposition, scene.last.step.effects, scene.status("a")]).toEqual([
      "late",
      [],
      "error (cancelled)",
    ]);
  });
});

describe("cancelling the session", () => {
  test.each(Object.keys(AT))("with a ticket %s: everything is withdrawn, and it is closed", (name) => {
    const scene = AT[name]!().command("cancel");
    expect([scene.phase, scene.open]).toEqual(["closed", []]);
    expect(scene.report).toMatchObject({
      ended: "cancelled cancelled",
      tickets: { a: "error cancelled", b: "error cancelled" },
    });
  });

  test.each([
    ["planning", () => new Scene().requirement().admit()],
    ["waiting for the manager's retry", () => new Scene().requirement().fails(undefined)],
    ["clarifying", () => new Scene().requirement().says(undefined, "clarification", asking("q"))],
    ["approving", () => new Scene({ config: { plan_approval: "ask" } }).planned(task("a"))],
    ["approving the result", () => done(new Scene({ input: { confirm: true } }).planned(task("a")), "a")],
    ["stopped", () => new Scene().planned(task("a")).admit("a").stops()],
    ["waiting", () => new Scene().planned(task("a")).says("a", "clarification", asking("q")).stops("waiting")],
  ])("%s", (_, make) => {
    const scene = make().command("cancel");
    expect([scene.phase, scene.open, scene.report.ended]).toEqual(["closed", [], "cancelled cancelled"]);
  });

  it("keeps what is done, and what waits on an earlier error; what waits for anything else is withdrawn", () => {
    const plan = [task("a"), task("b"), task("c", { dependencies: ["b"] }), task("d")];
    const after = [task("e", { dependencies: ["a"] }), task("f", { dependencies: ["d"] })];
    const scene = done(new Scene().planned(...plan, ...after), "a")
      .command("cancel", "b")
      .command("cancel");
    expect(scene.report.tickets).toEqual({
      a: "done",
      b: "error cancelled",
      c: "pending waiting_for_dependency by b",
      d: "error cancelled",
      e: "error cancelled",
      f: "error cancelled",
    });
  });

  it("is late in a closed one, as is all else but reopening it", () => {
    const scene = done(new Scene().planned(task("a")), "a");
    for (const late of [
      () => scene.command("cancel"),
      () => scene.command("retry", "a"),
      () => scene.requirement(),
      () => scene.answers({}),
      () => scene.fires("notice"),
    ]) {
      expect([late().last.disposition, scene.last.step.effects]).toEqual(["late", []]);
    }
  });
});

describe("telling", () => {
  it("reaches the next turn about that ticket, or about anything", () => {
    const scene = new Scene().planned(task("a"), task("b")).command("tell", "a", { text: "Use Rust" });
    const told = scene.sequence;
    const general = scene.command("tell", undefined, { text: "Hurry" }).sequence;
    const note = (sequence: number) => ({ $first: [{ $from: [sequence, "/text"] }, { $from: [sequence, "/notes"] }] });
    expect(scene.draft("a").context["notes"]).toEqual([note(general), note(told)]);
    expect(scene.draft("b").context["notes"]).toEqual([note(general)]);
    expect([scene.moved, scene.last.step.commands]).toEqual([[], []]);
  });

  it("again keeps what was told before", () => {
    const scene = new Scene().planned(task("a"));
    for (const text of ["one", "two"]) scene.command("tell", "a", { text }).command("tell", undefined, { text });
    const notes = resolve(scene.draft("a").context["notes"] as Json, scene.lookup);
    expect(notes).toEqual(["one", "two", "one", "two"]);
  });

  it("a ticket that does not exist is refused", () => {
    expect(new Scene().planned(task("a")).command("tell", "nobody", { text: "Hi" }).refused).toBe("not_permitted");
    for (const ticket of ["a", undefined]) {
      const silent = new Scene().planned(task("a")).command("tell", ticket);
      expect([silent.refused, silent.ticket("a").notes, silent.state.session?.notes]).toEqual([
        "not_permitted",
        undefined,
        [],
      ]);
    }
  });

  it("is kept through a revision of the plan", () => {
    const scene = new Scene()
      .planned(task("a"))
      .command("tell", "a", { text: "Use Rust" })
      .says("a", "instruction", INSTRUCTION);
    scene.says("a", "report", { status: "blocked" }).says("a", "plan", { tasks: [task("a", { description: "Else" })] });
    expect(scene.draft("a").context["notes"]).toHaveLength(1);
  });
});

describe("trying a ticket again", () => {
  const given = () =>
    new Scene({ config: { max_retries: 0, max_escalations: 0 } })
      .planned(task("a"), task("b", { dependencies: ["a"] }), task("c"))
      .says("a", "instruction", INSTRUCTION)
      .fails("a");

  it("resets one in error, with its counts, and what waits for it can be done again", () => {
    const scene = given();
    expect([scene.status("a"), [...scene.state.blockedByError]]).toEqual(["error (agent_failed)", ["b"]]);
    scene.command("retry", "a");
    expect([scene.moved, scene.open, [...scene.state.blockedByError]]).toEqual([
      ["a: error -manual_reset-> pending"],
      ["manager ticket c", "worker instruction a"],
      [],
    ]);
    expect(done(scene.says("a", "report", COMPLETED).says("a", "review", APPROVED), "b", "c").report.ended).toBe(
      "done",
    );
  });

  it("is refused to one that is at work, waits for others, or cannot be done before another is", () => {
    const scene = given();
    for (const id of ["b", "c", "nobody"]) expect(scene.command("retry", id).refused).toBe("not_permitted");
    scene.command("cancel", "b").command("retry", "b");
    expect([scene.last.step.refused?.message, scene.last.step.refused?.hint]).toEqual([
      'ticket "b" waits for "a", which cannot be done',
      "bosun retry a",
    ]);
    expect(scene.command("retry").refused).toBe("not_permitted");
    const behind = new Scene().planned(
      task("a"),
      task("b", { dependencies: ["a"] }),
      task("c", { dependencies: ["b"] }),
    );
    behind.command("cancel", "c").says("a", "error", { code: "agent_failed", message: "I cannot" });
    behind.reopens().command("retry", "c");
    // "b" has not been begun, so it is not what could be tried again; nor could it be if it were in error, too.
    expect([behind.last.step.refused?.message, behind.last.step.refused?.hint]).toEqual([
      'ticket "c" waits for "a", which cannot be done',
      "bosun retry a",
    ]);
    behind.command("cancel", "b").reopens().command("retry", "c");
    expect(behind.last.step.refused?.hint).toBe("bosun retry a");
  });

  it("puts what waits for its back-off again at once, the manager's message too, and with a fresh budget", () => {
    const scene = new Scene().planned(task("a", { budget: { turns: 1 } })).fails("a");
    expect(scene.open).toEqual(["retry:a in 1000 ms"]);
    scene.command("retry", "a");
    expect([scene.moved, scene.status("a"), scene.open]).toEqual([[], "pending", ["manager ticket a"]]);
  });

  it("waits for dependencies that are still at work", () => {
    const scene = new Scene()
      .planned(task("a"), task("b", { dependencies: ["a"] }))
      .command("cancel", "b")
      .command("retry", "b");
    expect([scene.status("b"), scene.open]).toEqual(["pending", ["manager ticket a"]]);
    expect(done(scene, "a").open).toEqual(["manager ticket b"]);
  });

  it("opens a closed session again, which then ends anew", () => {
    const scene = done(given(), "c");
    expect(scene.report.tickets).toEqual({
      a: "error agent_failed",
      b: "pending waiting_for_dependency by a",
      c: "done",
    });
    scene.reopens().command("retry", "a");
    expect([scene.phase, scene.open, [...scene.engine.ledger.timers.keys()]]).toEqual([
      "running",
      ["worker instruction a"],
      ["notice"],
    ]);
    expect(done(scene.says("a", "report", COMPLETED).says("a", "review", APPROVED), "b").report.ended).toBe("done");
  });

  it("brings back of a cancelled session that ticket only", () => {
    const scene = new Scene()
      .planned(task("a"), task("b"))
      .says("a", "instruction", INSTRUCTION)
      .command("cancel")
      .reopens()
      .command("retry", "a");
    expect(scene.open).toEqual(["worker instruction a"]);
    expect(scene.says("a", "report", COMPLETED).says("a", "review", APPROVED).report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "done", b: "error cancelled" },
    });
  });

  it("brings nothing else back of a plan that was never approved", () => {
    const scene = new Scene({ config: { plan_approval: "ask" } }).planned(
      task("a"),
      task("b", { dependencies: ["a"] }),
    );
    scene.command("cancel", "a").command("cancel").reopens().command("retry", "a");
    expect(done(scene, "a").report.tickets).toEqual({ a: "done", b: "error cancelled" });
  });

  it("counts its retries and escalations afresh", () => {
    const scene = new Scene({ config: { max_retries: 1, max_escalations: 1 } })
      .planned(task("a"), task("b"))
      .says("a", "instruction", INSTRUCTION);
    const fail = () => scene.fails("a").fires("retry:a").fails("a");
    fail().says("a", "instruction", INSTRUCTION);
    expect([fail().status("a"), scene.command("retry", "a").status("a")]).toEqual(["error (agent_failed)", "pending"]);
    expect([fail().status("a"), scene.open]).toEqual([
      "blocked (agent_failed)",
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("counts its rounds afresh: of checks, of reviews and of questions", () => {
    const stuck = { status: "blocked", questions: [{ question_id: "q", text: "Where?" }] };
    const config = { max_escalations: 0, check_rounds: 1, max_review_rounds: 1, max_clarification_rounds: 1 };
    const scene = new Scene({ config })
      .planned(task("a", { acceptance_criteria: [{ text: "passes", command: ["true"] }] }), task("b"))
      .says("a", "instruction", INSTRUCTION);
    const fails = () => scene.says("a", "report", COMPLETED).checked("a", false);
    const rounds = () => {
      const seen = [1, 2].map(() => {
        const worker = fails().open.includes("worker instruction a");
        fails().says("a", "review", { decision: "changes_requested" });
        return worker;
      });
      return [...seen, scene.status("a")];
    };
    const all = [true, true, "error (checks_failed)"];
    expect(rounds()).toEqual(all);
    scene.command("retry", "a");
    expect(rounds()).toEqual(all);
    const asked = () => {
      scene.command("retry", "a").says("a", "report", stuck).says("a", "instruction", INSTRUCTION);
      return scene.says("a", "report", stuck).status("a");
    };
    expect([asked(), asked()]).toEqual(["error (needs_input)", "error (needs_input)"]);
  });

  it("in vain leaves a reopened session as it was, once nothing is found to do", () => {
    const scene = done(new Scene().planned(task("a")), "a")
      .reopens()
      .command("retry", "a");
    expect([scene.refused, scene.phase]).toEqual(["not_permitted", "running"]);
    expect(scene.stops("no_progress").report.ended).toBe("done");
  });

  it("in vain leaves one that was cancelled cancelled, and one whose result was rejected rejected", () => {
    const cancelled = new Scene()
      .planned(task("a"), task("b", { dependencies: ["a"] }))
      .command("cancel")
      .reopens();
    expect(cancelled.command("retry", "b").refused).toBe("not_permitted");
    expect(cancelled.stops("no_progress").report.ended).toBe("cancelled cancelled");
    const rejected = done(new Scene({ input: { confirm: true } }).planned(task("a")), "a")
      .person("approval", { decision: "rejected" })
      .reopens()
      .command("retry", "a");
    expect(rejected.stops("no_progress").report.ended).toBe("failed result_rejected");
  });

  it("in vain leaves one cancelled that had no plan yet, after a crash in between, too", () => {
    const before = () => new Scene().person("requirement", { text: "Do it." }).command("cancel").reopens();
    expect(before().stops("no_progress").report.ended).toBe("cancelled cancelled");
    expect(before().recovers().report.ended).toBe("cancelled cancelled");
  });

  it("that does something is told by what came of it", () => {
    const scene = new Scene().planned(task("a")).command("cancel").reopens().command("retry", "a");
    expect(done(scene, "a").report.ended).toBe("done");
  });

  it("is not kept from work by a stop or a pause from before the end", () => {
    const scene = new Scene().planned(task("a")).command("pause").stops("no_progress").reopens();
    expect(scene.engine.ledger.figures).not.toHaveProperty("stopped");
    expect(scene.engine.ledger.figures).not.toHaveProperty("paused");
  });
});

describe("accepting the result", () => {
  const finished = () =>
    done(new Scene({ input: { confirm: true } }).planned(task("a"), task("b")).command("cancel", "b"), "a");

  it("is asked for with what there is to accept, and closes the session", () => {
    const scene = finished();
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a1"]]);
    expect(scene.last.envelopes).toMatchObject([
      {
        target: "user",
        payload_type: "approval_request",
        payload: {
          subject: "result",
          ask_id: "a1",
          about: { tickets: { $fit: [[{ ticket_id: "a" }, { ticket_id: "b" }], MAX_PAYLOAD_BYTES] } },
        },
      },
    ]);
    expect(scene.person("approval", APPROVED).report.ended).toBe("failed tickets_failed");
  });

  it("refused ends it as failed", () => {
    expect(finished().person("approval", { decision: "rejected" }).report.ended).toBe("failed result_rejected");
  });

  it("sent back has the manager plan what is missing, and asks again", () => {
    const scene = finished().person("approval", { ...CHANGES, notes: "And c" });
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement"]]);
    scene.says(undefined, "plan", { tasks: [task("a"), task("c")] });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket c"]]);
    expect(done(scene, "c").open).toEqual(["ask approval a2"]);
  });

  it("sent back waits for that plan, also when a ticket is tried again meanwhile", () => {
    const scene = finished().person("approval", CHANGES).command("retry", "b");
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement", "manager ticket b"]]);
    done(scene, "b").says(undefined, "plan", { tasks: [task("a"), task("b")] });
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a2"]]);
  });

  it("is asked for again even if the manager has nothing to add", () => {
    const scene = finished()
      .person("approval", CHANGES)
      .says(undefined, "plan", { tasks: [task("a")] });
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a2"]]);
  });

  it("is asked for through a stop, once", () => {
    const scene = finished().stops("waiting").recovers();
    expect([scene.last.disposition, scene.phase, scene.open]).toEqual(["applied", "approving", ["ask approval a1"]]);
  });

  it("is not asked for any longer when a ticket is tried again", () => {
    const scene = finished().command("retry", "b");
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket b"]]);
    expect(done(scene, "b").open).toEqual(["ask approval a2"]);
  });
});
