import { cliAgent } from "../../agents/cli/agent.ts";
import type { Closed } from "../../agents/isolation/role-sandbox.ts";
import type { Launcher } from "../../agents/launcher.ts";
import { makePrompts, type Prompts } from "../../agents/prompts/prompts.ts";
import type { Agent } from "../../kernel/agent.ts";
import { explain } from "../../protocol/document/problem.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { CommandContext } from "../context/command.ts";

/** The agent that runs programs with these settings. */
export function cliAgentOf(
  launcher: Launcher,
  config: ResolvedConfiguration,
  environment: CommandContext["environment"],
  closed: Closed | undefined,
): Agent {
  return cliAgent({
    launcher,
    settings: {
      kill_grace_ms: config.kill_grace_s * 1000,
      answer_grace_ms: config.answer_grace_s * 1000,
      max_line_bytes: config.max_line_bytes,
      max_output_bytes: config.max_output_bytes,
      environment,
      closed,
      ...promptsOf(config),
    },
  });
}

/** The prompts of a session that replace built-in templates; they were checked before. */
function promptsOf({ prompts = {} }: ResolvedConfiguration): { readonly prompts?: Prompts } {
  const files = Object.entries(prompts).map(([name, text]) => ({ name, file: `prompts/${name}.md`, text }));
  if (files.length === 0) return {};
  const made = makePrompts(files);
  if (!made.ok) throw new Error(made.error.flatMap(explain).join("\n"));
  return { prompts: made.value };
}
