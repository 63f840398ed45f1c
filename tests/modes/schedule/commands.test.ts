import { describe, expect, it } from "vitest";
import { CREW, escalated, type Options, runs, schedule, type ScheduleSession, task } from "./session.ts";

const ASK = { config: { plan_approval: "ask", max_retries: 1 } } as const;
const PLANNED = { acceptance_criteria: [runs("npm", "test")] };
const APPROVED = { decision: "approved" } as const;

/** A session whose approved plan checks `a` by `npm test`, and `b` by nothing. */
function approved(approval: object = {}, options: Options = ASK): ScheduleSession {
  const session = schedule(options).plan(task("a", PLANNED), task("b"));
  return session.phase === "approving" ? session.send("approval", { ...APPROVED, ...approval }) : session;
}

/** The manager instructs a ticket, with these commands as checks. */
function instruct(session: ScheduleSession, id: string, ...commands: readonly (readonly string[])[]): ScheduleSession {
  const acceptance_criteria = commands.map((command) => runs(...command));
  return session.answer(id, "instruction", {
    summary: "Do it so",
    acceptance_criteria,
  });
}

/** The last question about commands is decided. */
function decide(session: ScheduleSession, payload: object): ScheduleSession {
  const [ask] = [...session.engine.ledger.asks.values()].filter(({ kind }) => kind === "permission");
  return session.send("approval", { ...payload, ask_id: ask?.ask_id });
}

/** The commands with which a delivered ticket is checked. */
function checked(session: ScheduleSession, id: string): unknown {
  const [checks] = session.deliver(id).last.step.commands;
  return session
    .resolved(checks?.do === "run_checks" ? checks.criteria : [])
    .map((one) => (one as { command?: unknown }).command);
}

/** What is said about commands: `approval_request have Bosun run: …`, `approval` and whom it is for. */
function said(session: ScheduleSession): unknown[] {
  return session.last.envelopes.map(({ payload_type, payload }) => [
    payload_type,
    (payload["about"] as { action?: string } | undefined)?.action ?? payload["scope"],
  ]);
}

describe("commands that an instruction adds to an approved plan", () => {
  it("wait for a person, and so does the ticket", () => {
    const session = instruct(approved(), "a", ["rm", "-r", "build dir"], ["make"]);
    expect(session.open).toEqual([`ask permission p${session.sequence}`, "manager ticket b"]);
    expect([session.status("a"), said(session)]).toEqual([
      "pending",
      [["approval_request", "have Bosun run: rm -r 'build dir'; make"]],
    ]);
  });

  it("are checks once they are allowed", () => {
    const session = decide(instruct(approved(), "a", ["make"]), APPROVED);
    expect([session.status("a"), session.open]).toEqual(["in_progress", ["manager ticket b", "worker instruction a"]]);
    expect(checked(session, "a")).toEqual([["npm", "test"], ["make"]]);
  });

  it("are asked about once for a ticket, or once for the session", () => {
    const ticket = decide(instruct(approved(), "a", ["make"]), APPROVED);
    expect(instruct(ticket.block("a", "how?"), "a", ["make"]).status("a")).toBe("in_progress");
    expect(instruct(ticket, "b", ["make"]).status("b")).toBe("pending");
    const session = decide(instruct(approved(), "a", ["make"]), {
      ...APPROVED,
      scope: "session",
    });
    expect(instruct(session, "b", ["make"]).status("b")).toBe("in_progress");
  });

  it("need nobody if the plan or the configuration has them", () => {
    expect(instruct(approved(), "a", ["npm", "test"]).status("a")).toBe("in_progress");
    const config = {
      ...ASK.config,
      checks: { ticket: [runs("npm", "run", "lint")] },
    };
    expect(instruct(approved({}, { config }), "b", ["npm", "run", "lint"]).status("b")).toBe("in_progress");
  });

  it.for([[["npm", "test", "--", "x"]], [["npm test"]], [["npm"]]])("are new with other arguments: %j", ([command]) => {
    expect(instruct(approved(), "a", command ?? []).status("a")).toBe("pending");
  });

  it("go back to the manager with the person's words if they are denied", () => {
    const session = decide(instruct(approved(), "a", ["make"]), {
      decision: "rejected",
      notes: "Use npm",
    });
    expect(session.open).toEqual(["manager ticket a", "manager ticket b"]);
    const [refused] = session.draft("a").context["refused"] as {
      code: string;
      message: string;
      pointer: string;
    }[];
    expect(refused).toMatchObject({
      code: "not_permitted",
      pointer: "/acceptance_criteria",
    });
    expect(refused?.message).toContain("Use npm");
    expect(checked(session.instruct("a"), "a")).toEqual([["npm", "test"]]);
  });

  it("are allowed or denied, and not sent back", () => {
    const session = decide(instruct(approved(), "a", ["make"]), { decision: "changes_requested" });
    expect([session.refused, session.open]).toEqual([
      "validation_failed /decision",
      ["ask permission p8", "manager ticket b"],
    ]);
  });

  it("stop the session if the manager insists", () => {
    const session = approved();
    for (let time = 0; time < 2; time++) decide(instruct(session, "a", ["make"]), { decision: "rejected" });
    expect(session.last.step.commands).toContainEqual(
      expect.objectContaining({ do: "stop_session", reason: "manager_failed" }),
    );
  });

  it("are not allowed by an answer to something else that the ticket waits for by now", () => {
    const session = instruct(approved(), "a", ["make"]).command("cancel", "a").command("retry", "a");
    const { waits_for } = session.ask("a", "how").ticket("a");
    expect(session.send("approval", { ...APPROVED, ask_id: waits_for }).refused).toBe("not_permitted");
  });

  it("are asked about no more when the ticket is cancelled", () => {
    const session = instruct(approved(), "a", ["make"]);
    const ask_id = `p${session.sequence}`;
    expect(session.command("cancel", "a").open).toEqual(["manager ticket b"]);
    expect(session.send("approval", { ...APPROVED, ask_id }).refused).toBe("not_permitted");
  });

  it("wait in an answer to trouble too", () => {
    const session = escalated(ASK, task("a"), task("b"));
    if (session.engine.ledger.timers.has("retry:a")) session.fireTimer("retry:a").fail("a");
    expect(instruct(session, "a", ["make"]).status("a")).toBe("blocked (agent_failed)");
    expect(decide(session, APPROVED).status("a")).toBe("in_progress");
  });
});

