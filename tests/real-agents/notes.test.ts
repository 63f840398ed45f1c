import { describe, expect, it } from "vitest";
import { answering, crew, manager, sinceTurn, turnOf } from "../model-servers/brains.ts";
import type { Model } from "../model-servers/conversation.ts";
import { pair } from "./crews.ts";
import { outputUnless, placeWith } from "./place.ts";

const TASKS = [{ task_id: "note", description: "Read README.md.", acceptance_criteria: ["It is read."] }];

/** Works when `told` is resolved: calls a tool first, if it `calls`, then reports. */
function worker(told: Promise<void>, calls: boolean): Model {
  return async (conversation) => {
    const turn = turnOf(conversation);
    if (turn === undefined) return { text: "I know no turn." };
    await told;
    const hasCalled = sinceTurn(conversation, turn).some(({ from }) => from === "tool");
    if (calls && !hasCalled) return { text: "I look.", act: [{ run: "cat README.md" }] };
    return answering(conversation, "report", { status: "completed", summary: "It is read." }, "I report.");
  };
}

describe.each(["claude", "codex"] as const)("a note to a running turn of %s", (program) => {
  it.each([
    ["before its next request", true],
    ["although it has just answered", false],
  ])("is read by it %s", async (_, calls) => {
    const told = Promise.withResolvers<void>();
    const here = await placeWith(crew(manager({ tasks: TASKS }), worker(told.promise, calls)));
    const roles = here.write("roles.json", pair(program, program, { permissions: { commands: ["cat *"] } }));
    const run = here.start(["run", "Read it.", "--roles", roles, "--yes", "--reporter", "plain"]);
    const asked = (words: string) =>
      here.server.exchanges.filter(({ side, body }) => !side && JSON.stringify(body).includes(words));
    // Its first request waits for the model.
    await expect.poll(() => asked("(`hand`)").length, { timeout: 60_000 }).toBe(1);
    const note = await here.bosun("tell", "note", "Mind the umlauts.");
    told.resolve();
    const ended = await run.ended;
    expect(outputUnless(0, ended)).toBe("");
    expect(note.stdout).toContain("Told the running turn.");
    const withNote = asked("(`hand`)").map(({ body }) =>
      JSON.stringify(body).includes("A note to this turn: Mind the umlauts."),
    );
    expect([withNote[0], withNote.at(-1)]).toEqual([false, true]);
    expect(ended.stdout).toContain("(told the running turn)");
  });
});
