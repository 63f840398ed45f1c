import type { JsonObject } from "../../src/lib/json.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { later } from "../../src/protocol/timestamp.ts";
import { configuration, type Did, type Story, WORKSPACE, type Word } from "./stage.ts";

const SIDES = ["north", "south", "east"];
const ROLES: readonly Role[] = [
  ...SIDES.map(
    (role_id): Role => ({
      role_id,
      type: "participant",
      cli_command: ["agent"],
      permissions: { ask: "user" },
      ...(role_id === "south" ? { recovery: "ask" as const } : {}),
    }),
  ),
  { role_id: "judge", type: "manager", cli_command: ["agent"] },
];

const USAGE = { input_tokens: 800, output_tokens: 200, cost_usd: 0.01 };

function opinion(round: number, position: string, changed: boolean, more: Did = {}): Did {
  const payload = { round, position, changed, reasons: [`Reason ${round} for it`] };
  return { ...more, result: { answer: { payload_type: "opinion", payload }, refused: [], usage: USAGE } };
}

const fails = (code: string, message: string, details: JsonObject = {}): Did => ({
  result: { failure: failure(code as "agent_failed", message, { details }), refused: [] },
});

function verdict(winner: string): Did {
  const payload = { conclusion: "One table.", winner, dissent: ["East wanted none."] };
  return { result: { answer: { payload_type: "verdict", payload }, refused: [], usage: USAGE } };
}

const CONDUCT: Story["conduct"] = {
  "participant/north/requirement": [
    () => opinion(1, "One table", true, { asks: "run: npm test" }),
    () => opinion(2, "Nobody hears this", true),
    () => opinion(1, "One table, says the wrong round", false),
    () => opinion(2, "One table", false),
  ],
  "participant/south/requirement": [
    () => fails("agent_failed", "It exited with code 1."),
    () => opinion(1, "Two tables", true),
    () => opinion(2, "Nobody hears this", true),
    () => opinion(2, "One table", true),
  ],
  "participant/east/requirement": [
    () => opinion(1, "No table", true),
    () => opinion(2, "Nobody hears this", true),
    (now) => fails("rate_limited", "Too many requests.", { retry_at: later(now, 20_000) }),
    () => fails("agent_failed", "It exited with code 1."),
    () => fails("agent_failed", "It exited with code 2."),
  ],
  "manager//report": [() => verdict("west"), () => verdict("north")],
};

function replies({ payload_type, payload, record }: LogRecord): readonly Word[] {
  if (payload_type === "approval_request") {
    const { ask_id } = payload as { ask_id: string };
    return [["approval", { decision: "approved", scope: "once", ask_id }]];
  }
  return payload_type === "opinion" && record.ticket_id === "east"
    ? [["user_command", { command: "tell", text: "Mind the costs." }]]
    : [];
}

/** Three debaters, of whom one is dropped, and a judge who is asked twice. */
export const DEBATE: Story = {
  mode: "debate",
  input: {
    session_id: "s",
    requirement: "How many tables?",
    input: { topic: "How many tables?", debaters: SIDES, judge: "judge", rounds: 2, until: "rounds" },
    config: configuration({ plan_approval: "never", max_retries: 1, retry_backoff_ms: 1000, budget: { turns: 50 } }),
    roles: ROLES,
    workspace: WORKSPACE,
    started_by: { user: "ada", host: "here", via: "debate" },
    facts: [],
  },
  acts: [
    {
      waitsForPeople: true,
      diesAfter: ({ payload_type, target, payload }) =>
        payload_type === "turn_request" &&
        target === "south" &&
        (payload["context"] as { metadata?: { round?: number } }).metadata?.round === 2,
    },
    { waitsForPeople: false },
    {
      told: ["clarification_response", { answers: [{ question_id: "again", text: "repeat" }], status: "answered" }],
      waitsForPeople: true,
    },
  ],
  conduct: CONDUCT,
  replies,
};
