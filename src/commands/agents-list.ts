import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeJson } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addAgentsOption, agentsNamed, type AgentsOptions } from "./options/agent-files.ts";

/** `bosun agents list`: the agents there are, also those whose files cannot be used. */
export function register(command: Command): Action<AgentsOptions> {
  addAgentsOption(command);
  command.option("--json", "one JSON value on stdout");
  return list;
}

async function list(context: CommandContext, _words: readonly string[], options: AgentsOptions): Promise<Exit> {
  const { out } = context.terminal;
  const found = await agentsNamed(context, options, []);
  if (!found.ok) return found;
  if (options.json === true) {
    const agents = found.value.map(({ name, file, agent }) =>
      agent.ok ? { name, file, role: agent.value.role } : { name, file, problem: agent.error.message },
    );
    out.line(safeJson({ agents }));
    return ok(EXIT_DONE);
  }
  const rows = found.value.map(({ name, file, agent }) => [
    name,
    agent.ok ? agent.value.role : "(cannot be used)",
    file,
  ]);
  const columns = [{ heading: "AGENT", width: 30 }, { heading: "ROLE", width: 40 }, { heading: "FILE" }];
  if (rows.length === 0) out.line("There are no agents yet.");
  else for (const line of tableLines(columns, rows, out.width)) out.line(line);
  const isBroken = found.value.some(({ agent }) => !agent.ok);
  if (rows.length === 0) tellNext(out, 'bosun agents build --name architect --description "…"');
  else tellNext(out, isBroken ? "bosun agents validate" : "bosun agents show NAME");
  return ok(EXIT_DONE);
}
