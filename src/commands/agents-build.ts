import { type Command, Option } from "commander";
import { AGENTS_FOLDER, agentTemplates } from "../config/agent-files.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { builder, builtAgent, keepAgent } from "./driver/agent-builder.ts";
import { addressHere, asking, failed, participantAt } from "./driver/model-turn.ts";
import { newAgent, type NewAgentOptions } from "./options/agent-files.ts";

/** `bosun agents build`: a model writes an agent file from a description, or it is copied from a template. */
export function register(command: Command): Action<NewAgentOptions> {
  command
    .option("--description <text>", "what the agent is, in your words and language")
    .addOption(
      new Option("--from-template <name>", "one that is there, without a model").choices([...agentTemplates().keys()]),
    )
    .option("--name <id>", "its name, and its file's (default: the template's)")
    .option("--output-dir <directory>", "for the file", AGENTS_FOLDER)
    .addOption(new Option("--format <format>", "of the file").choices(["json", "yaml"]).default("json"))
    .option("--force", "replace the file if it exists")
    .option("--json", "one JSON value on stdout");
  return build;
}

async function build(context: CommandContext, _words: readonly string[], options: NewAgentOptions): Promise<Exit> {
  const made = await newAgent(context, options);
  if (!made.ok) return made;
  const { path, name, description, template } = made.value;
  if (template) return keepAgent(context, options, path, { name, ...template });
  const address = addressHere(context);
  if (!address.ok) return address;
  return asking(context, options.json, async () => {
    const agent = await builtAgent(await participantAt(address.value, builder()), { name, description });
    return agent.ok
      ? keepAgent(context, options, path, agent.value)
      : failed(context, `${address.value.model} wrote no agent. ${agent.error}`, options.json);
  });
}
