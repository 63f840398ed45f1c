import { describe, expect, it } from "vitest";
import { ConversationRunner } from "../../src/harness/conversation-runner.ts";
import { textOfContent } from "../../src/harness/messages.ts";
import { ProviderError } from "../../src/harness/provider.ts";
import { anyOf, contains, measure } from "../../src/harness/stop-conditions.ts";
import { functionTools } from "../../src/harness/tools.ts";
import type { TraceEvent } from "../../src/harness/trace.ts";
import { ConversationTranscript } from "../../src/harness/transcript.ts";
import { TokenBudget } from "../../src/harness/usage.ts";
import { call, participant, sentBy } from "./participants.ts";

const said = ({ turns }: ConversationTranscript) =>
  turns.map(({ participant, message }) => `${participant}: ${textOfContent(message.content)}`);

/** A participant who counts its answers. */
const counting = (name: string) => {
  let count = 0;
  return participant(name, () => `${name}${(count += 1)}`);
};

describe("a conversation", () => {
  it("goes round, and each answers what was said since its last turn", async () => {
    const [ann, bob, eve] = [counting("ann"), counting("bob"), counting("eve")];
    const { transcript, turns, stoppedBy } = await new ConversationRunner([ann, bob, eve]).run({
      startingMessage: "Go",
      maxTurns: 4,
    });
    expect(said(transcript)).toEqual(["user: Go", "ann: ann1", "bob: bob1", "eve: eve1", "ann: ann2"]);
    expect({ turns, stoppedBy }).toEqual({ turns: 4, stoppedBy: ["maxTurns"] });
    expect(sentBy(ann, 0)).toEqual(["user: Go"]);
    expect(sentBy(bob, 0)).toEqual(["user: Go\n\nann:\n  ann1"]);
    expect(sentBy(ann, 1)).toEqual(["user: Go", "assistant: ann1", "user: bob:\n  bob1\n\neve:\n  eve1"]);
  });

  it("gives participants tools, whose calls stand in the turn", async () => {
    const look = functionTools({ look: { description: "", run: () => "a tree" } });
    const ann = participant("ann", [{ toolCalls: [call("1", "look")] }, "I see a tree.", "Still."]);
    const bob = participant("bob", ["Nice."]);
    const { transcript } = await new ConversationRunner([ann, bob]).run({
      startingMessage: "Go",
      maxTurns: 3,
      toolsFor: ({ name }) => (name === "ann" ? look : undefined),
    });
    expect(transcript.turns[1]?.steps).toHaveLength(2);
    expect(sentBy(bob)).toEqual(["user: Go\n\nann:\n  I see a tree."]);
    expect(bob.adapter.requests[0]?.tools).toBeUndefined();
    expect(sentBy(ann, 2).slice(1, 4)).toEqual([
      "assistant: [call_1 look]",
      "[call_1 = a tree]",
      "assistant: I see a tree.",
    ]);
  });

  it("needs two participants with names of their own, and something to answer", async () => {
    const ann = counting("ann");
    expect(() => new ConversationRunner([ann])).toThrow("two participants or more");
    expect(() => new ConversationRunner([ann, ann])).toThrow("Two participants are called ann");
    expect(() => new ConversationRunner([ann, counting("user")])).toThrow("No participant may be called user");
    await expect(new ConversationRunner([ann, counting("bob")]).run({ maxTurns: 1 })).rejects.toThrow(
      "nothing that ann could answer",
    );
  });

  it("that fails keeps the turns before, and goes on from there", async () => {
    const bob = participant("bob", [new ProviderError("server", "Broken."), "Here again."]);
    const runner = new ConversationRunner([counting("ann"), bob]);
    const transcript = new ConversationTranscript();
    await expect(runner.run({ startingMessage: "Go", transcript, maxTurns: 4 })).rejects.toThrow("Broken.");
    expect(said(transcript)).toEqual(["user: Go", "ann: ann1"]);
    await runner.run({ transcript, maxTurns: 1 });
    expect(said(transcript)).toEqual(["user: Go", "ann: ann1", "bob: Here again."]);
  });

  it("traces every turn with who spoke", async () => {
    const events: TraceEvent[] = [];
    const trace = (event: TraceEvent) => void events.push(event);
    await new ConversationRunner([counting("ann"), counting("bob")], { trace }).run({
      startingMessage: "Go",
      maxTurns: 2,
    });
    const turns = events.flatMap((event) => (event.type === "turn" ? [event.turn.participant] : []));
    expect(turns).toEqual(["ann", "bob"]);
  });
});

