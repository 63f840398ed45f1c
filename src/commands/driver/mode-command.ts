import { Option } from "commander";
import { requirementOption, seatingOptions } from "../../kernel/kit/descriptor.ts";
import type { AnyDescriptor } from "../../modes/index.ts";
import type { Register } from "../context/command.ts";
import { addAgentsOption } from "../options/agent-files.ts";
import { flagOf, readModeInput } from "../options/mode-input.ts";
import { addBeginOptions, beginOrResume, type BeginOptions } from "./begin.ts";

/** Makes the command of a mode of the kit from its descriptor: it begins a session, or resumes the one with the typed id. */
export function commandOf(descriptor: AnyDescriptor): Register {
  const { noun, say, operand, options, unlessFile, apart } = descriptor.command;
  const spared = options.find(({ field }) => field === unlessFile);
  return (command) => {
    if (spared !== undefined)
      command
        .usage(`[options] ${spared.flags} [${noun}] | [options] <file> [${noun}]`)
        .argument("[file]", `the whole input, as YAML or JSON, if there is no ${spared.flags}`);
    if (operand !== undefined) command.argument(operand.flags, operand.description);
    if (requirementOption(descriptor) === undefined)
      command.argument(`[${noun}]`, `${say.replace(/^Say /, "")}; - reads standard input`);
    for (const { flags, description } of options) command.option(flags, description);
    if (apart !== undefined) command.option(apart, "the session's id, as --session");
    addBeginOptions(command, noun);
    addAgentsOption(command);
    const seating = seatingOptions(descriptor).map(flagOf);
    const assign = `assign${seating.length === 1 ? "s" : ""} the seats, whatever types the roles have in your registry.`;
    command.addHelpText("after", `\n${seating.join(" and ")} ${assign}`);
    return (context, words, given: BeginOptions) => {
      const named = apart === undefined ? undefined : command.getOptionValue(new Option(apart).attributeName());
      const alone = {
        ...given,
        detach: given.foreground !== true,
        ...(typeof named === "string" ? { session: named } : {}),
      };
      return beginOrResume(context, apart === undefined ? given : alone, (runOptions) =>
        readModeInput(context, descriptor, words, given, runOptions),
      );
    };
  };
}
