import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { safeJson, safeLine, safeText } from "../ui/display.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addAgentsOption, agentsNamed, type AgentsOptions } from "./options/agent-files.ts";

/** `bosun agents validate`: everything that is wrong with agent files. */
export function register(command: Command): Action<AgentsOptions> {
  command.argument("[name...]", "agents (default: all)");
  addAgentsOption(command);
  command.option("--json", "one JSON value on stdout");
  return validate;
}

async function validate(context: CommandContext, names: readonly string[], options: AgentsOptions): Promise<Exit> {
  const { out } = context.terminal;
  const found = await agentsNamed(context, options, names);
  if (!found.ok) return found;
  const isValid = found.value.every(({ agent }) => agent.ok);
  if (options.json === true) {
    const agents = found.value.map(({ name, file, agent }) => {
      const why = agent.ok ? {} : { message: agent.error.message, ...agent.error.details };
      return { name, file, ok: agent.ok, ...why };
    });
    out.line(safeJson({ ok: isValid, agents }));
  } else {
    for (const { name, file, agent } of found.value)
      if (agent.ok) out.line(`${out.style("green", "ok")}    ${safeLine(`${name}: ${file}`)}`);
      else for (const line of safeText(agent.error.message).split("\n")) out.line(line);
    if (found.value.length === 0) out.line("There are no agents yet.");
  }
  return ok(isValid ? EXIT_DONE : EXIT_ENVIRONMENT);
}
