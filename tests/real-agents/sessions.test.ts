import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { crew, manager, worker } from "../model-servers/brains.ts";
import { pair, type Program } from "./crews.ts";
import { outputUnless, placeWith } from "./place.ts";

const QUESTION = { question_id: "name", text: "Whose name?", why: "It is written down.", options: ["Ada", "Bob"] };

/** Two tasks, the second of which needs the first, each with a check that Bosun runs. */
const TASKS: readonly JsonObject[] = [
  {
    task_id: "note",
    description: "Write note.txt with the name.",
    acceptance_criteria: [{ text: "the name is in it", command: ["grep", "-q", "Ada", "note.txt"] }],
  },
  {
    task_id: "count",
    description: "Correct the note, and count its letters.",
    dependencies: ["note"],
    acceptance_criteria: [{ text: "the count is there", command: ["test", "-s", "count.txt"] }],
  },
];

const brains = crew(
  manager({ tasks: TASKS, questions: [QUESTION] }),
  worker(({ ticket_id }) =>
    ticket_id === "note"
      ? [{ write: "note.txt", content: "Ada was here.\n" }, { run: "cat note.txt" }]
      : [{ edit: "note.txt", old: "Ada was here.", new: "Ada is here." }, { run: "cp note.txt count.txt" }],
  ),
);

const PAIRS: readonly (readonly [Program, Program])[] = [
  ["codex", "codex"],
  ["codex", "claude"],
  ["claude", "codex"],
  ["codex", "opencode"],
  ["claude", "gemini by ACP"],
  ["codex", "claude by ACP"],
];

describe("a whole session", () => {
  it.each(PAIRS)("is managed by %s and worked by %s", async (boss, hand) => {
    const here = await placeWith(brains);
    const roles = here.write("roles.json", pair(boss, hand, { permissions: { commands: ["cat *", "cp *"] } }));
    const began = performance.now();
    const run = await here.bosun(
      "run",
      "Write a note.",
      "--isolation",
      "none",
      "--roles",
      roles,
      "--answer",
      "name=Ada",
      "--yes",
      "--reporter",
      "plain",
    );
    expect(outputUnless(0, run)).toBe("");
    expect(here.read("note.txt")).toBe("Ada is here.\n");
    expect(here.read("count.txt")).toBe("Ada is here.\n");

    const { usage, tickets, outcome } = await here.status();
    expect(outcome).toBe("done");
    // A clarification, the plan, and for each task an instruction, the work and a review.
    expect(usage.turns).toBe(8);
    expect(tickets.map(({ ticket_id, status, attempts }) => [ticket_id, status, attempts])).toEqual([
      ["note", "done", 1],
      ["count", "done", 1],
    ]);
    const told = here.server.usage();
    // Gemini does not tell by ACP what was cached.
    const cached = hand === "gemini by ACP" ? {} : { cached_tokens: told.cached };
    expect(usage).toMatchObject({ input_tokens: told.input, output_tokens: told.output, ...cached });
    console.log(
      `${boss} and ${hand}: ${usage.turns} turns, ${here.server.exchanges.length} requests, ${told.input} tokens in (${told.cached} cached), ${told.output} out, ${((performance.now() - began) / 1000).toFixed(1)} s`,
    );
  });
});
