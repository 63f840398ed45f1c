import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, ROOT } from "./rig.ts";
import { open } from "./terminal.ts";

const TRUE = { text: "it is so", command: ["true"] };

/** The command of an agent with these answers, by message. */
function agent(here: Rig, name: string, answers: object): string {
  return `${process.execPath} ${join(ROOT, "tests/fixtures/agents/given.mjs")} ${here.write(name, JSON.stringify(answers))}`;
}

/** A run with the plan gate: only the criteria of the first task are all commands. Both tasks are instructed in the plan. */
function gated(here: Rig): string[] {
  const tasks = [
    { task_id: "checked", description: "Do it", acceptance_criteria: [TRUE], instruction: { summary: "So." } },
    {
      task_id: "judged",
      description: "Do that",
      acceptance_criteria: [TRUE, "it reads well"],
      instruction: { summary: "So." },
    },
  ];
  const answers = { requirement: ["plan", { tasks }], review_request: ["review", { decision: "approved" }] };
  const manager = agent(here, "manager.json", answers);
  const worker = agent(here, "worker.json", { instruction: ["report", { status: "completed" }] });
  return ["run", "do it", "--manager", manager, "--worker", worker, "--ask-plan"];
}

/** The message and the ticket of every turn of a session. */
async function turnsOf(here: Rig, session_id: string): Promise<string[]> {
  const { stdout } = await typed(here, ["replay", session_id, "--json"]);
  return stdout
    .trimEnd()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as {
          payload_type: string;
          payload: { message: { payload_type: string } };
          record: { ticket_id?: string };
        },
    )
    .filter(({ payload_type }) => payload_type === "turn_request")
    .map(({ payload, record }) => `${payload.message.payload_type} ${record.ticket_id ?? ""}`.trim())
    .toSorted();
}

describe("at the plan gate, checks as the only review", () => {
  it("are offered for tasks whose every criterion is a command, and save their reviews", async () => {
    const here = rig();
    const pane = open(here, [...gated(here), "--no-confirm"]);
    await pane.asks("6  Approve, with the checks as the only review of checked");
    pane.type("6", "Enter");
    expect(await pane.exit()).toBe(0);
    const turns = ["instruction checked", "instruction judged", "requirement", "review_request judged"];
    expect(await turnsOf(here, await onlySession(here))).toEqual(turns);
  });
});
