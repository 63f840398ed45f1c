import { describe, expect, it } from "vitest";
import type { ViewName } from "../../../src/kernel/kit/views.ts";
import { listOf, objectOf, textOf } from "../../../src/lib/json.ts";
import { failure } from "../../../src/protocol/failure.ts";
import { note, panelRules, type D, PanelSession } from "./panel.ts";

const LINES = { lines: { opinion: { text: "/position", to: "/metadata/to" } } } as const;

/** A panel that is asked twice, and shows everybody this view. */
function twice(view: ViewName, lines: object = LINES): PanelSession {
  const rules = {
    question: (
      session: Parameters<typeof panelRules.question>[0],
      member: Parameters<typeof panelRules.question>[1],
    ) => ({
      ...panelRules.question(session, member),
      context: { metadata: { of: "the panel" } },
      view,
    }),
    answered: (...[draft, fact, member]: Parameters<typeof panelRules.answered>) =>
      fact.payload_type === "opinion" && fact.payload.position === "?"
        ? failure("validation_failed", "say something")
        : panelRules.answered(draft, fact, member),
    goOn(draft: D) {
      const { noted } = draft.self;
      if (noted.length === 2) return draft.offer();
      for (const { id } of draft.all()) draft.offer(id);
      note(draft, `round ${noted.length + 1}`);
    },
  };
  return new PanelSession(rules, lines);
}

/** What a turn shows, as `source: position`. */
function shown(session: PanelSession, id: string | undefined): unknown[] {
  const { transcript } = session.context(id);
  return listOf(transcript).map((entry) => {
    const { source, payload } = objectOf(entry);
    return `${textOf(source)}: ${textOf(objectOf(payload)["position"])}`;
  });
}

describe("what was said before", () => {
  it("is shown as a whole, in order", () => {
    const session = twice("full").opinion("bob").opinion("ann");
    expect(shown(session, "ann")).toEqual(["bob: bob says so", "ann: ann says so"]);
    expect(session.context("ann")["metadata"]).toEqual({ of: "the panel" });
    session.ends();
  });

  it("is shown as its last records", () => {
    const session = twice("last:3").opinion("bob").opinion("ann").opinion("ann", "No.").opinion("bob", "Yes.");
    expect(shown(session, undefined)).toEqual(["ann: ann says so", "ann: No.", "bob: Yes."]);
    session.ends();
  });

  it("is shown as what is addressed to the reader", () => {
    const session = twice("addressed")
      .opinion("bob", "For Ann.", { metadata: { to: "ann" } })
      .opinion("ann", "For both.", { metadata: { to: ["bob", "ann"] } });
    expect(shown(session, "ann")).toEqual(["bob: For Ann.", "ann: For both."]);
    expect(shown(session, "bob")).toEqual(["ann: For both."]);
    session.ends();
  });

  it("is shown as a line of each", () => {
    const session = twice("summary").opinion("bob").opinion("ann");
    expect(session.context("ann")).toMatchObject({
      metadata: { of: "the panel", summary: "bob:\nbob says so\nann:\nann says so" },
    });
    expect(session.context("ann")).not.toHaveProperty("transcript");
    session.ends();
  });

  it("has no line of a type without a text", () => {
    const session = twice("summary", { lines: { opinion: {} } })
      .opinion("bob")
      .opinion("ann");
    expect(session.context("ann")).toMatchObject({ metadata: { summary: "" } });
  });

  it("leaves out what was refused", () => {
    const session = twice("full").opinion("bob", "?");
    expect(session.refused).toBe("validation_failed");
    session.opinion("bob").opinion("ann");
    expect(shown(session, "ann")).toEqual(["bob: bob says so", "ann: ann says so"]);
    session.ends();
  });

  it("leaves out what others said who were asked at once, also when one is asked again", () => {
    const session = twice("full").opinion("ann");
    expect(shown(session, "bob")).toEqual([]);
    session.answer("bob", "verdict", { conclusion: "Me." });
    expect(shown(session, "bob")).toEqual([]);
    session.fail("bob").fireTimer("retry:bob");
    expect(shown(session, "bob")).toEqual([]);
    session.opinion("bob").opinion("ann", "No.");
    expect(shown(session, "bob")).toEqual(["ann: ann says so", "bob: bob says so"]);
    session.ends();
  });

  it("is kept by no mode that shows none", () => {
    const session = twice("full", {}).opinion("bob").opinion("ann");
    expect([session.state.said.size, shown(session, "ann")]).toEqual([0, []]);
  });
});
