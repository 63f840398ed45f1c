import { type CliSettings, cliAgent } from "../../agents/cli/agent.ts";
import type { Closed } from "../../agents/isolation/role-sandbox.ts";
import type { Launcher } from "../../agents/launcher.ts";
import { makePrompts, type Prompts } from "../../agents/prompts/prompts.ts";
import { modelAddress } from "../../config/model-roles.ts";
import { providerAdapter } from "../../harness/provider-adapter.ts";
import type { Agent } from "../../kernel/agent.ts";
import { ok } from "../../lib/result.ts";
import { explain } from "../../protocol/document/problem.ts";
import type { ProviderAdapter } from "../../harness/provider.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";

/** The agents that run programs, and talk to models, with these settings. */
export function agentsOf(
  launcher: Launcher,
  config: ResolvedConfiguration,
  environment: CommandContext["environment"],
  closed: Closed | undefined,
): (role: Role) => Agent {
  const settings: CliSettings = {
    kill_grace_ms: config.kill_grace_s * 1000,
    answer_grace_ms: config.answer_grace_s * 1000,
    max_line_bytes: config.max_line_bytes,
    max_output_bytes: config.max_output_bytes,
    environment,
    closed,
    ...promptsOf(config),
  };
  const programs = cliAgent({ launcher, settings });
  const models = laterAgent(async () => {
    const { modelAgent } = await import("../../agents/model/agent.ts");
    return modelAgent({ launcher, settings, adapterFor: (role) => adapterFor(role, environment) });
  });
  return ({ backend }) => (backend === "model" ? models : programs);
}

/** An agent that is loaded with its first turn: libraries of providers take time that most sessions need not spend. */
function laterAgent(load: () => Promise<Agent>): Agent {
  let agent: Promise<Agent> | undefined;
  return { turn: async (request, context) => (await (agent ??= load())).turn(request, context) };
}

async function adapterFor(role: Role, environment: CommandContext["environment"]): Promise<Fallible<ProviderAdapter>> {
  const address = modelAddress(role, environment);
  return address.ok ? ok(await providerAdapter(address.value)) : address;
}

/** The prompts of a session that replace built-in templates; they were checked before. */
function promptsOf({ prompts = {} }: ResolvedConfiguration): { readonly prompts?: Prompts } {
  const files = Object.entries(prompts).map(([name, text]) => ({ name, file: `prompts/${name}.md`, text }));
  if (files.length === 0) return {};
  const made = makePrompts(files);
  if (!made.ok) throw new Error(made.error.flatMap(explain).join("\n"));
  return { prompts: made.value };
}
