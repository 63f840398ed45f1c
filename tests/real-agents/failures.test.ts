import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { until } from "../commands/rig.ts";
import { answering, crew, manager, turnOf, worker } from "../model-servers/brains.ts";
import type { Conversation, Model, Step } from "../model-servers/conversation.ts";
import { pair, type Program } from "./crews.ts";
import { outputUnless, type Place, placeWith } from "./place.ts";

const TASK = {
  task_id: "note",
  description: "Write note.txt.",
  acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "note.txt"] }],
};

const brains = crew(
  manager({ tasks: [TASK] }),
  worker(() => [{ write: "note.txt", content: "A note.\n" }, { run: "cat note.txt" }]),
);

/** Retries come at once. */
const SETTINGS = { retry_backoff_ms: 1 };

/** The programs whose models fail, and another that works well, so that one side is tested at a time. */
const WORKERS: readonly Program[] = ["claude", "codex"];

/** A worker whose model does `step` until the test has seen enough. */
function failingWorker(step: Step): { readonly model: Model; mend(): void } {
  let mended = false;
  return {
    model: (conversation) => (mended || !isWorker(conversation) ? brains(conversation) : step),
    mend: () => (mended = true),
  };
}

function isWorker(conversation: Conversation): boolean {
  return turnOf(conversation)?.types.includes("report") === true;
}

function started(here: Place, worker: Program): ReturnType<Place["start"]> {
  const roles = here.write("roles.json", pair("codex", worker));
  const settings = here.write("settings.json", SETTINGS);
  return here.start(["run", "Write a note.", "--roles", roles, "--config", settings, "--yes", "--reporter", "plain"]);
}

/** Waits for a record, and gives it. */
async function recorded(here: Place, fits: (record: LogRecord) => boolean): Promise<LogRecord> {
  let found: LogRecord | undefined;
  await until("the record", async () => {
    found = (await here.records()).find(fits);
    return found !== undefined;
  });
  if (found === undefined) throw new Error("unreachable");
  return found;
}

function failedWith(code: string): (record: LogRecord) => boolean {
  return ({ payload_type, payload }) => payload_type === "turn_failed" && (payload as { code?: string }).code === code;
}

/** How the session ended, and what became of its ticket. */
async function endOf(here: Place, running: ReturnType<Place["start"]>): Promise<object> {
  const output = outputUnless(0, await running.ended);
  const { tickets } = await here.status();
  return { output, tickets: tickets.map(({ ticket_id, status, attempts }) => [ticket_id, status, attempts]) };
}

function doneAfter(attempts: number): object {
  return { output: "", tickets: [["note", "done", attempts]] };
}

describe("a worker whose model", () => {
  it.each(WORKERS)("reaches a rate limit is held, and goes on by itself: %s", async (program) => {
    const failing = failingWorker({ status: 429, retry_after_s: 1 });
    const here = await placeWith(failing.model);
    const running = started(here, program);
    await recorded(here, failedWith("rate_limited"));
    failing.mend();
    expect(await endOf(here, running)).toEqual(doneAfter(1));
  });

  it.each([
    ["breaks down", { status: 500 }],
    ["is cut off in its answer", { drop: "I will write the note now, and then I will" }],
  ] as const)("%s is held, and goes on by itself", async (_what, step) => {
    for (const program of WORKERS) {
      const failing = failingWorker(step);
      const here = await placeWith(failing.model);
      const running = started(here, program);
      await recorded(here, failedWith("unavailable"));
      failing.mend();
      expect(await endOf(here, running)).toEqual(doneAfter(1));
    }
  });

  it.each(WORKERS)("does not take the key is held until a person acts: %s", async (program) => {
    const failing = failingWorker({ status: 401 });
    const here = await placeWith(failing.model);
    expect(outputUnless(4, await started(here, program).ended)).toBe("");
    const { holds } = await here.status();
    // Roles of one account are held together.
    expect(holds).toContainEqual(expect.objectContaining({ role_id: "hand", reason: "authentication" }));
    failing.mend();
    expect(await endOf(here, here.start(["resume", "--release", "hand", "--reporter", "plain"]))).toEqual(doneAfter(1));
  });

  it.each(WORKERS)("refuses fails its attempt, and the next one succeeds: %s", async (program) => {
    const failing = failingWorker({ refuse: "I do not write notes." });
    const here = await placeWith(failing.model);
    const running = started(here, program);
    await recorded(here, ({ payload_type }) => payload_type === "turn_failed");
    failing.mend();
    expect(await endOf(here, running)).toEqual(doneAfter(2));
  });

  it.each(["codex"] as const)("answers outside the schema is asked once more: %s", async (program) => {
    let answers = 0;
    const here = await placeWith((conversation) => {
      const step = brains(conversation) as Step;
      if (!isWorker(conversation) || !("answer" in step)) return step;
      answers += 1;
      return answers === 1 ? { answer: { payload_type: "report", report: { status: "finished" } } } : step;
    });
    expect(await endOf(here, started(here, program))).toEqual(doneAfter(1));
    expect(answers).toBe(2);
  });

  it("answers outside the schema twice fails its attempt", async () => {
    let answers = 0;
    const here = await placeWith((conversation) => {
      const step = brains(conversation) as Step;
      if (!isWorker(conversation) || !("answer" in step)) return step;
      answers += 1;
      return answers > 2 ? step : answering(conversation, "report", { status: "finished" });
    });
    const running = started(here, "codex");
    await recorded(here, ({ payload_type }) => payload_type === "turn_failed");
    expect(await endOf(here, running)).toEqual(doneAfter(2));
    expect(answers).toBe(3);
  });
});
