import { describe, expect, it } from "vitest";
import { from } from "../../../src/kernel/references.ts";
import { type D, note, panelRules, PanelSession } from "./panel.ts";

describe("those who are asked at once", () => {
  it("go on together once the last has answered, was dropped or is spent", () => {
    const session = new PanelSession({}, {}, ["ann", "bob", "cid"], { max_retries: 0 });
    expect(session.open).toEqual(["ann requirement ann", "bob requirement bob", "cid requirement cid"]);
    session.opinion("bob").command("cancel", "ann");
    expect(session.open).toEqual(["cid requirement cid"]);
    session.fail("cid");
    expect(session.open).toEqual(["chair report"]);
    session.ends();
  });

  it("go on when the session resumes, if the last was dropped while it was stopped", () => {
    const session = new PanelSession().opinion("ann").stop().command("cancel", "bob");
    expect(session.open).toEqual([]);
    expect(session.recover().open).toEqual(["chair report"]);
    session.ends();
  });

  it("are waited for while one of them is tried again later", () => {
    const session = new PanelSession().opinion("ann").fail("bob");
    expect(session.open).toEqual(["retry:bob in 1000 ms"]);
    session.fireTimer("retry:bob").opinion("bob");
    expect(session.open).toEqual(["chair report"]);
  });
});

describe("a timer of the mode", () => {
  /** Whoever has not spoken when the time is up is out. */
  const timed = {
    goOn(draft: D) {
      panelRules.goOn(draft);
      if (draft.self.phase === "talking") draft.setTimer("talk", 60_000);
      else draft.clearTimer("talk");
    },
    timedOut(draft: D, name: string) {
      note(draft, name);
      for (const { id, turn } of draft.all())
        if (turn) {
          draft.withdraw(id, "the time is up");
          draft.move(id, "left", "timeout");
        }
    },
  };

  it("comes back by its name", () => {
    const session = new PanelSession(timed).opinion("ann");
    expect(session.open).toEqual(["bob requirement bob", "timer:talk in 58000 ms"]);
    session.fireTimer("timer:talk");
    expect([session.noted, session.moved, session.open]).toEqual([
      ["talk"],
      ["bob: asked -left-> gone (timeout)"],
      ["chair report"],
    ]);
    session.ends();
  });

  it("that was cleared is late", () => {
    const session = new PanelSession(timed).opinion("ann").opinion("bob").fireTimer("timer:talk");
    expect([session.last.disposition, session.noted]).toEqual(["late", []]);
    session.ends();
  });

  it("outlives a stop, and ends with the session", () => {
    const session = new PanelSession(timed).stop().recover();
    expect(session.open).toContain("timer:talk in 58000 ms");
    expect(session.command("cancel").open).toEqual([]);
  });

  it("does not keep a session running if it is passive", () => {
    const rules = {
      goOn: (draft: D) => {
        panelRules.goOn(draft);
        draft.setTimer("talk", 60_000, true);
      },
    };
    expect(new PanelSession(rules).last.step.commands).toContainEqual(
      expect.objectContaining({ do: "set_timer", timer_id: "timer:talk", passive: true }),
    );
  });
});

describe("checks", () => {
  /** Every opinion is checked, two of them in the same step. */
  const checked = {
    goOn(draft: D) {
      const { opened } = draft.self;
      if (draft.self.noted.length > 0 || draft.count("gone") > 0) draft.offer();
      else for (const { id } of draft.all()) draft.runChecks(id, [from(opened, "/input/topic")]);
    },
    checked(
      draft: D,
      { payload }: { readonly payload: { readonly results: readonly { readonly passed: boolean }[] } },
    ) {
      note(draft, payload.results.map(({ passed }) => (passed ? "passed" : "failed")).join(" "));
    },
  };

  it("of several subjects run at once, and each gets its results", () => {
    const session = new PanelSession(checked);
    expect([...session.engine.ledger.checks.keys()]).toEqual(["k1", "k1.2"]);
    session.finishChecks("bob", true, false);
    expect([session.noted, session.open]).toEqual([["passed failed"], ["checks ann"]]);
    session.finishChecks("ann", true);
    expect(session.open).toEqual(["chair report"]);
    session.ends();
  });

  it("end with their subject", () => {
    const session = new PanelSession(checked).command("cancel", "ann");
    expect(session.open).toEqual(["checks bob"]);
    session.command("cancel", "bob").ends();
  });
});

describe("a child session", () => {
  /** The panel lets a debate decide for the first member. */
  const debated = {
    goOn(draft: D) {
      if (draft.self.noted.length > 0 || draft.count("gone") > 0) draft.offer();
      else draft.openSession("ann", { mode: "debate", input: { topic: "Tea?" }, budget: { turns: 9 } });
    },
    childEnded(draft: D, { payload }: { readonly payload: { readonly outcome: string } }) {
      note(draft, payload.outcome);
    },
  };

  it("begins for a subject, which waits for its end", () => {
    const session = new PanelSession(debated);
    expect(session.open).toEqual(["debate about ann offered"]);
    expect(session.beginChild().open).toEqual(["debate about ann open"]);
    session.finishChild({ outcome: "failed" });
    expect([session.noted, session.open]).toEqual([["failed"], ["chair report"]]);
    session.ends();
  });

  it("is withdrawn with its subject, and its end is heard no more", () => {
    const session = new PanelSession(debated).beginChild().command("cancel", "ann");
    expect(session.open).toEqual(["chair report", "debate about ann withdrawn"]);
    session.finishChild({ outcome: "cancelled" });
    expect([session.last.disposition, session.noted, session.open]).toEqual(["applied", [], ["chair report"]]);
    session.ends();
  });

  it("is the only one that a step begins", () => {
    const goOn = (draft: D) => {
      const child = { mode: "debate", input: {}, budget: {} };
      for (const { id } of draft.all()) draft.openSession(id, child);
    };
    expect(() => new PanelSession({ goOn })).toThrow("a step begins one child session");
  });
});
