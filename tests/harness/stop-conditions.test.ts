import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseStopCondition } from "../../src/harness/parse-stop-condition.ts";
import {
  allOf,
  anyOf,
  contains,
  heldBy,
  labelled,
  measure,
  not,
  type StopCondition,
} from "../../src/harness/stop-conditions.ts";
import { ConversationTranscript } from "../../src/harness/transcript.ts";

/** A transcript of `ann` and `bob` in turn, each turn with 10 tokens. */
function talk(...texts: string[]): ConversationTranscript {
  const usage = { inputTokens: 8, outputTokens: 2 };
  return new ConversationTranscript([
    { participant: "user", message: { role: "user", content: "Go. DONE" } },
    ...texts.map((content, index) => ({
      participant: index % 2 === 0 ? "ann" : "bob",
      message: { role: "assistant", content } as const,
      usage,
    })),
  ]);
}

function parsed(text: string): StopCondition {
  const result = parseStopCondition(text);
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

const error = (text: string) => {
  const result = parseStopCondition(text);
  return result.ok ? undefined : result.error;
};

describe("stop conditions", () => {
  it("count the turns of participants and their tokens", () => {
    expect([">=", ">", "=", "<", "<="].map((sign) => parsed(`turns${sign}2`)(talk("a", "b")))).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
    expect([measure("tokens", ">=", 20), measure("tokens", ">=", 21)].map((one) => one(talk("a", "b")))).toEqual([
      true,
      false,
    ]);
    expect(measure("turns", ">=", 1)(talk())).toBe(false);
  });

  it("find a text in the last turn, in its case, and by whom", () => {
    expect(contains("DONE")(talk("We are DONE.", "No"))).toBe(false);
    expect(contains("DONE")(talk())).toBe(false);
    expect(["DONE", "done"].map((text) => contains(text)(talk("DONE.")))).toEqual([true, false]);
    expect(["ann", "bob"].map((by) => contains("DONE", by)(talk("DONE.")))).toEqual([true, false]);
  });

  it("tell what held by their labels", () => {
    const transcript = talk("a DONE", "b DONE");
    const both = allOf(contains("DONE"), measure("turns", ">=", 2));
    expect(heldBy(anyOf(both, contains("X"), not(contains("X"))), transcript)).toEqual([
      '(contains("DONE") and turns>=2)',
      'not contains("X")',
    ]);
    expect(heldBy(not(anyOf(both, contains("X"))), transcript)).toEqual([]);
    expect(
      heldBy(
        labelled("mine", () => true),
        transcript,
      ),
    ).toEqual(["mine"]);
    expect(
      heldBy(
        (
          () => () =>
            true
        )(),
        transcript,
      ),
    ).toEqual(["condition"]);
  });
});

describe("the text of a stop condition", () => {
  it.each([
    ['turns>=6 or contains("DONE")', '(turns>=6 or contains("DONE"))'],
    ["turns >= 6 && ! tokens <= 2", "(turns>=6 and not tokens<=2)"],
    [
      'not (tokens<1000 || turns=2) and contains("a or b", "ann")',
      '(not (tokens<1000 or turns=2) and contains("a or b", "ann"))',
    ],
    ["(turns>1 or turns>2) and turns>3", "((turns>1 or turns>2) and turns>3)"],
    ["((turns>1))", "turns>1"],
    ['contains("say \\"yes\\"\\n")', 'contains("say \\"yes\\"\\n")'],
  ])("%s", (text, label) => {
    expect(parsed(text).label).toBe(label);
  });

  it("binds not before and, and before or", () => {
    expect(parsed("turns>=1 or turns>=2 and turns>=3")(talk("a"))).toBe(true);
    expect(parsed("(turns>=1 or turns>=2) and turns>=3")(talk("a"))).toBe(false);
    expect(parsed("not turns>=1 or turns>=1")(talk("a"))).toBe(true);
    expect(parsed("not (turns>=1 or turns>=2)")(talk("a"))).toBe(false);
  });

  it.each([
    ["", "At the end: one of turns, tokens, contains is expected."],
    ["turn>=6", "At character 1, turn: one of turns, tokens, contains is expected. Did you mean turns?"],
    ["turns", "At the end: one of >= > <= < = is expected"],
    ["turns >= many", "At character 10, many: a whole number is expected"],
    ["turns>=99999999999999999999", "At character 8, 99999999999999999999: a whole number is expected"],
    ["turns>=6 contains", 'At character 10, contains: "and", "or" or the end is expected'],
    ["(turns>=6", 'At the end: ")" is expected'],
    ["contains(DONE)", "At character 10, DONE: a text in double quotes is expected"],
    ['contains("")', 'At character 10, "": a text in double quotes is expected'],
    ['contains("\\q")', 'At character 10, "\\q": a text in double quotes is expected'],
    ['contains("DONE', 'At character 10, ": a text in double quotes is expected'],
    ["turns>=6 or or", "At character 13, or: one of turns, tokens, contains is expected."],
    ["constructor()", "At character 1, constructor: one of turns, tokens, contains is expected."],
  ])("%j is refused with its place and what is expected there", (text, message) => {
    expect(error(text)).toBe(message);
  });

  it("is refused if it is nested too deeply", () => {
    expect(error("(".repeat(100_000))).toContain("fewer parentheses");
    expect(error("not ".repeat(100_000))).toContain("fewer parentheses");
  });

  it("means the same again when it is made from a condition's label", () => {
    const leaf = fc.oneof(
      fc
        .tuple(fc.constantFrom("turns", "tokens"), fc.constantFrom(">=", ">", "<", "<=", "="), fc.nat(40))
        .map(([what, sign, limit]) => measure(what as "turns", sign as ">=", limit)),
      fc
        .tuple(
          fc.string({ minLength: 1, unit: "grapheme" }),
          fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
        )
        .map(([text, by]) => contains(text, by)),
    );
    const { condition } = fc.letrec<{ condition: StopCondition }>((tie) => ({
      condition: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.tuple(tie("condition"), tie("condition")).map(([one, other]) => anyOf(one, other)),
        fc.tuple(tie("condition"), tie("condition")).map(([one, other]) => allOf(one, other)),
        tie("condition").map((one) => not(one)),
      ),
    }));
    const talks = fc.array(fc.constantFrom("a", "b", "DONE"), { maxLength: 6 }).map((texts) => talk(...texts));
    fc.assert(
      fc.property(condition, talks, (one, transcript) => {
        const again = parsed(one.label ?? "");
        expect(again.label).toBe(one.label);
        expect(again(transcript)).toBe(one(transcript));
        expect(heldBy(again, transcript)).toEqual(heldBy(one, transcript));
      }),
    );
  });
});
