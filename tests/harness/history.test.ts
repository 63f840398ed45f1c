import { expect, it } from "vitest";
import { cleanToolName, sendable } from "../../src/harness/history.ts";
import { type ChatMessage, textOfContent, toolCall } from "../../src/harness/messages.ts";
import { brief, call } from "./participants.ts";

const sent = (...messages: ChatMessage[]) => brief(sendable(messages, "openai/m"));
const user = (content: string): ChatMessage => ({ role: "user", content });
const system = (content: string): ChatMessage => ({ role: "system", content });
const model = (content: string, ...toolCalls: ReturnType<typeof call>[]): ChatMessage => ({
  role: "assistant",
  content,
  ...(toolCalls.length > 0 ? { toolCalls } : {}),
});
const result = (toolCallId: string, value: string): ChatMessage => ({
  role: "tool",
  content: [{ toolCallId, name: "look", value }],
});

it("joins system messages into one, and sends later ones as a user's", () => {
  expect(sent(system("One."), system("Two."), user("Hi"), system("Be brief."))).toEqual([
    "system: One.\n\nTwo.",
    "user: Hi\n\nBe brief.",
  ]);
});

it("merges neighbours of one role and drops empty messages", () => {
  expect(sent(user("a"), model(" "), user("b"), model("c"), model("d"), user("  "), user("e"))).toEqual([
    "user: a\n\nb",
    "assistant: c\n\nd",
    "user: e",
  ]);
});

it("keeps images and files when messages are merged", () => {
  const image = { type: "image", mediaType: "image/png", data: "AA==" } as const;
  const [merged] = sendable([{ role: "user", content: [image] }, user("What is it?")], "x");
  expect(merged).toEqual({ role: "user", content: [image, { type: "text", text: "What is it?" }] });
});

it("puts a user's message before a model that begins, and refuses to end with the model", () => {
  expect(sent(model("I begin."), user("Go on"))).toEqual([
    "user: (The conversation begins.)",
    "assistant: I begin.",
    "user: Go on",
  ]);
  for (const messages of [[], [system("S")], [user(" ")], [user("a"), model("b")]])
    expect(() => sendable(messages, "x")).toThrow("nothing to answer");
});

it("gives a call without a result one that says so, and turns a result without a call into a user's words", () => {
  expect(
    sent(user("a"), model("", call("x", "look"), call("y", "look")), result("y", "seen"), result("z", "old")),
  ).toEqual([
    "user: a",
    "assistant: [call_1 look][call_2 look]",
    "[call_1 ! This call was not carried out.][call_2 = seen]",
    "user: Result of the tool look: old",
  ]);
  expect(sent(result("gone", "42"))).toEqual(["user: Result of the tool look: 42"]);
});

it("replaces ids and odd names, so that those of one provider suit another", () => {
  const messages = [
    user("a"),
    model("", call("toolu_01/é", "läs fil")),
    result("toolu_01/é", "1"),
    model("", call("1", "x".repeat(80))),
  ];
  expect(sent(...messages, result("1", "2"))).toEqual([
    "user: a",
    "assistant: [call_1 l_s_fil]",
    "[call_1 = 1]",
    `assistant: [call_2 ${"x".repeat(64)}]`,
    "[call_2 = 2]",
  ]);
  expect(cleanToolName("")).toBe("tool");
});

it("sends reasoning back only to the model that thought it", () => {
  const thought = (by: string) => ({ by, text: "hm", data: { signature: "s" } });
  const spoken: ChatMessage = {
    role: "assistant",
    content: "b",
    reasoning: [thought("anthropic/c"), thought("openai/m")],
  };
  const [, assistant] = sendable([user("a"), spoken, user("c")], "openai/m");
  expect(assistant).toEqual({ role: "assistant", content: "b", reasoning: [thought("openai/m")] });
  expect(sendable([user("a"), spoken, user("c")], "xai/m")[1]).toEqual({ role: "assistant", content: "b" });
});

it("never changes what it is given, and a second pass changes nothing", () => {
  const messages = [system("s"), user("a"), model("b", call("x", "look")), user("c"), result("x", "late")];
  const before = structuredClone(messages);
  const once = sendable(messages, "x");
  expect(messages).toEqual(before);
  expect(sendable(once, "x")).toEqual(once);
});

it("reads arguments that are empty, and keeps what is no JSON object as malformed", () => {
  expect(toolCall("1", "look", "")).toEqual({ id: "1", name: "look", arguments: {} });
  expect(toolCall("1", "look", '{"a":[1]}')).toEqual({ id: "1", name: "look", arguments: { a: [1] } });
  for (const text of ['{"a":', "[1]", "null", "7"])
    expect(toolCall("1", "look", text)).toEqual({ id: "1", name: "look", arguments: {}, malformed: text });
});

it("takes the text of parts, without media", () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "file", mediaType: "audio/wav", data: "AA==" },
    { type: "text", text: "b" },
  ] as const;
  expect(textOfContent(parts)).toBe("a\n\nb");
});
