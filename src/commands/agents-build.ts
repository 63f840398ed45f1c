import { relative } from "node:path";
import { type Command, Option } from "commander";
import { AGENTS_FOLDER, agentText, writeAgentFile } from "../config/agent-files.ts";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { builder, builtAgent } from "./driver/agent-builder.ts";
import { addressHere, asking, failed, participantAt } from "./driver/model-turn.ts";
import { type NewAgentOptions, newAgentFile } from "./options/agent-files.ts";

/** `bosun agents build`: a model writes an agent file from a description. */
export function register(command: Command): Action<NewAgentOptions> {
  command
    .requiredOption("--description <text>", "what the agent is, in your words and language")
    .requiredOption("--name <id>", "its name, and its file's")
    .option("--output-dir <directory>", "for the file", AGENTS_FOLDER)
    .addOption(new Option("--format <format>", "of the file").choices(["json", "yaml"]).default("json"))
    .option("--force", "replace the file if it exists")
    .option("--json", "one JSON value on stdout");
  return build;
}

async function build(context: CommandContext, _words: readonly string[], options: NewAgentOptions): Promise<Exit> {
  const { force = false, json } = options;
  const { out } = context.terminal;
  const path = await newAgentFile(context, options);
  if (!path.ok) return path;
  const address = addressHere(context);
  if (!address.ok) return address;
  return asking(context, json, async () => {
    const agent = await builtAgent(await participantAt(address.value, builder()), options);
    if (!agent.ok) return failed(context, `${address.value.model} wrote no agent. ${agent.error}`, json);
    const written = writeAgentFile(path.value, await agentText(path.value, agent.value), force);
    if (!written.ok) return written;
    const file = relative(context.directory, path.value);
    if (json === true) out.line(safeJson({ file, agent: agent.value }));
    else out.line(safeLine(`written ${file}: ${agent.value.role}`));
    if (json !== true) tellNext(out, `bosun agents show ${options.name}`, `bosun agents try ${options.name} "…"`);
    return ok(EXIT_DONE);
  });
}
