import { describe, expect, it } from "vitest";
import { panel, PanelSession } from "./panel.ts";

const REOPENED = {
  states: { ...panel.states, gone: { back: "silent" } },
  events: { ...panel.events, retried: "back" },
} as const;

/** A panel from which one was dropped, and which has closed. */
function closed(): PanelSession {
  return new PanelSession({}, REOPENED).command("cancel", "ann").opinion("bob").answer(undefined, "verdict", {
    conclusion: "Tea.",
  });
}

describe("a closed session", () => {
  it("goes on when a subject is retried, and closes again", () => {
    const session = closed().reopen();
    expect([session.phase, session.open]).toEqual(["talking", []]);
    session.command("retry", "ann");
    expect([session.moved, session.open]).toEqual([
      ["ann: gone -back-> silent", "ann: silent -asked-> asked"],
      ["ann requirement ann"],
    ]);
    session.ends();
  });

  it("closes as before if nothing is retried", () => {
    const session = closed().reopen().command("retry", "bob");
    expect(session.refused).toBe("not_permitted");
    session.stop("no_progress");
    expect(session.ended).toMatchObject({ outcome: "done" });
    session.ends();
  });

  it("stays closed in a mode that retries by itself", () => {
    const session = new PanelSession()
      .opinion("ann")
      .opinion("bob")
      .answer(undefined, "verdict", { conclusion: "Tea." });
    expect(session.reopen().refused).toBe("not_permitted");
    expect(session.phase).toBe("closed");
    session.ends();
  });
});

describe("an open session", () => {
  it("lets a dropped subject in again", () => {
    const session = new PanelSession({}, REOPENED).command("cancel", "ann").command("retry", "ann");
    expect([session.status("ann"), session.open]).toEqual(["silent", ["bob requirement bob"]]);
    expect(session.opinion("bob").open).toEqual(["ann requirement ann"]);
    session.ends();
  });
});
