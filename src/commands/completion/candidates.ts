import type { Argument, Command, Option } from "commander";
import { builtInPrompts } from "../../agents/prompts/prompts.ts";
import { DIALECT_PROGRAMS } from "../../config/agent-programs.ts";
import { listCrews } from "../../config/crews.ts";
import { findProjectConfiguration, findUserConfiguration } from "../../config/found.ts";
import { PAYLOAD_TYPES } from "../../protocol/payload.ts";
import type { CommandContext } from "../context/command.ts";
import { CHANGED_SESSION, OPEN_SESSION } from "../lookup/resolve.ts";
import { POLICIES, REPORTERS } from "../options/run-options.ts";
import { type Candidate, questionIds, roleIds, sessionIds, ticketIds } from "./known-ids.ts";
import type { Typed } from "./typed.ts";

/** The possible completions, and the files that the shell may offer if none of them fits. */
export interface Candidates {
  readonly found: readonly Candidate[];
  readonly files: "all" | "folders" | "none";
}

type Source = (context: CommandContext, typed: Typed, place: Option | Argument) => Promise<readonly Candidate[]>;

/** The values of options and arguments, by their name, where commander does not know the choices. */
const VALUES: Readonly<Record<string, Source>> = {
  crew: async (context) => crews(context),
  isolation: async () => words(["none"]),
  manager: async () => words(DIALECT_PROGRAMS),
  "pass-env": async ({ environment }) => words(Object.keys(environment)),
  prompts: async () => words(builtInPrompts().map(({ name }) => name)),
  question: (context, { operands }) => questionIds(context, operands[0]),
  release: (context, { operands }) => roleIds(context, operands[0]),
  reporter: async () => words(REPORTERS),
  session: sessionsOrParts,
  "session-or-folder": (context) => sessionIds(context, "all"),
  ticket: (context, { operands }) => ticketIds(context, operands[0]),
  type: async () => words(PAYLOAD_TYPES),
  unanswered: async () => words(POLICIES),
  words: sessionsOrParts,
  worker: async () => words(DIALECT_PROGRAMS),
};

/** The files that a value names, by what help calls the value. */
const FILES: Readonly<Record<string, Candidates["files"]>> = {
  command: "all",
  dir: "folders",
  directory: "folders",
  file: "all",
  "session-or-folder": "all",
};

/** The candidates at the cursor, regardless of the typed prefix. */
export async function candidatesAt(context: CommandContext, program: Command, typed: Typed): Promise<Candidates> {
  const { place, command } = typed;
  if (place === undefined && command === program) return { found: [], files: "none" };
  if (place === undefined || place === "option") return { found: optionNames(command, program), files: "none" };
  if (place === "command") return { found: commandsOf(program, typed), files: "none" };
  const kind = "flags" in place ? /[<[]([^.\]>]+)/.exec(place.flags)?.[1] : place.name();
  const found = place.argChoices ? words(place.argChoices) : await VALUES[place.name()]?.(context, typed, place);
  return { found: found ?? [], files: FILES[kind ?? ""] ?? "none" };
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

/** The options of a command that help shows, and those of the program that take a value. */
function optionNames(command: Command, program: Command): Candidate[] {
  const own = command.createHelp().visibleOptions(command);
  const outer = command === program ? [] : program.options.filter(({ required }) => required);
  return [...own, ...outer].flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : []));
}

/** Sessions; without `--session` also the tickets or questions of the default one. Behind a session, its tickets. */
async function sessionsOrParts(context: CommandContext, typed: Typed, place: Option | Argument): Promise<Candidate[]> {
  const { command, operands } = typed;
  if ("flags" in place) return sessionIds(context, "all");
  if (operands.length > 1) return [];
  const named = command.opts<{ session?: string }>().session ?? operands[0];
  if (named !== undefined) return ticketIds(context, named);
  const isOpen = [CHANGED_SESSION[1], OPEN_SESSION[1]].some((about) => about === place.description);
  const found = await sessionIds(context, isOpen ? "open" : "all");
  // `[words...]` is a session and a ticket.
  const next = command.registeredArguments[1]?.name() ?? (place.variadic ? "ticket" : "");
  return [...found, ...((await VALUES[next]?.(context, typed, place)) ?? [])];
}

function crews({ environment, directory }: CommandContext): Candidate[] {
  const [user, project] = [findUserConfiguration(environment), findProjectConfiguration(directory)];
  const found = listCrews([user, project].flatMap((one) => (one.ok && one.value ? [one.value.crews] : [])));
  return found.ok ? words(found.value.map(({ name }) => name)) : [];
}
