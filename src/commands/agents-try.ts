import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_FAILED } from "../runtime/exit.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addressHere, asking, choiceOf, participantAt, partOf, streamedAnswer } from "./driver/model-turn.ts";
import { addAgentsOption, agentNamed, type AgentsOptions } from "./options/agent-files.ts";

/** `bosun agents try`: one answer of an agent, as it comes. */
export function register(command: Command): Action<AgentsOptions> {
  command.argument("<name>", "the agent's name").argument("<prompt>", "what it is asked");
  addAgentsOption(command);
  command.option("--json", "one JSON value on stdout");
  return tryAgent;
}

async function tryAgent(
  context: CommandContext,
  [name = "", prompt = ""]: readonly string[],
  options: AgentsOptions,
): Promise<Exit> {
  const { out, err } = context.terminal;
  const found = await agentNamed(context, options, name);
  if (!found.ok) return found;
  const address = addressHere(context, choiceOf(found.value));
  if (!address.ok) return address;
  return asking(context, options.json, async () => {
    const participant = await participantAt(address.value, partOf(found.value));
    const isJson = options.json === true;
    const answer = await streamedAnswer(participant, prompt, (line) => isJson || out.line(safeLine(line)));
    const { lackIn } = await import("../protocol/content-check.ts");
    const unfit = lackIn(found.value.output_schema, answer.text);
    if (isJson) out.line(safeJson({ name, model: address.value.model, ...answer, unfit }));
    if (unfit !== undefined) err.line(err.style("yellow", safeLine(`It does not fit its output_schema: ${unfit}`)));
    return ok(unfit === undefined ? EXIT_DONE : EXIT_FAILED);
  });
}
