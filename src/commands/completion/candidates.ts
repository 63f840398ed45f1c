import type { Argument, Command, Option } from "commander";
import { builtInPrompts } from "../../agents/prompts/prompts.ts";
import { DIALECT_PROGRAMS } from "../../config/agent-programs.ts";
import { listCrews } from "../../config/crews.ts";
import { findProjectConfiguration, findUserConfiguration } from "../../config/found.ts";
import { PAYLOAD_TYPES } from "../../protocol/payload.ts";
import { type CommandContext, nameOf } from "../context/command.ts";
import type { Typed } from "./typed.ts";
import { CHANGED_SESSION, isBegun, OPEN_SESSION, resolveSession, SHOW } from "../lookup/resolve.ts";
import { POLICIES, REPORTERS } from "../options/run-options.ts";
import { beginningOf, fieldOf, fillingOptions, seatingOptions } from "../../kernel/kit/descriptor.ts";
import { defined, listOf, objectOf, textOf } from "../../lib/json.ts";
import { DESCRIPTORS } from "../../modes/index.ts";
import { findConfiguration, loadRegistry } from "../options/registry.ts";
import { openUntouched } from "../../store/sqlite-store.ts";
import type { StoreReader } from "../../store/store.ts";
import { wordsOf } from "../../ui/words.ts";
import { homeOf, otherHomes } from "../context/home.ts";
import { subjectsIn } from "../lookup/modes.ts";
import { openedWith } from "../lookup/state.ts";
import { neededOf } from "../lookup/view.ts";

/** The possible completions, and the files that the shell may offer if none of them fits. */
export interface Candidates {
  readonly found: readonly Candidate[];
  readonly files: "all" | "folders" | "none";
}

type Source = (context: CommandContext, typed: Typed, place: Option | Argument) => Promise<readonly Candidate[]>;

/** The values of options and arguments, by their name, where commander does not know the choices. */
const VALUES: Readonly<Record<string, Source>> = {
  crew: async (context) => crews(context),
  isolation: async () => words(["none", "worktree"]),
  manager: async () => words(DIALECT_PROGRAMS),
  "pass-env": async ({ environment }) => words(Object.keys(environment)),
  prompts: async () => words(builtInPrompts().map(({ name }) => name)),
  question: (context, { operands }) => questionIds(context, operands[0]),
  release: (context, { operands }) => roleIds(context, operands[0]),
  reporter: async () => words(REPORTERS),
  session: sessionsOrParts,
  "session-or-folder": (context) => sessionIds(context, "all"),
  sessions: (context) => sessionIds(context, "all"),
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
  if (place === "command") return { found: commandsOf(command, typed), files: "none" };
  const kind = "flags" in place ? /[<[]([^.\]>]+)/.exec(place.flags)?.[1] : place.name();
  const found = place.argChoices ? words(place.argChoices) : await valuesAt(context, typed, place);
  return { found: found ?? [], files: FILES[kind ?? ""] ?? "none" };
}

/** The words of a mode's command are no ids of sessions or parts. An option that names the roles of its seats takes all of the crew. */
async function valuesAt(
  context: CommandContext,
  typed: Typed,
  place: Option | Argument,
): Promise<readonly Candidate[] | undefined> {
  const { command, prefix } = typed;
  const descriptor = DESCRIPTORS.find((one) => beginningOf(one) === nameOf(command));
  if (descriptor === undefined) return VALUES[place.name()]?.(context, typed, place);
  const named = "flags" in place ? place.flags : `<${place.name()}>`;
  const option = fillingOptions(descriptor).find(({ flags }) => flags === named);
  if (option === undefined) return "flags" in place ? VALUES[place.name()]?.(context, typed, place) : [];
  const field = fieldOf(descriptor.input, option.field);
  if (field?.holds === "transcript") return sessionIds(context, "all");
  if (!seatingOptions(descriptor).includes(option)) return words(listOf(field?.enum).map(textOf));
  const before = field?.type === "array" ? prefix.slice(0, prefix.lastIndexOf(",") + 1) : "";
  return (await crewOf(context, command.opts())).map(({ role_id, type }) => ({ value: before + role_id, about: type }));
}

