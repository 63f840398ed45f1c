import { describe, expect, it } from "vitest";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { permissionsOf, roleIn } from "../../src/protocol/roles.ts";
import { HISTORY, INSTRUCTION, prompts, REPORT, request, TASK } from "./prompting.ts";

/** A turn that goes on in a conversation in which the role was told the rest before. */
function later(turn: TurnRequest, { run = 1, tokens = 900 } = {}): TurnRequest {
  const stamp = { turn_id: "t9", attempt: 2, run };
  return { ...turn, stamp, conversation: { how: "resume", id: "c", tokens } };
}

/** The worker's turn with this history. It has worked on the ticket before. */
function worked(...history: readonly object[]): TurnRequest {
  const { payload } = INSTRUCTION;
  const ticket = { ...payload.context.ticket, owner: "worker_1" };
  const context = { ...payload.context, ticket, history, refused: [] };
  return { ...INSTRUCTION, payload: { ...payload, context } } as unknown as TurnRequest;
}

const [INSTRUCTED = {}, FAILED = {}, SENT_BACK = {}] = HISTORY;
const REPORTED = { sequence: 10, event: "report_completed", payload_type: "report", attempt: 1, payload: REPORT };

describe("a turn that goes on in its conversation", () => {
  it("tells a worker whose work came back only what is new", () => {
    const turn = worked(INSTRUCTED, REPORTED, FAILED, SENT_BACK);
    const [whole, short] = [prompts().render(turn, { schema: true }), prompts().render(later(turn), { schema: true })];
    for (const told of ["## What the person wants", "### The task", "Write the limiter.", "Claim nothing", '"enum"']) {
      expect([whole.includes(told), short.includes(told)]).toEqual([true, false]);
    }
    expect(short).toContain("Count per key, not per address.");
    expect(short).toContain("failed (exit code 1): tests pass\n  1 failed");
    expect(short).toMatch(/^End with one answer of one of these types: report, error\. /m);
    expect(short).not.toContain("Be brief.");
    expect(short.length).toBeLessThan(whole.length / 3);
  });

  it.each([
    ["it got another instruction", worked(REPORTED, INSTRUCTED)],
    [
      "another role has worked meanwhile",
      { ...worked(INSTRUCTED, REPORTED), role: { role_id: "worker_2", type: "worker" } },
    ],
    ["it has not reported yet", worked(INSTRUCTED)],
  ] as [string, TurnRequest][])("tells the work and the form again if %s", (_, turn) => {
    const text = prompts().render(later(turn), { schema: true });
    expect(text).toContain("Write the limiter.");
    expect(text).toContain("### The task");
    expect(text).toContain('"enum"');
  });

  it.each([{ run: 2 }, { tokens: 0 }])(
    "tells everything if the conversation may not have what came before: %j",
    (how) => {
      const turn = worked(INSTRUCTED, REPORTED, SENT_BACK);
      expect(prompts().render(later(turn, how))).toBe(prompts().render(turn));
    },
  );

  it("explains to a manager only the answers that are new to it", () => {
    const expects = ["clarification", "error", "instruction", "plan"];
    const stuck = { ticket_id: "limit", task_id: "limit", status: "blocked", history: [], task: TASK };
    const turn = request("manager", {
      expects,
      message: { payload_type: "error", payload: { code: "checks_failed", message: "It is stuck." } },
      context: { requirement: "Limit requests.", ticket: stuck, history: [REPORTED], dependencies: [] },
    });
    const text = prompts().render(later(turn), { schema: true });
    expect(text).toContain("- `plan`:");
    expect(text).not.toContain("- `instruction`:");
    expect(text).toContain('"enum"');
  });
});

describe("a role is told", () => {
  const plan = request("manager", { expects: ["clarification", "error", "plan"] });
  const permissions = { write: "workspace", commands: ["npm test", "npm run *"], network: false } as const;
  const crew = [
    { role_id: "manager_1", type: "manager" },
    { role_id: "coder", type: "worker", capabilities: ["coding", "research"], permissions },
    { role_id: "reader", type: "worker", permissions: { write: "none" } },
  ] as const;

  it("who works and what each may do, if it plans or instructs", () => {
    const text = prompts().render({ ...plan, crew });
    expect(text).toContain(
      "## Who works\n\n- `coder`: capabilities coding, research; may change files; may run `npm test`, `npm run *`; no network\n- `reader`: only reads files\n",
    );
    expect(prompts().render({ ...INSTRUCTION, crew })).not.toContain("coder");
  });

  it("that tasks may be instructed in the plan, and that those on one file need a dependency", () => {
    expect(prompts().render(plan)).toContain("Give each task its `instruction` here");
    expect(prompts().render(plan)).toContain("two tasks that change one file need a dependency");
  });

  it("which commands need no permission", () => {
    const role = { ...INSTRUCTION.role, permissions };
    const told = "you may run: the commands of the acceptance criteria, as they stand, `npm test`, `npm run *`.";
    expect(prompts().render({ ...INSTRUCTION, role })).toContain(told);
  });

  it("that a person may be asked only where one can be", () => {
    const asks = "a person may be asked";
    expect(prompts().render(INSTRUCTION)).toContain(asks);
    const denying = { ...INSTRUCTION, role: { ...INSTRUCTION.role, permissions: { ask: "deny" } } } as const;
    for (const turn of [{ ...INSTRUCTION, unattended: true }, denying]) {
      expect(prompts().render(turn)).not.toContain(asks);
      expect(prompts().render(turn)).toContain("Nobody can be asked for a permission.");
    }
    expect(prompts().render({ ...plan, unattended: true })).toContain("Nobody is there to answer now");
    expect(prompts().render(plan)).not.toContain("Nobody is there");
  });

  it("that a proposal is no work, and its schema lets it complete nothing", () => {
    const message = { payload_type: "instruction_proposal", payload: { summary: "Count per key." } } as const;
    const turn = { ...INSTRUCTION, payload: { ...INSTRUCTION.payload, message } };
    const text = prompts().render(turn, { schema: true });
    expect(text).toContain('"enum":["proposal","blocked","error"]');
    expect(text).not.toContain("You do the work");
    expect(prompts().render(INSTRUCTION, { schema: true })).toContain('"completed"');
    const { write } = permissionsOf(roleIn({ ...INSTRUCTION.role, permissions }, "instruction_proposal"));
    expect([write, permissionsOf(roleIn(INSTRUCTION.role, "instruction")).write]).toEqual(["none", "workspace"]);
  });

  it("why an answer about a stuck ticket was refused, and nothing twice", () => {
    const message = "There is no valid answer.";
    const refused = [
      { payload_type: "report", code: "validation_failed", pointer: "/status", message: "/status is missing." },
    ];
    const failed = { payload_type: "turn_failed", attempt: 2, payload: { code: "invalid_output", message, refused } };
    const ticket = { ticket_id: "limit", task_id: "limit", status: "blocked", history: [], task: TASK };
    const turn = request("manager", {
      expects: ["error", "instruction"],
      message: { payload_type: "error", payload: { code: "invalid_output", message: "It is stuck." } },
      context: { requirement: "Limit.", ticket, history: [INSTRUCTED, REPORTED, FAILED, failed], dependencies: [] },
    });
    const text = prompts().render(turn);
    expect(text).toContain(`- attempt 2: the turn failed: ${message}\n  /status is missing.`);
    expect(text).toContain("- attempt 1: the worker reported: completed\n  Done.");
    expect(text.split("1 failed")).toHaveLength(2);
    expect(text).not.toMatch(/sequence:|payload_type:|event:/);
  });
});
