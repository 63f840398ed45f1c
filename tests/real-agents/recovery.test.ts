import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { until } from "../commands/rig.ts";
import { crew, manager, sinceTurn, turnOf, worker } from "../model-servers/brains.ts";
import type { Conversation, Model } from "../model-servers/conversation.ts";
import { living } from "../processes.ts";
import { pair, type Program } from "./crews.ts";
import { outputUnless, type Place, placeWith } from "./place.ts";

const TASK = {
  task_id: "note",
  description: "Write note.txt.",
  acceptance_criteria: [{ text: "it is there", command: ["test", "-s", "note.txt"] }],
};

const WORKERS: readonly Program[] = ["claude", "codex"];

/** Appending twice would show. */
const APPEND = { run: "echo once >> note.txt" };

const manages = manager({ tasks: [TASK] });

function isWorker(conversation: Conversation): boolean {
  return turnOf(conversation)?.types.includes("report") === true;
}

function begin(here: Place, program: Program): ReturnType<Place["start"]> {
  const permissions = { write: "workspace", commands: ["echo *", "sleep *", "cat *"], ask: "deny" } as const;
  const roles = here.write("roles.json", pair("codex", program, { permissions }));
  const settings = here.write("settings.json", { retry_backoff_ms: 1, isolation: "none" });
  return here.start(["run", "Write a note.", "--roles", roles, "--config", settings, "--yes", "--reporter", "plain"]);
}

/** The program of an agent that a scheduler has started. */
function programOf(scheduler: number | undefined, session_id: string): number | undefined {
  return living(session_id).find((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === scheduler;
  });
}

describe("a session whose scheduler is killed in a worker's turn", () => {
  it.each(WORKERS)("goes on in the same conversation, and does nothing twice: %s", async (program) => {
    let waits = true;
    let isReached = false;
    const works = worker(() => [APPEND, { run: "cat note.txt" }]);
    const model: Model = (conversation) => {
      if (!isWorker(conversation)) return manages(conversation);
      const turn = turnOf(conversation);
      const isHalfDone = turn !== undefined && sinceTurn(conversation, turn).some(({ from }) => from === "tool");
      if (!isHalfDone || !waits) return works(conversation);
      isReached = true;
      return { hang: true };
    };
    const here = await placeWith(model);
    const { child, ended } = begin(here, program);
    await until("the worker to be half done", () => isReached);
    child.kill("SIGKILL");
    await ended;
    waits = false;
    expect(outputUnless(0, await here.bosun("resume", "--reporter", "plain"))).toBe("");

    expect(here.read("note.txt")).toBe("once\n");
    expect(here.server.conversations().filter(isWorker)).toHaveLength(1);
    const { tickets } = await here.status();
    expect(tickets).toMatchObject([{ status: "done", attempts: 1 }]);
  });
});

describe("a program that is terminated while a tool runs", () => {
  it.each(WORKERS)("fails its attempt, leaves no process, and the next attempt succeeds: %s", async (program) => {
    let isTerminated = false;
    const works = worker(() => [isTerminated ? APPEND : { run: "echo begun > begun.txt; sleep 60" }]);
    const here = await placeWith(crew(manages, works));
    const { child, ended } = begin(here, program);
    await until("the tool to run", () => here.has("begun.txt"));
    const { session_id } = await here.status();
    const pid = programOf(child.pid, session_id);
    expect(pid).toBeDefined();
    isTerminated = true;
    process.kill(pid ?? 0, "SIGTERM");
    expect(outputUnless(0, await ended)).toBe("");
    const { tickets } = await here.status();
    expect(tickets).toMatchObject([{ status: "done", attempts: 2 }]);
  });
});
