import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Ballot,
  type Choice,
  count,
  isCertain,
  ruleText,
  type VotePolicy,
} from "../../../src/kernel/kit/votes.ts";

const STANDARD: VotePolicy = {
  base: "active",
  threshold: ">1/2",
  quorum: "0",
  weights: {},
  veto: [],
  tie: "reject",
  early: true,
};

const CHOICES: Readonly<Record<string, Choice>> = { y: "yes", n: "no", a: "abstain" };

/** The ballot of participants 1, 2, … whose votes are letters, `-` for none. */
function ballot(letters: string): Ballot {
  const roll = Array.from(letters, (_, index) => String(index + 1));
  const votes = new Map(
    Array.from(letters, (letter, index) => [String(index + 1), CHOICES[letter]] as const).flatMap(([id, choice]) =>
      choice === undefined ? [] : [[id, choice] as const],
    ),
  );
  return { roll, invited: roll, votes, silent: new Set() };
}

/** What is known at once, or `open`; and what the count gives at the deadline. */
function results(letters: string, policy: Partial<VotePolicy>): [early: string, deadline: string] {
  const rule = { ...STANDARD, ...policy };
  const { status } = count(rule, ballot(letters));
  return [isCertain(rule, ballot(letters)) ? status : "open", status];
}

describe("a vote", () => {
  // The table of the right values, a row each.
  it.each<[letters: string, policy: Partial<VotePolicy>, early: string, deadline: string]>([
    ["yyna", {}, "rejected", "rejected"],
    ["yyna", { base: "cast" }, "accepted", "accepted"],
    ["yyy--", {}, "accepted", "accepted"],
    ["nnn--", {}, "rejected", "rejected"],
    ["yy---", {}, "open", "rejected"],
    ["yynn", {}, "rejected", "rejected"],
    ["yynn", { tie: "facilitator" }, "tied", "tied"],
    ["aaa", {}, "rejected", "rejected"],
    ["aaa", { base: "cast" }, "rejected", "rejected"],
    ["", {}, "rejected", "rejected"],
    ["", { base: "cast" }, "rejected", "rejected"],
    ["", { threshold: "unanimous" }, "rejected", "rejected"],
    ["y", {}, "accepted", "accepted"],
    ["y", { base: "cast" }, "accepted", "accepted"],
    ["yyn", { threshold: ">=2/3" }, "accepted", "accepted"],
    ["yyn", { threshold: ">2/3" }, "rejected", "rejected"],
    ["yya", { threshold: "unanimous" }, "rejected", "rejected"],
    ["yya", { threshold: "unanimous", base: "cast" }, "accepted", "accepted"],
    ["yy---", { quorum: "3" }, "open", "no_quorum"],
    ["yyya-", { quorum: "0.8" }, "accepted", "accepted"],
    ["yyya-", { quorum: "4/5" }, "accepted", "accepted"],
    ["yyn--", { base: "cast", quorum: "3" }, "open", "accepted"],
    ["y----", { base: "cast" }, "open", "accepted"],
    ["ynn", { weights: { 1: 3 } }, "accepted", "accepted"],
    ["yyn", { veto: ["3"] }, "rejected", "rejected"],
    ["yy-", { veto: ["3"] }, "open", "accepted"],
  ])("of %s by %j is %s early and %s at the deadline", (letters, policy, early, deadline) => {
    expect(results(letters, policy)).toEqual([early, deadline]);
  });

  it("of somebody who left counts for nothing", () => {
    const { votes } = ballot("yny");
    expect(count(STANDARD, { roll: ["1", "3"], invited: ["1", "3"], votes, silent: new Set() })).toMatchObject({
      status: "accepted",
      counts: { yes: 2, no: 0, abstain: 0 },
      base_size: 2,
    });
  });

  it("is counted in integers: 55 of 100 are 0.55, which they are not in floating point", () => {
    const letters = "y".repeat(55) + "n".repeat(45);
    expect(0.55 * 100).toBeGreaterThan(55);
    expect(results(letters, { threshold: ">=0.55" })).toEqual(["accepted", "accepted"]);
    expect(results(letters, { threshold: ">0.55" })).toEqual(["rejected", "rejected"]);
  });

  it("counts heads for the quorum, whatever votes weigh", () => {
    const heavy = { weights: { 1: 100 }, quorum: "2" };
    expect(results("y--", heavy)).toEqual(["open", "no_quorum"]);
    expect(results("ya-", heavy)).toEqual(["accepted", "accepted"]);
  });

  it("is compared with everybody who was invited, if that is the rule", () => {
    const { roll, votes, silent } = ballot("yy");
    const wide = { roll, votes, silent, invited: ["1", "2", "3", "4"] };
    expect(count({ ...STANDARD, base: "invited" }, wide)).toMatchObject({ status: "rejected", base_size: 4 });
  });

  it("does not wait for those who said that they do not vote", () => {
    const passed = { ...ballot("y-"), silent: new Set(["2"]) };
    expect(isCertain({ ...STANDARD, base: "cast" }, ballot("y-"))).toBe(false);
    expect(isCertain({ ...STANDARD, base: "cast" }, passed)).toBe(true);
  });

  it("has its rule in words", () => {
    const rule = { quorum: "3", weights: { a: 2 }, veto: ["b"], tie: "revote" } as const;
    expect(ruleText({ ...STANDARD, ...rule })).toBe(
      "yes > 1/2 of those who can vote; a quorum of 3; votes are weighed; a veto of b; a tie is voted on again once",
    );
  });
});

