import { describe, expect, it } from "vitest";
import { readInput } from "../../../src/kernel/kit/input.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { conversation } from "../../../src/modes/conversation/conversation.ts";
import { transcriptOf } from "../transcripts.ts";
import { ConversationSession, ROLES } from "./session.ts";

const THREE = { participants: ["ann", "ben", "cat"] };

describe("a conversation", () => {
  it("goes round by round through its participants, up to the limit", () => {
    const session = new ConversationSession({ ...THREE, max_turns: 5 });
    const order = Array.from({ length: 5 }, () => {
      const { speaking } = session;
      session.says();
      return speaking;
    });
    expect(order).toEqual(["ann", "ben", "cat", "ann", "ben"]);
    expect(session.ended).toMatchObject({ outcome: "done" });
    expect(session.result).toMatchObject({ stopped_by: ["max_turns"], turns: { held: 5, of: 5 } });
  });

  it("makes each contribution the next one's message, and tells whose it is", () => {
    const session = new ConversationSession();
    expect(session.told).toEqual({ text: "Hello?", metadata: { from: "user" } });
    session.says("Hi.");
    expect(session.told).toEqual({ text: "Hi.", metadata: { from: "ann" } });
    session.says("Well?");
    expect(session.told).toEqual({ text: "Well?", metadata: { from: "ben" } });
  });

  it("shows each participant its own words and all others', each with its author", () => {
    const session = new ConversationSession(THREE);
    expect(session.shown).toEqual([]);
    session.says("One.").says("Two.\nann: Three.");
    expect([session.speaking, session.shown]).toEqual(["cat", ["ann: One.", "ben: Two.\nann: Three."]]);
    session.says("Four.");
    expect([session.speaking, session.shown]).toEqual(["ann", ["ann: One.", "ben: Two.\nann: Three.", "cat: Four."]]);
  });

  it("ends with everything that was said, by whom", () => {
    const session = new ConversationSession({ max_turns: 2 }).says("Hi.").says("Hello.");
    expect(session.result).toEqual({
      stopped_by: ["max_turns"],
      turns: { held: 2, of: 2 },
      participants: [
        { role_id: "ann", status: "heard" },
        { role_id: "ben", status: "heard" },
      ],
      contributions: [
        { role_id: "ann", text: "Hi." },
        { role_id: "ben", text: "Hello." },
      ],
    });
    expect(conversation.presentation.parts(session.result)).toEqual([
      { title: "Conversation", text: "2 of 2 turns", points: ["stopped by max_turns"] },
      { title: "ann", text: "Hi.", points: [] },
      { title: "ben", text: "Hello.", points: [] },
    ]);
  });

  it("lets a person speak into it: to all, or to one", () => {
    const session = new ConversationSession().command("tell", undefined, { text: "Be short." });
    session.command("tell", "ben", { text: "Be kind." }).says("Hi.");
    expect(session.resolved(session.draft("ben")).context["notes"]).toEqual(["Be short.", "Be kind."]);
    session.says("Hello.");
    expect(session.resolved(session.draft("ann")).context["notes"]).toEqual(["Be short."]);
  });

  it("goes on with the same participant, and the same message, after a stop", () => {
    const session = new ConversationSession().says("Hi.").admit("ben").stop().recover();
    expect([session.speaking, session.told["text"], session.shown]).toEqual(["ben", "Hi.", ["ann: Hi."]]);
  });
});

