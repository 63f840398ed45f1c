import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Participant } from "../../harness/provider.ts";
import { TurnRunner } from "../../harness/turn-runner.ts";
import type { ChatMessage } from "../../harness/messages.ts";
import { type AgentFile, agentFindings, agentText, writeAgentFile } from "../../config/agent-files.ts";
import { shipped } from "../../lib/files.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { cut } from "../../protocol/refusal.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { safeJson, safeLine } from "../../ui/display.ts";
import { tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { NewAgentOptions } from "../options/agent-files.ts";
import type { Part } from "./model-turn.ts";

/** The agent that writes agents, as a model is told it. */
export function builder(): Part {
  return { name: "builder", system: readFileSync(shipped("config", "agent-builder.md"), "utf8").trimEnd() };
}

const text = { type: "string" } as const;
const properties = { role: text, system_prompt: text, input_schema: text, output_schema: text };
const SCHEMA: JsonObject = {
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
};

/** As often as this an answer that is no agent is asked for again. */
const MORE_TRIES = 2;

/** Has a model write an agent. Fails with what was wrong with its last answer; rejects with a `ProviderError`. */
export async function builtAgent(
  model: Participant,
  { name, description }: Required<Pick<AgentFile, "name" | "description">>,
): Promise<Result<AgentFile, string>> {
  const runner = new TurnRunner(model);
  const history: ChatMessage[] = [];
  let question = `The agent is called "${name}". Its description:\n\n${description}`;
  for (let tries = 0; ; tries += 1) {
    const { message, finishReason } = await runner.runTurn(history, question, {
      responseFormat: { type: "json", schema: SCHEMA, name: "agent" },
    });
    if (finishReason === "length") return err("Its answer was cut by the limit of output tokens.");
    const agent = await agentIn(message.content, name, description);
    if (agent.ok) return agent;
    if (tries >= MORE_TRIES) return err(`Its answer is no agent, ${tries + 1} times: ${agent.error}`);
    history.push({ role: "user", content: question }, message);
    question = `This cannot be used: ${agent.error}\nAnswer with the whole JSON object once more, corrected.`;
  }
}

/** The agent in an answer, which may have words or a fence around it, or everything that is wrong with it. */
async function agentIn(answer: string, name: string, description: string): Promise<Result<AgentFile, string>> {
  const written = parsed(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1));
  if (!written.ok) return written;
  const { role, system_prompt, ...schemas } = written.value;
  const said = Object.entries(schemas).filter(([, value]) => value !== "");
  const agent = { name, role, description, system_prompt, ...Object.fromEntries(said) };
  const findings = await agentFindings(agent, name);
  if (findings.length === 0) return ok(agent as unknown as AgentFile);
  const words = findings.map(({ what, expected }) =>
    expected === undefined ? what : `${what} (expected: ${expected})`,
  );
  return err(cut(`${words.join("; ")}.`, 2_000));
}

function parsed(text: string): Result<JsonObject, string> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? ok(value) : err("it is no JSON object.");
  } catch (error) {
    return err(text === "" ? "there is no JSON object in it." : `it is not JSON: ${(error as Error).message}.`);
  }
}

/** Writes a new agent into its file, and says what to do next. */
export async function keepAgent(
  { terminal: { out }, directory }: CommandContext,
  { force = false, json }: NewAgentOptions,
  path: string,
  agent: AgentFile,
): Promise<Exit> {
  const written = writeAgentFile(path, await agentText(path, agent), force);
  if (!written.ok) return written;
  const file = relative(directory, path);
  if (json === true) out.line(safeJson({ file, agent }));
  else out.line(safeLine(`written ${file}: ${agent.role}`));
  if (json !== true) tellNext(out, `bosun agents show ${agent.name}`, `bosun agents try ${agent.name} "…"`);
  return ok(EXIT_DONE);
}