describe("a revised plan", () => {
  /** The manager revises the plan in answer to trouble with `a`. */
  function revised(session: ScheduleSession, ...commands: readonly (readonly string[])[]): ScheduleSession {
    session.instruct("a").block("a");
    const acceptance_criteria = commands.map((command) => runs(...command));
    return session.replan("a", task("a", { acceptance_criteria }), task("b"));
  }

  it("that adds a command is a gate, which names it", () => {
    const session = revised(approved(), ["npm", "test"], ["sh", "-c", "id"]);
    const [request] = session.last.envelopes;
    expect([session.phase, request?.payload]).toMatchObject(["approving", { about: { commands: ["sh -c id"] } }]);
    expect(session.ticket("a").seen).toHaveLength(1);
    session.send("approval", APPROVED).instruct("a");
    expect(checked(session, "a")).toEqual([
      ["npm", "test"],
      ["sh", "-c", "id"],
    ]);
  });

  it("that leaves out a command is applied at once", () => {
    expect(revised(approved()).phase).toBe("running");
    expect(revised(approved(), ["npm", "test"]).phase).toBe("running");
  });

  it("that a person sends needs no approval", () => {
    const session = approved().send("plan", {
      tasks: [task("a", { acceptance_criteria: [runs("make")] })],
    });
    expect([session.phase, session.last.envelopes]).toEqual(["running", []]);
    expect(checked(session.instruct("a"), "a")).toEqual([["make"]]);
  });

  it("that adds a command is applied and told if later commands were allowed", () => {
    const session = revised(approved({ scope: "session" }), ["make"]);
    expect([session.phase, said(session)]).toEqual([
      "running",
      [
        ["approval_request", "have Bosun run: make"],
        ["approval", "session"],
      ],
    ]);
  });
});

describe("later commands", () => {
  const TOLD = [
    ["approval_request", "have Bosun run: make"],
    ["approval", "ticket"],
  ];

  it("are told, and run at once, if they were allowed with the plan", () => {
    const session = instruct(approved({ scope: "session" }), "a", ["make"]);
    expect([session.status("a"), said(session)]).toEqual(["in_progress", TOLD]);
    expect(checked(session, "a")).toEqual([["npm", "test"], ["make"]]);
  });

  it("are not allowed by an edited plan that is refused", () => {
    const session = schedule(ASK).plan(task("a"));
    const plan = { tasks: [task("a", { dependencies: ["b"] })] };
    expect(session.send("approval", { ...APPROVED, scope: "session", plan }).refused).toMatch("invalid_plan");
    expect(instruct(session.send("approval", APPROVED), "a", ["make"]).status("a")).toBe("pending");
  });

  it("are told, and run at once, if plans need no approval", () => {
    const session = instruct(approved({}, {}), "a", ["make"]);
    expect([session.status("a"), said(session)]).toEqual(["in_progress", TOLD]);
    expect(instruct(session.block("a", "how?"), "a", ["make"]).last.envelopes).toEqual([]);
  });

  it("of another manager beside the one that plays a plan file are asked about", () => {
    const roles = [...CREW, { role_id: "other", type: "manager", backend: "scripted" } as const];
    const session = approved({}, { ...ASK, roles, input: { plan_digest: "sha256:0" } });
    expect(instruct(session, "a", ["make"]).status("a")).toBe("pending");
  });

  it("of a person's plan file are neither asked about nor told", () => {
    const session = instruct(approved({}, { ...ASK, input: { plan_digest: "sha256:0" } }), "a", ["make"]);
    expect([session.status("a"), session.last.envelopes]).toEqual(["in_progress", []]);
  });
});