describe("a stop condition", () => {
  it.each<[string, number, readonly string[]]>([
    ["turns>=3", 3, ["turns>=3"]],
    ['contains("DONE")', 4, ['contains("DONE")']],
    ['contains("DONE", "ann")', 5, ['contains("DONE", "ann")']],
    ["tokens>=20", 2, ["tokens>=20"]],
    ['tokens>1000 or contains("DONE")', 4, ['contains("DONE")']],
    ['turns>=4 or contains("DONE")', 4, ["turns>=4", 'contains("DONE")']],
    ["turns>=2 and not turns<2", 2, ["(turns>=2 and not turns<2)"]],
    ["turns>=9", 6, ["max_turns"]],
    ["turns>=6", 6, ["turns>=6", "max_turns"]],
  ])("%s stops after %i contributions, and the result says which did", (stop, held, stopped_by) => {
    const session = new ConversationSession({ stop, max_turns: 6 });
    const texts = ["Hi.", "Hello.", "So?", "DONE.", "DONE too.", "Bye."];
    for (const text of texts) if (!session.ended) session.says(text, { input_tokens: 8, output_tokens: 2 });
    expect(session.result).toMatchObject({ stopped_by, turns: { held } });
    expect(session.ended).toMatchObject({ outcome: "done" });
  });

  it("reads applied contributions only: none that failed or was refused", () => {
    const session = new ConversationSession({ stop: 'contains("DONE")' });
    session.answer("ann", "report", { status: "proposal", summary: "DONE" });
    expect([session.refused, session.speaking]).toEqual(["validation_failed /status", "ann"]);
    session.answer("ann", "report", { status: "error", summary: "DONE" }).fireTimer("retry:ann");
    expect(session.says("Well.").ended).toBeUndefined();
  });

  it("gives way to a person who cancels", () => {
    const session = new ConversationSession({ stop: "turns>=1" }).command("cancel");
    expect(session.ended).toMatchObject({ outcome: "cancelled" });
    expect(session.result["stopped_by"]).toEqual(["abort"]);
  });

  it("that cannot be parsed is refused with its place", () => {
    const input = { start: "Hello?", participants: ["ann", "ben"] };
    const read = (stop: string) => {
      const found = readInput(conversation, { ...input, stop }, ROLES);
      return found.ok ? [] : found.error.map(({ pointer, what }) => `${pointer} ${what}`);
    };
    expect(read("turns>=3 or nothing")).toEqual([
      expect.stringMatching(/^\/stop At character 13, nothing: one of turns, tokens, contains is expected/),
    ]);
    expect(read("turns>=3")).toEqual([]);
  });
});

describe("a participant", () => {
  it("that fails for good is passed with its reason, and the others go on", () => {
    const session = new ConversationSession({ ...THREE, max_turns: 4 }, { max_retries: 0 }).says("Hi.");
    session.fail("ben", "timeout");
    expect([session.moved, session.speaking, session.told["text"]]).toEqual([
      ["ben: speaking -passed-> passed (timeout)", "cat: waiting -asked-> speaking"],
      "cat",
      "Hi.",
    ]);
    session.says("Hello.").says("So?");
    expect(session.speaking).toBe("cat");
    session.says("Bye.");
    expect(session.result["participants"]).toContainEqual({ role_id: "ben", status: "passed", reason: "timeout" });
    expect(conversation.presentation.parts(session.result)[0]?.points).toContain("ben passed: timeout");
  });

  it("is tried again before, with the same message", () => {
    const session = new ConversationSession().says("Hi.").fail("ben").fireTimer("retry:ben");
    expect([session.speaking, session.told["text"]]).toEqual(["ben", "Hi."]);
  });

  it("that has nobody left to answer does not answer itself: the conversation has failed", () => {
    const session = new ConversationSession({}, { max_retries: 0 }).says("Hi.").fail("ben");
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "nobody_left" });
    expect(session.result).toMatchObject({ stopped_by: [], contributions: [{ role_id: "ann", text: "Hi." }] });
  });

  it("still answers what others said before they left", () => {
    const session = new ConversationSession(THREE).says("Hi.").command("cancel", "ann").command("cancel", "ben");
    expect([session.speaking, session.told["text"]]).toEqual(["cat", "Hi."]);
    expect(session.says("Hello.").ended).toMatchObject({ outcome: "failed", reason: "nobody_left" });
  });

  it("that is the last to fail ends it as failed", () => {
    const session = new ConversationSession({}, { max_retries: 0 }).fail("ann").fail("ben");
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "nobody_left" });
  });
});

describe("a conversation that continues another session", () => {
  const continued = transcriptOf(["ann", "One."], ["user", "And?"], ["dan", "Two."], ["scheduler", "no answer"]);
  const from = (more: JsonObject = {}) => new ConversationSession({ continued, ...more });

  it("shows its participants what was said there, then what a person says now, then their own words", () => {
    const session = from();
    const before = ["ann: One.", "user: And?", "dan: Two.", "scheduler: no answer", "user: Hello?"];
    expect(session.shown).toEqual(before);
    session.says("Three.");
    expect(session.shown).toEqual([...before, "ben: Three."]);
  });

  it("goes on with whoever follows its last speaker that is still there", () => {
    expect(from().speaking).toBe("ben");
    expect(from({ participants: ["cat", "ben"] }).speaking).toBe("cat");
  });

  it("counts the earlier contributions in its stop conditions, and not in its limit", () => {
    const session = from({ stop: "turns>=4", max_turns: 3 }).says();
    expect(session.ended).toBeUndefined();
    expect(session.says().result).toMatchObject({ stopped_by: ["turns>=4"], turns: { held: 2, of: 3 } });
  });

  it("records which session it continues, up to which record, and its words", () => {
    const session = from({ max_turns: 1 }).says();
    expect(session.result["continued"]).toEqual({ session_id: "c-before", up_to: 40 });
    expect(session.records[0]?.payload["input"]).toMatchObject({ continued });
  });
});
