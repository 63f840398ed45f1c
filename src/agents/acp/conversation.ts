import type { ClientContext, InitializeResponse } from "@agentclientprotocol/sdk";
import type { TurnRequest } from "../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { WIRE_VERSION } from "../../protocol/record.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import { schemaOf } from "../prompts/answers.ts";

/** Modes in which an agent asks before it exceeds the role's permissions, the best first. Agents name them differently. */
const ASKING_MODES = { workspace: ["acceptEdits", "default"], none: ["default"] } as const;

const PROTOCOL_VERSION = 1;

export interface AgentSession {
  readonly id: string;
  /** The modes and options that the agent offers. */
  readonly offer: JsonObject;
  /** Whether it continues the turn's conversation. */
  readonly goesOn: boolean;
  /** Whether the agent was given the schema of the answer. */
  readonly knowsSchema: boolean;
}

export function introduce(agent: ClientContext): Promise<InitializeResponse> {
  return agent.request("initialize", {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "bosun", version: WIRE_VERSION },
  });
}

/** Continues the turn's conversation in the way that the agent supports, or starts a new one. */
export async function openSession(
  agent: ClientContext,
  { agentCapabilities, agentInfo }: InitializeResponse,
  { conversation, payload }: TurnRequest,
): Promise<AgentSession> {
  const place = { cwd: payload.workspace, mcpServers: [] };
  const knowsSchema = agentInfo?.name.includes("claude-agent-acp") === true;
  const meta = knowsSchema ? { _meta: claudeOptions(payload) } : {};
  const method = conversation === undefined ? undefined : goOnMethod(agentCapabilities, conversation.how);
  if (conversation === undefined || method === undefined) {
    const offer = objectOf((await agent.request("session/new", { ...place, ...meta })) as unknown as Json);
    return { id: idOf(offer) ?? "", offer, goesOn: false, knowsSchema };
  }
  const params = { sessionId: conversation.id, ...place, ...meta };
  const offer = objectOf((await agent.request<Json>(method, params)) ?? undefined);
  // Only a fork returns an id of its own.
  return { id: idOf(offer) ?? conversation.id, offer, goesOn: true, knowsSchema };
}

/** Chooses a mode in which the agent asks, whatever its default: claude-agent-acp starts in one that does not. */
export async function chooseMode(
  agent: ClientContext,
  session: AgentSession,
  role: TurnRequest["role"],
): Promise<void> {
  const { currentModeId, availableModes } = objectOf(session.offer.modes);
  const offered = new Set(listOf(availableModes).map((mode) => objectOf(mode).id));
  const wanted = ASKING_MODES[permissionsOf(role).write].find((mode) => offered.has(mode));
  if (wanted === undefined) return;
  // Gemini replays a loaded conversation after its response, but before the next one: without this request, the answer would include its history.
  if (wanted === currentModeId && !session.goesOn) return;
  await agent.request("session/set_mode", { sessionId: session.id, modeId: wanted });
}

/** Chooses the role's model. Returns false if the agent offers no choice. */
export async function chooseModel(agent: ClientContext, session: AgentSession, model: string): Promise<boolean> {
  const options = listOf(session.offer.configOptions).map(objectOf);
  const configId = options.find(({ category, type }) => category === "model" && type === "select")?.id;
  if (typeof configId !== "string") return false;
  await agent.request("session/set_config_option", { sessionId: session.id, configId, value: model });
  return true;
}

function goOnMethod(
  capabilities: InitializeResponse["agentCapabilities"],
  how: "resume" | "fork",
): "session/fork" | "session/resume" | "session/load" | undefined {
  const { resume, fork } = objectOf((capabilities?.sessionCapabilities ?? {}) as Json);
  if (how === "fork") return fork ? "session/fork" : undefined;
  if (resume) return "session/resume";
  return capabilities?.loadSession === true ? "session/load" : undefined;
}

function idOf({ sessionId }: JsonObject): string | undefined {
  return typeof sessionId === "string" ? sessionId : undefined;
}

/** Options that claude-agent-acp passes on to its program, which then answers with a tool whose input fits the schema. */
function claudeOptions(payload: TurnRequest["payload"]): Record<string, unknown> {
  const schema = schemaOf(payload);
  return { claudeCode: { options: { outputFormat: { type: "json_schema", schema } } } };
}
