import { describe, expect, it } from "vitest";
import { getSimplePaths } from "xstate/graph";
import { sessionMachine, subjectMachine } from "../../../src/kernel/kit/lifecycles.ts";
import { debate } from "../../../src/modes/debate/debate.ts";
import { arrowsOf } from "../arrows.ts";

const debateMachine = sessionMachine(debate.name, debate.phases);
const debaterMachine = subjectMachine(debate.subject, debate.states);

describe("the life of a debater", () => {
  it("has these arrows and no others", () => {
    expect(arrowsOf(debaterMachine)).toEqual([
      "answered asked answering",
      "answered dropped dropped",
      "answering dropped dropped",
      "answering opinion_given answered",
      "answering set_back waiting",
      "waiting asked answering",
      "waiting dropped dropped",
    ]);
  });

  it("reaches every state, and can answer until it is dropped", () => {
    const paths = getSimplePaths(debaterMachine);
    expect(new Set(paths.map(({ state }) => state.value))).toEqual(
      new Set(["waiting", "answering", "answered", "dropped"]),
    );
    for (const { state } of paths.filter(({ state }) => state.value !== "dropped")) {
      const onwards = getSimplePaths(debaterMachine, { fromState: state });
      expect(onwards.some((path) => path.state.value === "answered")).toBe(true);
    }
  });
});

describe("the life of a debate", () => {
  it("has these arrows and no others", () => {
    const anywhere = (state: string) => [
      `${state} finished closed`,
      `${state} left_waiting waiting`,
      `${state} stopped stopped`,
    ];
    expect(arrowsOf(debateMachine)).toEqual(
      [
        ...["debating", "judging", "waiting", "stopped"].flatMap(anywhere),
        "debating argued judging",
        "debating round_over debating",
        "stopped resumed_debating debating",
        "stopped resumed_judging judging",
        "waiting resumed_debating debating",
        "waiting resumed_judging judging",
      ].toSorted(),
    );
  });

  it("can be closed from every state, for good", () => {
    const paths = getSimplePaths(debateMachine);
    const states = new Set(paths.map(({ state }) => state.value));
    expect(states).toEqual(new Set(["debating", "judging", "waiting", "stopped", "closed"]));
    for (const { state } of paths) expect(state.can({ type: "finished" })).toBe(state.status === "active");
    expect(paths.filter(({ state }) => state.status === "done").map(({ state }) => state.value)).toContain("closed");
  });
});