const POLICIES = fc.record({
  base: fc.constantFrom("active" as const, "cast" as const, "invited" as const),
  threshold: fc.constantFrom(">1/2", ">=1/2", ">=2/3", ">2/3", "unanimous", ">=0.55", ">0/1", ">=1"),
  quorum: fc.constantFrom("0", "1", "3", "2/3", "0.5"),
  weights: fc.dictionary(fc.constantFrom("1", "2", "3", "4"), fc.nat({ max: 4 })),
  veto: fc.subarray(["1", "4"]),
  tie: fc.constantFrom("reject" as const, "facilitator" as const, "revote" as const),
  early: fc.constant(true),
});
const LETTERS = fc.array(fc.constantFrom("y", "n", "a", "-"), { maxLength: 6 }).map((letters) => letters.join(""));

/** Every way in which the missing votes may come, or not. */
function completions(letters: string): string[] {
  const at = letters.indexOf("?");
  if (at < 0) return [letters];
  return ["y", "n", "a", "-"].flatMap((letter) => completions(letters.slice(0, at) + letter + letters.slice(at + 1)));
}

describe("any vote", () => {
  it("is the same in whatever order the votes come", () => {
    fc.assert(
      fc.property(POLICIES, LETTERS, fc.nat(), (policy, letters, turn) => {
        const { votes, ...rest } = ballot(letters);
        const list = [...votes];
        const turned = new Map([...list.slice(turn % (list.length + 1)), ...list.slice(0, turn % (list.length + 1))]);
        expect(count(policy, { ...rest, votes: turned })).toEqual(count(policy, ballot(letters)));
      }),
    );
  });

  it("that is certain early ends so however the others vote", () => {
    let certain = 0;
    fc.assert(
      fc.property(POLICIES, LETTERS, (policy, letters) => {
        if (!isCertain(policy, ballot(letters))) return;
        certain += 1;
        const { status } = count(policy, ballot(letters));
        for (const full of completions(letters.replaceAll("-", "?")))
          expect([full, count(policy, ballot(full)).status]).toEqual([full, status]);
      }),
      { numRuns: 400 },
    );
    expect(certain).toBeGreaterThan(50);
  });

  it("is certain once nobody is left", () => {
    fc.assert(
      fc.property(POLICIES, LETTERS, (policy, letters) => {
        expect(isCertain(policy, ballot(letters.replaceAll("-", "a")))).toBe(true);
      }),
    );
  });

  it("is early wherever no completion differs, unless a tie may still come", () => {
    fc.assert(
      fc.property(POLICIES, LETTERS, (policy, letters) => {
        const rule = { ...policy, tie: "reject" as const };
        const ends = new Set(completions(letters.replaceAll("-", "?")).map((full) => count(rule, ballot(full)).status));
        expect(isCertain(rule, ballot(letters))).toBe(ends.size === 1);
      }),
      { numRuns: 400 },
    );
  });
});
