import type { Answer, TurnRequest } from "../../src/kernel/agent.ts";
import type { Random } from "./random.ts";

/** What a role of a council says, or its facilitator; not always what it is asked for. */
export function councilWord({ payload, role }: TurnRequest, random: Random, isGood: boolean): Answer {
  const { asked, proposal_id = "p1" } = payload.message.payload as { asked: string; proposal_id?: string };
  const said: Readonly<Record<string, () => Answer>> = {
    comment: () => ({ payload_type: "comment", payload: { text: `${role.role_id} says so.` } }),
    proposal: () => ({ payload_type: "proposal", payload: { title: `By ${role.role_id}`, details: "So." } }),
    pass: () => ({ payload_type: "pass", payload: { reason: "All is said." } }),
    vote: () => ({
      payload_type: "vote",
      payload: {
        proposal_id: isGood ? proposal_id : "p99",
        vote: random.pick(["yes", "no", isGood ? "yes" : "abstain"]),
      },
    }),
    state_change: () => ({
      payload_type: "state_change",
      payload: { new_state: random.pick(["discussion", "voting"]), reason: "So." },
    }),
    summary: () => ({ payload_type: "summary", payload: { summary_text: "So be it." } }),
  };
  const fitting: Readonly<Record<string, readonly string[]>> = {
    discussion: ["comment", "proposal", "pass"],
    vote: ["vote", "vote", "pass"],
    lead: ["state_change", "summary"],
    tie: ["vote"],
  };
  const expected = (fitting[asked] ?? []).filter((type) => payload.expects.some((one) => one === type));
  const type = random.pick(isGood && expected.length > 0 ? expected : Object.keys(said));
  return said[type]?.() ?? { payload_type: "error", payload: { code: "agent_failed", message: "I do not know." } };
}
