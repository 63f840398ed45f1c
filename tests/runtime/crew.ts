import { type ScriptedHandler, scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent, Answer, TurnContext, TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Role } from "../../src/protocol/roles.ts";

export type Script = (request: TurnRequest, context: TurnContext) => ReturnType<ScriptedHandler>;

export function task(task_id: string, dependencies: readonly string[] = [], more: JsonObject = {}): JsonObject {
  return { task_id, description: `Work on ${task_id}`, dependencies, ...more };
}

/** A task that brings its instruction, so that its manager is not asked for one. */
export function instructed(task_id: string, dependencies: readonly string[] = [], more: JsonObject = {}): JsonObject {
  return task(task_id, dependencies, { instruction: { summary: "Do it." }, ...more });
}

/** The executable criterion that a command exits with 0. */
export function criterion(...command: string[]): JsonObject {
  return { text: command.join(" "), command };
}

function plan(...tasks: readonly JsonObject[]): Answer {
  return { payload_type: "plan", payload: { summary: "The plan", tasks } };
}

export function report(more: JsonObject = {}): Answer {
  return { payload_type: "report", payload: { status: "completed", summary: "It is done.", ...more } };
}

/**
 * A crew inside the process that does what is expected of it, but for the messages that `scripts` has an answer of its
 * own for. What has an agent of its own in `programs`, a role or a message, is taken by that one.
 */
export function crew(
  tasks: readonly JsonObject[],
  scripts: Readonly<Record<string, Script>> = {},
  programs: Readonly<Record<string, Agent>> = {},
): (role: Role) => Agent {
  const agent = scriptedAgent((request, context) => {
    const { payload_type } = request.payload.message;
    const script = scripts[payload_type];
    return script ? script(request, context) : usual(tasks, payload_type);
  });
  return (role) => ({
    turn: (request, context) => {
      const program = programs[role.role_id] ?? programs[request.payload.message.payload_type];
      return (program ?? agent).turn(request, context);
    },
  });
}

function usual(tasks: readonly JsonObject[], asked: string): Answer {
  switch (asked) {
    case "requirement":
    case "clarification_response":
      return plan(...tasks);
    case "ticket":
    case "report":
      return { payload_type: "instruction", payload: { summary: "Do it." } };
    case "review_request":
      return { payload_type: "review", payload: { decision: "approved" } };
    case "instruction_proposal":
      return report({ status: "proposal" });
    case "error":
      return { payload_type: "error", payload: { code: "agent_failed", message: "It cannot be done." } };
    default:
      return report();
  }
}
