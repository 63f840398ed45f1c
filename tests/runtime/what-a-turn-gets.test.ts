import { describe, expect, it } from "vitest";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { permissionsOf } from "../../src/protocol/roles.ts";
import { crew, report, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { CREW } from "./roles.ts";
import { begin, DONE } from "./sessions.ts";

/** The turns of the worker in a session whose ticket is discussed first. */
async function turnsOfTheWorker(forPeople: boolean): Promise<TurnRequest[]> {
  const turns: TurnRequest[] = [];
  const agentFor = crew([task("a", [], { proposal_needed: true })], {
    ticket: () => ({ payload_type: "instruction_proposal", payload: { summary: "In two steps." } }),
    instruction_proposal: (request) => {
      turns.push(request);
      return report({ status: "proposal" });
    },
    instruction: (request) => {
      turns.push(request);
      return report();
    },
  });
  const session = await begin(newRig(), { agentFor });
  expect(await session.run({ waitForPeople: forPeople })).toMatchObject({ value: DONE });
  return turns;
}

describe("an agent gets with its turn", () => {
  it("no right to write while a proposal is discussed, and then what its role has", async () => {
    const turns = await turnsOfTheWorker(false);
    expect(turns.map(({ payload, role }) => [payload.message.payload_type, permissionsOf(role).write])).toEqual([
      ["instruction_proposal", "none"],
      ["instruction", "workspace"],
    ]);
  });

  it.each([true, false])("the roles of the session, and whether a person can answer: %j", async (forPeople) => {
    const [turn] = await turnsOfTheWorker(forPeople);
    expect(turn?.unattended).toBe(!forPeople);
    expect(turn?.crew?.map(({ role_id }) => role_id)).toEqual(CREW.map(({ role_id }) => role_id));
  });
});