describe("an earlier transcript", () => {
  const earlier = () =>
    new ConversationTranscript([
      { participant: "user", message: { role: "user", content: "Go" } },
      { participant: "ann", message: { role: "assistant", content: "One" } },
      { participant: "bob", message: { role: "assistant", content: "Two" } },
    ]);

  it("goes on after its last speaker, and is added to", async () => {
    const [ann, bob, eve] = [counting("ann"), counting("bob"), counting("eve")];
    const transcript = earlier();
    const result = await new ConversationRunner([ann, bob, eve]).run({ transcript, maxTurns: 2 });
    expect(result.transcript).toBe(transcript);
    expect(said(transcript).slice(3)).toEqual(["eve: eve1", "ann: ann1"]);
  });

  it("goes on with other participants, from whom its speakers are others", async () => {
    const [carl, ann] = [counting("carl"), counting("ann")];
    const { transcript } = await new ConversationRunner([ann, carl]).run({
      transcript: earlier(),
      startingMessage: "Go on",
      maxTurns: 2,
    });
    expect(said(transcript).slice(3)).toEqual(["user: Go on", "carl: carl1", "ann: ann1"]);
    expect(sentBy(carl)).toEqual(["user: Go\n\nann:\n  One\n\nbob:\n  Two\n\nGo on"]);
    expect(sentBy(ann)).toEqual(["user: Go", "assistant: One", "user: bob:\n  Two\n\nGo on\n\ncarl:\n  carl1"]);
  });

  it("is not stopped by what stopped it before, until a turn was made", async () => {
    const result = await new ConversationRunner([counting("ann"), counting("bob")]).run({
      transcript: earlier(),
      maxTurns: 5,
      stop: measure("turns", ">=", 2),
    });
    expect(result).toMatchObject({ turns: 1, stoppedBy: ["turns>=2"] });
  });
});

it("participants who are injected speak after the others from then on", async () => {
  const eve = counting("eve");
  const { transcript } = await new ConversationRunner([counting("ann"), counting("bob")]).run({
    startingMessage: "Go",
    maxTurns: 6,
    inject: ({ contributions }) => (contributions.length >= 3 ? [eve] : []),
  });
  expect(said(transcript).slice(1)).toEqual([
    "ann: ann1",
    "bob: bob1",
    "ann: ann2",
    "bob: bob2",
    "eve: eve1",
    "ann: ann3",
  ]);
  const twice = new ConversationRunner([counting("ann"), counting("bob")]);
  const run = twice.run({ startingMessage: "Go", maxTurns: 1, inject: () => [eve, counting("eve")] });
  await expect(run).rejects.toThrow("Two participants are called eve");
});

describe("the end of a conversation", () => {
  const pair = () => [counting("ann"), counting("bob")] as const;

  it("names every part of the condition that held, and the limit if it was reached too", async () => {
    const stop = anyOf(contains("bob1"), measure("turns", ">=", 2), contains("never"));
    const run = async (maxTurns: number) =>
      (await new ConversationRunner(pair()).run({ startingMessage: "Go", maxTurns, stop })).stoppedBy;
    expect(await run(9)).toEqual(['contains("bob1")', "turns>=2"]);
    expect(await run(2)).toEqual(['contains("bob1")', "turns>=2", "maxTurns"]);
  });

  it("may be a plain function, named by its name", async () => {
    const agree = (text: string) => participant("x", () => text).adapter;
    /** Both of the last two agree. */
    function bothAgree({ contributions }: ConversationTranscript): boolean {
      const lastTwo = contributions.slice(-2);
      return lastTwo.length === 2 && lastTwo.every(({ message }) => textOfContent(message.content).includes("I agree"));
    }
    const participants = ["ann", "bob"].map((name) => ({ name, model: "m", adapter: agree("I agree.") }));
    const result = await new ConversationRunner(participants).run({
      startingMessage: "Go",
      maxTurns: 9,
      stop: bothAgree,
    });
    expect(result).toMatchObject({ turns: 2, stoppedBy: ["bothAgree"] });
  });

  it("comes when the budget is spent, also within a turn, which is dropped then", async () => {
    const usage = { inputTokens: 40, outputTokens: 10 };
    const look = functionTools({ look: { description: "", run: () => "" } });
    const ann = participant("ann", () => ({ content: "Yes", usage }));
    const bob = participant("bob", () => ({ toolCalls: [call("1", "look")], usage }));
    const result = await new ConversationRunner([ann, bob]).run({
      startingMessage: "Go",
      maxTurns: 9,
      budget: new TokenBudget(100),
      toolsFor: () => look,
    });
    expect(result).toMatchObject({ turns: 1, stoppedBy: ["budget"] });
  });

  it("comes at once if the limit is no number", async () => {
    const result = await new ConversationRunner(pair()).run({ startingMessage: "Go", maxTurns: Number.NaN });
    expect(result).toMatchObject({ turns: 0, stoppedBy: ["maxTurns"] });
  });

  it("comes with an abort, which stands first", async () => {
    const stop = new AbortController();
    const bob = participant("bob", () => () => {
      stop.abort();
      return new Promise<string>(() => {});
    });
    const result = await new ConversationRunner([counting("ann"), bob]).run({
      startingMessage: "Go",
      maxTurns: 9,
      signal: stop.signal,
    });
    expect(result).toMatchObject({ turns: 1, stoppedBy: ["abort"] });
    const budget = new TokenBudget(0);
    const both = await new ConversationRunner(pair()).run({
      startingMessage: "Go",
      maxTurns: 0,
      signal: stop.signal,
      budget,
    });
    expect(both).toMatchObject({ turns: 0, stoppedBy: ["abort", "budget", "maxTurns"] });
  });
});