/** The roles of the crew and the registry that are typed. A list of registries is read as its last one. */
async function crewOf(context: CommandContext, { crew, roles, cwd }: Readonly<Record<string, string>>) {
  const options = defined({ crew, roles: roles === undefined ? undefined : [roles] });
  const found = findConfiguration(context, options, cwd ?? context.directory);
  const registry = found.ok ? await loadRegistry(options, found.value) : found;
  return registry.ok ? registry.value : [];
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

/** A completion of the typed word, and its description. */
export interface Candidate {
  readonly value: string;
  readonly about?: string;
}

/** The person waits meanwhile, so only the most recently used homes are read, and only the newest sessions of each are offered. */
const MAX_HOMES = 10;
const MAX_SESSIONS = 50;

/** The sessions of the command's home, then of the others, newest first in each. */
async function sessionIds(context: CommandContext, which: "open" | "all"): Promise<Candidate[]> {
  const found: Candidate[] = [];
  await inHomes(context, async (store) => {
    const rows = store.sessions({ parent: null }).filter(isBegun);
    const fitting = rows.filter(({ state }) => which === "all" || state !== "closed").slice(0, MAX_SESSIONS);
    for (const { session_id, state, outcome, requirement } of fitting)
      found.push({ value: session_id, about: `${outcome ?? state}: ${requirement ?? ""}` });
    return undefined;
  });
  return found;
}

/** The tickets of a session, or its mode's equivalent. */
const ticketIds = inSession(async (store, session_id) => {
  const stored = await store.load(session_id);
  const subjects = stored.ok ? subjectsIn(stored.value) : [];
  return Array.from(subjects, ({ id, value }) => ({ value: id, about: wordsOf(objectOf(value).status) }));
});

/** The ids that `bosun answer` takes: the open questions of a session, and the permissions that it waits for. */
const questionIds = inSession(async (store, session_id) => {
  const { waiting } = await neededOf(store, session_id);
  return waiting.flatMap((one): Candidate[] => {
    if (one.kind === "question") return [{ value: one.question_id, about: one.text }];
    return one.kind === "permission" ? [{ value: one.ask_id, about: `${one.role_id} wants ${one.action}` }] : [];
  });
});

const roleIds = inSession(async (store, session_id) =>
  (openedWith(store, session_id)?.roles ?? []).map(({ role_id, type }) => ({ value: role_id, about: type })),
);

/** Looks into the session with this id or unique prefix; without a name, into the default session of the first home that has one. */
function inSession(look: (store: StoreReader, session_id: string) => Promise<Candidate[]>) {
  return async (context: CommandContext, named: string | undefined): Promise<Candidate[]> => {
    const found = await inHomes(context, async (store) => {
      const row = named === undefined ? resolveSession(store, undefined, SHOW) : store.session(named);
      return row.ok && isBegun(row.value) ? look(store, row.value.session_id) : undefined;
    });
    return found ?? [];
  };
}

/**
 * Reads the homes until something is found. Creates nothing and remembers no home, because the person has not pressed Enter. A home that
 * cannot be read is skipped.
 */
async function inHomes(
  context: CommandContext,
  look: (store: StoreReader) => Promise<Candidate[] | undefined>,
): Promise<Candidate[] | undefined> {
  const here = homeOf(context);
  const homes = here.ok ? [here.value, ...otherHomes(context, here.value)] : otherHomes(context, undefined);
  for (const home of homes.slice(0, MAX_HOMES)) {
    const reader = openUntouched(home);
    if (!reader.ok) continue;
    try {
      const found = await look(reader.value);
      if (found !== undefined) return found;
    } catch {
      // The next home may be readable.
    } finally {
      reader.value.close();
    }
  }
  return undefined;
}
