import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent, Answer } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Session } from "../../src/runtime/session.ts";
import { crew, type Script, task } from "./crew.ts";
import { CREW } from "./roles.ts";
import { begin, type Choices, type Rig, run } from "./sessions.ts";

const ROLES: readonly Role[] = [
  ...CREW,
  ...["one", "two", "wise"].map((role_id): Role => ({ role_id, type: "participant", cli_command: ["unused"] })),
];
export const DISCUSSION = { mode: "debate", input: { debaters: ["one", "two"], judge: "wise", rounds: 2 } };
const PROPOSAL: Answer = { payload_type: "instruction_proposal", payload: { summary: "In two steps" } };
const VERDICT: Answer = { payload_type: "verdict", payload: { conclusion: "In three steps" } };

const opinion: Script = ({ payload }) => {
  const round = Number(payload.context.metadata?.["round"]);
  return { payload_type: "opinion", payload: { round, position: `this in round ${round}` } };
};

/** A crew whose manager proposes first, with scripted participants; `more` replaces a role or a message. */
export function debating(
  scripts: Readonly<Record<string, Script>> = {},
  more: Readonly<Record<string, Agent>> = {},
  tasks: readonly JsonObject[] = [task("a", [], { proposal_needed: true }), task("b", ["a"])],
): (role: Role) => Agent {
  const ticket: Script = ({ payload }) =>
    payload.discuss ? PROPOSAL : { payload_type: "instruction", payload: { summary: "Do it." } };
  return crew(
    tasks,
    { ticket, ...scripts },
    {
      one: scriptedAgent(opinion),
      two: scriptedAgent(opinion),
      wise: scriptedAgent(() => VERDICT),
      ...more,
    },
  );
}

/** A session whose proposals are debated. */
export function choices(agentFor: (role: Role) => Agent, config: Choices["config"] = {}): Choices {
  return { roles: ROLES, agentFor, config: { discussion: DISCUSSION, ...config } };
}

/** A participant that speaks only when it is let go, and tells when it was asked. */
export function held(): { agent: Agent; asked: Promise<void>; letGo: () => void } {
  const asked = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const agent = scriptedAgent(async (request, context) => {
    asked.resolve();
    const gone = new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
    await Promise.race([free.promise, gone]);
    return opinion(request, context);
  });
  return { agent, asked: asked.promise, letGo: () => free.resolve() };
}

/** A session at work whose first debater was asked and is silent until it is let go. */
export async function inDiscussion(rig: Rig) {
  const { agent, asked, letGo } = held();
  const session = await begin(rig, choices(debating({}, { one: agent })));
  const end = run(session);
  await asked;
  return { session, end, letGo, child: childOf(session) };
}

/** The child in which ticket `a` is discussed. */
export function childOf({ session_id }: Session<unknown>): string {
  return `${session_id}.6`;
}
