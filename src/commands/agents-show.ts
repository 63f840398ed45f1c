import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeJson, safeText } from "../ui/display.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addAgentsOption, agentNamed, type AgentsOptions } from "./options/agent-files.ts";

/** `bosun agents show`: an agent as its file says it. */
export function register(command: Command): Action<AgentsOptions> {
  command.argument("<name>", "the agent's name");
  addAgentsOption(command);
  command.option("--json", "one JSON value on stdout");
  return show;
}

async function show(context: CommandContext, [name = ""]: readonly string[], options: AgentsOptions): Promise<Exit> {
  const { out } = context.terminal;
  const agent = await agentNamed(context, options, name);
  if (!agent.ok) return agent;
  if (options.json === true) {
    out.line(safeJson(agent.value));
    return ok(EXIT_DONE);
  }
  const { system_prompt, ...fields } = agent.value;
  for (const [key, value] of Object.entries(fields)) {
    const [first = "", ...more] = safeText(typeof value === "string" ? value : JSON.stringify(value)).split("\n");
    for (const line of [`${out.style("bold", key)}: ${first}`, ...more.map((one) => `  ${one}`)]) out.line(line);
  }
  out.line();
  for (const line of safeText(system_prompt).trimEnd().split("\n")) out.line(line);
  return ok(EXIT_DONE);
}
