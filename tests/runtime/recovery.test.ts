import { describe, expect, it } from "vitest";
import { applyToLedger, emptyLedger, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import type { FactInput } from "../../src/runtime/facts.ts";
import { recover } from "../../src/runtime/recovery.ts";

const WORKER = { role_id: "hand", type: "worker", cli_command: ["true"] } as const;
const TURN: LedgerTurn = {
  turn_id: "t4.1",
  seat: { type: "worker" },
  subject: "a",
  priority: 3,
  attempt: 1,
  run: 4,
  status: "open",
  role_id: "hand",
};

/** What a recovery puts on record when the turn is open and its schedulers have died so often. */
function recorded(
  recoveries: number,
  left: "by a crash" | "by a stop" | "by a crash in a stop",
  turn: Partial<LedgerTurn> = {},
  begun?: string,
): readonly string[] {
  const ledger = emptyLedger();
  applyToLedger(ledger, put("turn", TURN.turn_id, { ...TURN, recoveries, ...turn }));
  const stop = { stopping: true, ...(left === "by a stop" ? { stopped: { reason: "signal", message: "" } } : {}) };
  applyToLedger(ledger, put("figures", "figures", { ...ledger.figures, ...(left === "by a crash" ? {} : stop) }));
  const conversing = new Map(begun === undefined ? [] : [[TURN.turn_id, { id: begun }]]);
  const said: FactInput[] = [];
  const config = { ...CONFIGURATION_DEFAULTS, workspace: "/", plan_approval: "never" as const, max_recoveries: 3 };
  recover((input) => said.push(input), ledger, { config, roles: [WORKER] }, 2, { conversing });
  return said.map(({ payload_type, payload }) =>
    payload_type === "session_recovered" ? `recovered ${JSON.stringify(payload["turns"])}` : payload_type,
  );
}

describe("an open turn of a dead scheduler", () => {
  it("is repeated under a higher run below max_recoveries", () => {
    expect(recorded(2, "by a crash")).toEqual(['recovered [{"turn_id":"t4.1","run":5}]']);
  });

  it.each(["by a crash", "by a crash in a stop"] as const)("fails at max_recoveries %s", (left) => {
    expect(recorded(3, left)).toEqual(["turn_failed", "recovered []"]);
  });

  it("is repeated after a stop, whatever its recoveries", () => {
    expect(recorded(3, "by a stop")).toEqual(['recovered [{"turn_id":"t4.1","run":5}]']);
  });

  // Otherwise a program that tells running totals would be counted once more from the beginning.
  it.each([
    ["goes on with", "c1"],
    ["copied", "c2"],
  ])("knows what the conversation that it %s had used before", (_, begun) => {
    const chosen = { id: "c1", tokens: 9, total: { input_tokens: 1_000 } };
    expect(recorded(0, "by a stop", { chosen }, begun)).toEqual([
      `recovered [{"turn_id":"t4.1","run":5,"conversation":{"id":"${begun}","tokens":9,"total":{"input_tokens":1000}}}]`,
    ]);
  });
});
