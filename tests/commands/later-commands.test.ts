import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, ROOT } from "./rig.ts";
import { open } from "./terminal.ts";

/** The command of an agent with these answers, by message. */
function agent(here: Rig, name: string, answers: object): string {
  return `${process.execPath} ${join(ROOT, "tests/fixtures/agents/given.mjs")} ${here.write(name, JSON.stringify(answers))}`;
}

/** A check that leaves a file behind. */
const LEAVES_A_FILE = { text: "it ran", command: ["touch", "ran"] };

/** Arguments of a run whose manager gives these answers, with the plan gate. */
function managed(here: Rig, answers: object): string[] {
  const plan = ["plan", { summary: "One task", tasks: [{ task_id: "one", description: "Do it" }] }];
  const given = { requirement: plan, ticket: ["instruction", { summary: "Do it so" }], ...answers };
  const manager = agent(here, "manager.json", given);
  const worker = agent(here, "worker.json", { instruction: ["report", { status: "completed" }], ...answers });
  return ["run", "do it", "--manager", manager, "--worker", worker, "--ask-plan"];
}

const ADDS = { ticket: ["instruction", { summary: "Do it so", acceptance_criteria: [LEAVES_A_FILE] }] };

/** Answers that revise the plan, with a command, when its worker has failed. */
const REVISES = {
  instruction: ["report", { status: "error", summary: "It cannot be done." }],
  error: ["plan", { tasks: [{ task_id: "one", description: "Do it", acceptance_criteria: [LEAVES_A_FILE] }] }],
};

function ran(here: Rig): boolean {
  return existsSync(join(here.workspace, "ran"));
}

/** The session waits for its plan, which is then approved. */
async function approve(here: Rig, args: readonly string[], ...more: readonly string[]): Promise<string> {
  expect((await typed(here, [...args, "--no-input"])).code).toBe(4);
  const session_id = await onlySession(here);
  const approved = await typed(here, ["plan", session_id, "--approve", ...more, "--resume", "--no-input"]);
  expect([approved.code, ran(here)]).toEqual(more.length > 0 ? [0, true] : [4, false]);
  return session_id;
}

describe("a check command that the approved plan does not have", () => {
  it("runs once a person allows it", async () => {
    const here = rig();
    const session_id = await approve(here, managed(here, ADDS));
    const [ask_id = ""] = /\bp\d+\b/.exec((await typed(here, ["inbox"])).stdout) ?? [];
    const allowed = await typed(here, ["answer", session_id, ask_id, "allow", "--resume", "--no-input"]);
    expect([allowed.code, ran(here)]).toEqual([0, true]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("does not run if a person denies it", async () => {
    const here = rig();
    const session_id = await approve(here, managed(here, ADDS));
    const [ask_id = ""] = /\bp\d+\b/.exec((await typed(here, ["inbox"])).stdout) ?? [];
    // This manager insists, so it is asked again.
    expect((await typed(here, ["answer", session_id, ask_id, "deny", "no", "--resume", "--no-input"])).code).toBe(4);
    expect(ran(here)).toBe(false);
  });

  it("runs without a second question if later ones were allowed with the plan", async () => {
    const here = rig();
    const session_id = await approve(here, managed(here, ADDS), "--allow-commands");
    const log = await typed(here, ["log", session_id]);
    expect(log.stdout).toContain("touch ran");
  });

  it("is a gate of its own in a revised plan", async () => {
    const here = rig();
    const config = here.write("once.json", JSON.stringify({ max_retries: 0, retry_backoff_ms: 1 }));
    const session_id = await approve(here, [...managed(here, REVISES), "--config", config]);
    const shown = await typed(here, ["plan", session_id]);
    expect(shown.stdout).toMatch(/new commands:\n\s+\$ touch ran\n/);
  });

  it("is asked about at a terminal", async () => {
    const here = rig();
    const pane = open(here, [...managed(here, ADDS), "--no-confirm"]);
    await pane.asks("Approve this plan?");
    pane.type("1", "Enter");
    await pane.asks("wants to have Bosun run: touch ran");
    expect(ran(here)).toBe(false);
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(ran(here)).toBe(true);
  });

  it("is allowed beforehand at a terminal", async () => {
    const here = rig();
    const pane = open(here, [...managed(here, ADDS), "--no-confirm"]);
    await pane.asks("Approve this plan?");
    pane.type("5", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(ran(here)).toBe(true);
  });
});
