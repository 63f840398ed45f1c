import type { Argument, Command, Option } from "commander";
import { builtInPrompts } from "../../agents/prompts/prompts.ts";
import { DIALECT_PROGRAMS } from "../../config/agent-programs.ts";
import { listCrews } from "../../config/crews.ts";
import { findProjectConfiguration, findUserConfiguration } from "../../config/found.ts";
import { PAYLOAD_TYPES } from "../../protocol/payload.ts";
import type { CommandContext } from "../context/command.ts";
import { CHANGED_SESSION, OPEN_SESSION } from "../lookup/resolve.ts";
import { crewFolders } from "../options/registry.ts";
import { POLICIES, REPORTERS } from "../options/run-options.ts";
import { type Candidate, questionIds, roleIds, sessionIds, ticketIds } from "./known-ids.ts";
import { optionsOf, type Typed } from "./typed.ts";

/** The possible completions, and the files that the shell may offer if none of them fits. */
export interface Candidates {
  readonly found: readonly Candidate[];
  readonly files: "all" | "folders" | "none";
}

/** The values of options, by option name. For other options, the name of the value says whether it is a file. */
const VALUES: Readonly<Record<string, (context: CommandContext, typed: Typed) => Promise<Candidate[]>>> = {
  crew: async (context) => crews(context),
  isolation: async () => words(["none"]),
  manager: async () => words(DIALECT_PROGRAMS),
  "pass-env": async ({ environment }) => words(Object.keys(environment)),
  prompts: async () => words(builtInPrompts().map(({ name }) => name)),
  release: (context, { operands }) => roleIds(context, operands[0]),
  reporter: async () => words(REPORTERS),
  session: (context) => sessionIds(context, "all"),
  ticket: (context, { operands }) => ticketIds(context, operands[0]),
  type: async () => words(PAYLOAD_TYPES),
  unanswered: async () => words(POLICIES),
  worker: async () => words(DIALECT_PROGRAMS),
};

/** The candidates at the cursor, regardless of the typed prefix. */
export async function candidatesAt(context: CommandContext, program: Command, typed: Typed): Promise<Candidates> {
  const { place, command } = typed;
  switch (place?.kind) {
    case undefined:
      return only(command === program ? [] : optionNames(command, program));
    case "command":
      return only(commandsOf(program, typed));
    case "option":
      return only(optionNames(command, program));
    case "value":
      return valuesOf(context, place.option, typed);
    case "argument":
      return argumentsAt(context, place.argument, typed);
  }
}

function only(found: readonly Candidate[], files: Candidates["files"] = "none"): Candidates {
  return { found, files };
}

function words(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value }));
}

/** The commands of the short help; all commands once a letter is typed. */
function commandsOf(program: Command, { operands, prefix }: Typed): Candidate[] {
  const shown = program.createHelp().visibleCommands(program);
  const commands = prefix === "" ? shown : new Set([...shown, ...program.commands]);
  const found = Array.from(commands, (command) => ({ value: command.name(), about: command.summary() }));
  return operands.length === 0 ? found : [...found, { value: "all", about: "every command" }];
}

function optionNames(command: Command, program: Command): Candidate[] {
  return optionsOf(command, program).flatMap(({ long, description }) =>
    long ? [{ value: long, about: description }] : [],
  );
}

async function valuesOf(context: CommandContext, option: Option, typed: Typed): Promise<Candidates> {
  if (option.argChoices !== undefined) return only(words(option.argChoices));
  const values = VALUES[option.name()];
  if (values !== undefined) return only(await values(context, typed));
  if (/[<[]file[>\]]/.test(option.flags)) return only([], "all");
  return only([], /<directory>/.test(option.flags) ? "folders" : "none");
}

async function argumentsAt(context: CommandContext, argument: Argument, typed: Typed): Promise<Candidates> {
  const { operands, values, command } = typed;
  const [first] = operands;
  const named = values.get("session");
  if (argument.argChoices !== undefined) return only(words(argument.argChoices));
  switch (argument.name()) {
    case "session": {
      if (named !== undefined) return only(await ticketIds(context, named));
      const isOpen = [CHANGED_SESSION[1], OPEN_SESSION[1]].some((about) => about === argument.description);
      const sessions = await sessionIds(context, isOpen ? "open" : "all");
      return only([...sessions, ...(await partsOf(context, command.registeredArguments[1]?.name()))]);
    }
    case "session-or-folder":
      return only(await sessionIds(context, "all"), "all");
    case "ticket":
      return only(await ticketIds(context, first));
    case "question":
      return only(await questionIds(context, first));
    case "words": {
      if (operands.length > 1) return only([]);
      if (first !== undefined || named !== undefined) return only(await ticketIds(context, named ?? first));
      return only([...(await sessionIds(context, "all")), ...(await ticketIds(context, undefined))]);
    }
    case "dir":
      return only([], "folders");
    case "command":
      return only([], "all");
    default:
      return only([]);
  }
}

/** A ticket or question of the default session may be named without the session. */
async function partsOf(context: CommandContext, next: string | undefined): Promise<Candidate[]> {
  if (next === "ticket") return ticketIds(context, undefined);
  return next === "question" ? questionIds(context, undefined) : [];
}

function crews({ environment, directory }: CommandContext): Candidate[] {
  const [user, project] = [findUserConfiguration(environment), findProjectConfiguration(directory)];
  const found = listCrews(
    crewFolders({ user: user.ok ? user.value : undefined, project: project.ok ? project.value : undefined }),
  );
  return found.ok ? words(found.value.map(({ name }) => name)) : [];
}
