import type { Answer, TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Random } from "./random.ts";

export function opinion({ payload, role }: TurnRequest, random: Random, isGood: boolean): Answer {
  const metadata = payload.context["metadata"] as { round?: number } | undefined;
  const round = (metadata?.round ?? 1) + (isGood ? 0 : random.between(0, 1));
  return {
    payload_type: "opinion",
    payload: { round, position: `${role.role_id} says so`, changed: random.chance(0.5) },
  };
}

export function pmDecision({ payload }: TurnRequest, random: Random, isGood: boolean): Answer {
  const { agents, must_finish } = payload.message.payload as { agents: JsonObject[]; must_finish?: true };
  const isLast = must_finish === true || random.chance(0.2);
  const target_agent = isGood ? agents[random.between(0, agents.length - 1)]?.["agent_name"] : "stranger";
  const decision =
    isLast && isGood
      ? { next_action: "FINISH", final_report: `# So be it ${payload.role_id}` }
      : { next_action: "CALL_AGENT", target_agent: target_agent ?? "nobody", prompt_for_agent: "Why?" };
  return { payload_type: "pm_decision", payload: { analysis: "So far.", ...decision } };
}

export function planDecision({ payload }: TurnRequest, random: Random, isGood: boolean): Answer {
  const state = payload.message.payload as {
    agents: { agent_name: string }[];
    max_steps: number;
    current_step: number;
  };
  const may = payload.choices?.["/next_action"] ?? [];
  const next_action = isGood ? random.pick([...may]) : random.pick(["PLAN", "GO_ON", "FINISH"]);
  const agent = isGood ? random.pick(state.agents).agent_name : "stranger";
  const count = random.between(1, Math.max(1, Math.min(3, state.max_steps - state.current_step)));
  const steps = Array.from({ length: count }, (_, at) => ({
    agent,
    task: `Go ${random.pick(["this", "that"])} way ${at}`,
  }));
  const decision = {
    PLAN: { steps },
    GO_ON: random.chance(0.3) ? { agent } : {},
    FINISH: { final_report: `# So be it ${payload.role_id}` },
  }[next_action];
  const judged = random.chance(0.7) ? { satisfied: random.chance(0.5) } : {};
  return { payload_type: "plan_decision", payload: { analysis: "So far.", ...judged, next_action, ...decision } };
}

export function verdict({ payload }: TurnRequest, random: Random, isGood: boolean): Answer {
  const stranger = !isGood && random.chance(0.5) ? { winner: "stranger" } : {};
  return { payload_type: "verdict", payload: { conclusion: `So be it ${payload.role_id}`, ...stranger } };
}
