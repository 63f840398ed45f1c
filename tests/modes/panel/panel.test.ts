import { describe, expect, it } from "vitest";
import type { KitState } from "../../../src/kernel/kit/state.ts";
import { type JsonObject, listOf, objectOf } from "../../../src/lib/json.ts";
import { panelMode } from "../../../src/modes/panel/mode.ts";
import { type Member, type Panel, panel } from "../../../src/modes/panel/panel.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

const ROLES: readonly Role[] = [
  { role_id: "ann", type: "participant", cli_command: ["/usr/bin/claude"] },
  { role_id: "ben", type: "participant", cli_command: ["claude"] },
  { role_id: "cat", type: "participant", backend: "model", provider: "openai" },
];

class PanelSession extends ModeSession<KitState<Panel, Member>> {
  constructor(input: JsonObject = {}) {
    const given = { topic: "Is it done?", members: ["ann", "ben", "cat"], ...input };
    super(panelMode, kitRules(panel), { roles: ROLES, input: given, config: { max_retries: 0 } });
  }

  approves(id: string): this {
    return this.answer(id, "review", { decision: "approved", notes: `${id} likes it.` });
  }

  objects(id: string): this {
    return this.answer(id, "review", { decision: "changes_requested", requested_changes: [`${id} wants tests.`] });
  }

  /** What a member is shown of the round before. */
  shown(id: string): JsonObject[] {
    return listOf(this.resolved(this.draft(id)).context["transcript"]).map(objectOf);
  }

  get result(): JsonObject {
    return objectOf(this.ended?.report["result"]);
  }
}

describe("a panel", () => {
  it("asks all at once, none of whom sees another's review, and decides at once if they agree", () => {
    const session = new PanelSession();
    expect(session.open).toHaveLength(3);
    session.approves("ann");
    expect(session.shown("ben")).toEqual([]);
    session.approves("ben").approves("cat");
    expect(session.result).toMatchObject({
      decision: "approved",
      votes: { approved: 3, of: 3, rule: ">1/2" },
      rounds: { held: 1, of: 2 },
      requested_changes: [],
    });
  });

  it("holds one more round on a split, with all reasons and no names, and then counts", () => {
    const session = new PanelSession().approves("ann").objects("ben").approves("cat");
    expect(session.open).toHaveLength(3);
    const shown = session.shown("cat");
    expect(shown.map(({ source }) => source)).toEqual(["reviewer_1", "reviewer_2", "reviewer_3"]);
    expect(shown.map(({ payload }) => objectOf(payload)["decision"])).toEqual([
      "approved",
      "changes_requested",
      "approved",
    ]);
    session.approves("ann").objects("ben").approves("cat");
    expect(session.result).toMatchObject({ decision: "approved", votes: { approved: 2, of: 3 }, rounds: { held: 2 } });
  });

  it("hands on what those against want changed", () => {
    const session = new PanelSession({ rounds: 1 }).objects("ann").objects("ben").approves("cat");
    expect(session.result).toMatchObject({
      decision: "changes_requested",
      requested_changes: [expect.stringContaining("ann wants tests."), expect.stringContaining("ben wants tests.")],
    });
  });

  it.each([
    [">1/2", 1, "changes_requested"],
    [">1/2", 2, "approved"],
    [">=2/3", 2, "approved"],
    [">2/3", 2, "changes_requested"],
    ["unanimous", 2, "changes_requested"],
    ["unanimous", 3, "approved"],
  ])("with the rule %s and %i of 3 approving says %s", (threshold, approving, decision) => {
    const session = new PanelSession({ threshold, rounds: 1 });
    ["ann", "ben", "cat"].forEach((id, index) => (index < approving ? session.approves(id) : session.objects(id)));
    expect(session.result["decision"]).toBe(decision);
  });

  it("goes on without a member that fails, and fails without any", () => {
    const session = new PanelSession();
    session.fail("ann", "timeout");
    session.objects("ben").objects("cat");
    expect(session.result).toMatchObject({ votes: { approved: 0, of: 2 } });
    const alone = new PanelSession({ members: ["ann"] });
    alone.fail("ann", "timeout");
    expect(alone.ended).toMatchObject({ outcome: "failed", reason: "nobody_left" });
  });

  it("refuses an objection that names nothing", () => {
    const session = new PanelSession().answer("ann", "review", { decision: "changes_requested" });
    expect(session.refused).toBe("validation_failed /requested_changes");
  });
});
