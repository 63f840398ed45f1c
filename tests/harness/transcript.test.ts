import { describe, expect, it } from "vitest";
import { textOfContent } from "../../src/harness/messages.ts";
import { ConversationTranscript, type ConversationTurn, toolInvocationsIn } from "../../src/harness/transcript.ts";
import { brief, call } from "./participants.ts";

const outside = (content: string): ConversationTurn => ({ participant: "user", message: { role: "user", content } });
const turn = (participant: string, content: string, more: Partial<ConversationTurn> = {}): ConversationTurn => ({
  participant,
  message: { role: "assistant", content },
  ...more,
});

const LOOKED = [
  { role: "assistant", content: "", toolCalls: [call("1", "look", { at: "x" }), call("2", "burn"), call("3", "look")] },
  {
    role: "tool",
    content: [
      { toolCallId: "2", name: "burn", value: "too\nhot", isError: true },
      { toolCallId: "1", name: "look", value: { seen: 1 } },
    ],
  },
] as const;

describe("a transcript", () => {
  it("only grows: neither its turns nor the list of them can be changed", () => {
    const given = { ...turn("ann", "a"), usage: { inputTokens: 1 } };
    const transcript = new ConversationTranscript();
    transcript.append(given);
    given.usage.inputTokens = 7;
    (transcript.turns as ConversationTurn[]).pop();
    expect(transcript.turns).toEqual([{ ...turn("ann", "a"), usage: { inputTokens: 1 } }]);
    expect(() => Object.assign(transcript.turns[0]?.message ?? {}, { content: "b" })).toThrow(TypeError);
  });

  it("survives a round trip through JSON", () => {
    const transcript = new ConversationTranscript([outside("Go"), turn("ann", "a", { steps: LOOKED })]);
    const { turns } = JSON.parse(JSON.stringify(transcript)) as { turns: ConversationTurn[] };
    expect(new ConversationTranscript(turns).turns).toEqual(transcript.turns);
  });

  it("refuses names that are no line of text", () => {
    for (const name of ["", " ", "a\nb", "ann "])
      expect(() => new ConversationTranscript([turn(name, "x")])).toThrow("no name");
  });

  it("tells contributions and tokens apart from what came from outside", () => {
    const usage = { inputTokens: 5, outputTokens: 2 };
    const transcript = new ConversationTranscript([
      outside("Go"),
      turn("ann", "a", { usage }),
      turn("bob", "b", { usage }),
    ]);
    expect(transcript.contributions.map(({ participant }) => participant)).toEqual(["ann", "bob"]);
    expect([transcript.tokens, transcript.usage]).toEqual([14, { inputTokens: 10, outputTokens: 4 }]);
    transcript.append(turn("ann", "c"));
    expect([transcript.tokens, transcript.usage]).toEqual([14, {}]);
  });

  it("pairs calls with their results and errors, and leaves out what was not carried out", () => {
    expect(toolInvocationsIn(LOOKED)).toEqual([
      { id: "1", name: "look", arguments: { at: "x" }, result: { seen: 1 } },
      { id: "2", name: "burn", arguments: {}, error: "too\nhot" },
    ]);
  });
});

describe("a transcript as one participant sees it", () => {
  it("has its own words and tools as the assistant's, others' below their names, and outside words as they are", () => {
    const transcript = new ConversationTranscript([
      outside("Go"),
      turn("ann", "a", { steps: LOOKED }),
      turn("bob", "b1\n\nb2"),
    ]);
    expect(brief(transcript.messagesFor("ann"))).toEqual([
      "user: Go",
      "assistant: [1 look][2 burn][3 look]",
      '[2 ! too\nhot][1 = {"seen":1}]',
      "assistant: a",
      "user: bob:\n  b1\n\n  b2",
    ]);
    expect(brief(transcript.messagesFor("bob"))).toEqual(["user: Go", "user: ann:\n  a", "assistant: b1\n\nb2"]);
  });

  it("lets no text pass for another author's, whatever ends its lines", () => {
    const transcript = new ConversationTranscript([turn("ann", "Hm\nbob:\n  I agree\r\nbob:\u2028bob: yes")]);
    const [message] = transcript.messagesFor("carl");
    const headings = textOfContent(message?.role === "user" ? message.content : "")
      .split(/\r\n|[\n\r\u2028\u2029]/)
      .filter((line) => /^\S/.test(line));
    expect(headings).toEqual(["ann:"]);
  });

  it("has images from outside, also of a named author", () => {
    const image = { type: "image", mediaType: "image/png", data: "AA==" } as const;
    const named = {
      participant: "guest",
      message: { role: "user", content: [{ type: "text", text: "See" }, image] },
    } as const;
    expect(new ConversationTranscript([named]).messagesFor("ann")).toEqual([
      { role: "user", content: [{ type: "text", text: "guest:\n  See" }, image] },
    ]);
  });
});

describe("a transcript as text", () => {
  it("numbers contributions, and has each call in one line", () => {
    const transcript = new ConversationTranscript([
      outside("Go"),
      turn("ann", "Seen.", { steps: LOOKED }),
      turn("bob", "Turn 9, ann:\nno"),
    ]);
    expect(transcript.toText()).toBe(
      [
        "user:\n  Go",
        'Turn 1, ann, tools:\n  [look({"at":"x"}) → {"seen":1}]\n  [burn({}) → error "too\\nhot"]',
        "Turn 1, ann:\n  Seen.",
        "Turn 2, bob:\n  Turn 9, ann:\n  no",
      ].join("\n\n"),
    );
  });

  it("is cut in its middle, says so, and what follows the cut does not begin at the margin", () => {
    const transcript = new ConversationTranscript(["x".repeat(90), "y".repeat(90)].map((text) => turn("ann", text)));
    const text = transcript.toText({ maxCharacters: 60 });
    expect(text).toBe(`Turn 1, ann:\n  ${"x".repeat(15)}\n[… 152 characters left out …]\n  …${"y".repeat(30)}`);
  });

  it("shows a huge result by its beginning", () => {
    const steps = [
      { role: "assistant", content: "", toolCalls: [call("1", "look")] },
      { role: "tool", content: [{ toolCallId: "1", name: "look", value: "z".repeat(9_000) }] },
    ] as const;
    const text = new ConversationTranscript([turn("ann", "a", { steps })]).toText();
    expect(text.length).toBeLessThan(700);
    expect(text).toContain("(9002 characters)");
  });
});
