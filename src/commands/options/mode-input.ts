import { Option } from "commander";
import { loadDocument, problemsFailure, problemsIn } from "../../config/document.ts";
import { isEmbedded } from "../../config/role-defaults.ts";
import {
  beginningOf,
  fieldOf,
  fillingOptions,
  type ModeOption,
  requirementOption,
  type SeatField,
} from "../../kernel/kit/descriptor.ts";
import { idsAt, readInput, withSeatsFilled } from "../../kernel/kit/input.ts";
import { withArticle } from "../../lib/article.ts";
import { defined, isJsonObject, type Json, type JsonObject, objectOf, textOf } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import type { AnyDescriptor } from "../../modes/index.ts";
import type { SourceDocument } from "../../protocol/document/document.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { CommandContext } from "../context/command.ts";
import { readTranscript } from "../lookup/transcript.ts";
import { withCrew } from "./crew-choice.ts";
import { readyToBegin } from "./ready.ts";
import { withAgentFiles } from "./agent-files.ts";
import { findConfiguration, loadRegistry } from "./registry.ts";
import { type AskedOf, checkedRequirement, typedRequirement } from "./requirement.ts";
import { byTerminal, type RunInput, type RunInputOptions } from "./run-input.ts";
import type { RunOptions } from "./run-options.ts";

/**
 * Reads and checks the input of a session of a mode of the kit. A role takes the type of its seat, unless its own fits. Failures: `usage`,
 * `configuration`, `not_found`, `environment`, `trust`.
 */
export async function readModeInput(
  context: CommandContext,
  descriptor: AnyDescriptor,
  words: readonly string[],
  options: RunInputOptions,
  { ask, scheduler }: Pick<RunOptions, "ask" | "scheduler">,
): Promise<Fallible<RunInput>> {
  const { name, requirement: field, seats } = descriptor;
  const given = await givenInput(context, descriptor, words, options);
  if (!given.ok) return given;
  const found = findConfiguration(context, options, options.cwd ?? context.directory);
  if (!found.ok) return found;
  // Seats that nobody is named for are taken from the crew that is here.
  const crewed = await withCrew(context, options, found.value);
  if (!crewed.ok) return crewed;
  const loaded = await loadRegistry(crewed.value, found.value);
  if (!loaded.ok) return loaded;
  const ids = seats.flatMap((seat) => idsAt(given.value.value, seat).map(({ role_id }) => role_id));
  const agents = await withAgentFiles(context, options, ids, loaded.value);
  if (!agents.ok) return agents;
  // Who begins it by an act takes part by acts, and not in turns.
  const registry = agents.value.roles.filter(({ role_id }) => role_id !== options.as);
  const { others: inFiles } = agents.value;
  // The embedded crew talks with nobody.
  const talking = registry.filter((role) => !isEmbedded(role));
  const value = withSeatsFilled(descriptor, given.value.value, talking);
  const empty = seats.find(({ at, fills }) => fills && objectOf(value)[at] === undefined);
  // Unknown roles are told first.
  if (empty && ids.every((id) => registry.some(({ role_id }) => role_id === id)))
    return err(nobodyFor(descriptor, empty));
  const taken = seats.flatMap((seat) => idsAt(value, seat).map(({ role_id }) => [role_id, seat.types] as const));
  // If a role takes several seats, the first counts.
  const typesOf = new Map(taken.toReversed());
  const seated = registry.flatMap((role) => {
    const [type = role.type, ...more] = typesOf.get(role.role_id) ?? [];
    return typesOf.has(role.role_id) ? [more.includes(role.type) ? role : { ...role, type }] : [];
  });
  // Any other role could take any seat, and any other agent.
  const others = registry.map(({ role_id }) => role_id).filter((role_id) => !typesOf.has(role_id));
  const free = [...others, ...inFiles];
  const known = seats.flatMap(({ types }) => types.flatMap((type) => free.map((role_id) => ({ role_id, type }))));
  const input = readInput<JsonObject>(descriptor, value, [...seated, ...known]);
  if (!input.ok) return err(failureOf(descriptor, input.error, given.value));
  const requirement = checkedRequirement(ok(textOf(input.value[field])), askedOf(descriptor));
  if (!requirement.ok) return requirement;
  const at_terminal = ask && scheduler !== "detached";
  const ready = await readyToBegin(context, options, found.value, seated, at_terminal);
  if (!ready.ok) return ready;
  const { roles, settings } = ready.value;
  const { workspace } = settings.values;
  if (settings.values.isolation === "worktree")
    return fails("usage", `Only tickets of bosun run work in copies: ${withArticle(name)} has none.`, {
      hint: "Give it --isolation none.",
    });
  const session = { requirement: requirement.value, config: settings.values, roles, workspace, facts: [] };
  return ok({
    mode: name,
    by_terminal: byTerminal(settings),
    session: { ...session, input: { ...input.value, [field]: requirement.value } },
  });
}

/** An input as it was given: the fields that were typed, in place of those of a file. */
interface GivenInput {
  readonly value: Json;
  readonly typed: JsonObject;
  readonly document: SourceDocument | undefined;
}

/** If the mode takes a file, and the option that makes it unnecessary is missing, the first word is the file. */
async function givenInput(
  context: CommandContext,
  descriptor: AnyDescriptor,
  typedWords: readonly string[],
  options: RunInputOptions,
): Promise<Fallible<GivenInput>> {
  const { requirement: field, command } = descriptor;
  const words = command.operand === undefined ? typedWords : typedWords.slice(1);
  const found = await held(context, descriptor, valuesOf(descriptor, typedWords, { ...options }));
  if (!found.ok) return found;
  const values = found.value;
  const made = command.input?.(values) ?? values;
  const spared = command.options.find((option) => option.field === command.unlessFile);
  const takesFile = spared !== undefined && values[spared.field] === undefined;
  const [file, said, more] = takesFile ? words : [undefined, ...words];
  const text = said ?? optionText(made[field]);
  const hint = helpFor(descriptor);
  if (more !== undefined) return fails("usage", `There is a word too many: ${JSON.stringify(more)}.`, { hint });
  if (takesFile && file === undefined)
    return fails("usage", `Neither ${flagOf(spared)} nor a file is given.`, { hint });
  const apart = command.options.find(
    (one) => values[one.field] !== undefined && fieldOf(descriptor.input, one.field) === undefined,
  );
  if (takesFile && apart) return fails("usage", `${flagOf(apart)} goes with ${flagOf(spared)}.`, { hint });
  const document = file === undefined ? undefined : loadDocument(file);
  if (document?.ok === false) {
    const why = `Without ${spared && flagOf(spared)}, the first word names a file with the whole input.`;
    return err({ ...problemsFailure([document.error]), hint: why });
  }
  const isWritten = document !== undefined && text === undefined && options.file === undefined;
  const requirement = isWritten
    ? ok(undefined)
    : await typedRequirement(context.terminal, { words: text, file: options.file }, askedOf(descriptor));
  if (!requirement.ok) return requirement;
  const typed = { ...made, ...defined({ [field]: requirement.value }) };
  const written = document?.value.value ?? {};
  return ok({ typed, document: document?.value, value: isJsonObject(written) ? { ...written, ...typed } : written });
}

/** The failure for a seat that the first free role takes, if there is none. */
function nobodyFor(descriptor: AnyDescriptor, { at, types }: SeatField): Failure {
  const { seat = at, name, command } = descriptor;
  const option = command.options.find(({ field }) => field === at);
  const what = `Nobody is left for the ${seat} of this ${name}: it needs a ${types.join(" or ")} besides the others.`;
  const named =
    option === undefined ? "" : `Name one with ${option.flags}, a role or the name of an agent file, or take`;
  const hint = `${named || "Take"} a crew with a ${types[0] ?? ""} by --crew NAME, such as claude or codex.`;
  return failure("usage", what, { hint });
}

/** Everything that is wrong with an input: `configuration` if a file has some of it, with its places; else `usage`. */
function failureOf(descriptor: AnyDescriptor, findings: readonly Finding[], { typed, document }: GivenInput): Failure {
  const filling = fillingOptions(descriptor);
  const nameOf = ({ pointer }: Finding) => pointer.split("/")[1] ?? "";
  const isWritten = (finding: Finding) => !Object.hasOwn(typed, nameOf(finding));
  const inFile = document === undefined ? [] : problemsIn(document, findings.filter(isWritten));
  const others = findings
    .filter((finding) => document === undefined || !isWritten(finding))
    .map((finding) => {
      const fields = finding.pointer.split("/").toReversed();
      const option = fields.flatMap((field) => filling.find((one) => one.field === field) ?? [])[0];
      // The option's name says which field it is.
      const what = finding.what.replace(`${JSON.stringify(option?.field)} `, "");
      return { ...finding, what, file: option === undefined ? nameOf(finding) : flagOf(option) };
    });
  // An option may be the value of many fields.
  const typedOnce = new Map(others.map((problem) => [`${problem.file} ${problem.what}`, problem]));
  const all = problemsFailure([...inFile, ...typedOnce.values()]);
  return inFile.length > 0
    ? all
    : failure("usage", all.message, { hint: helpFor(descriptor), ...defined({ details: all.details }) });
}

function helpFor(descriptor: AnyDescriptor): string {
  return `\`bosun help ${beginningOf(descriptor)}\` lists the options, \`bosun agents list\` the agents in files.`;
}

/** How the command of a mode is asked for its requirement. */
function askedOf(descriptor: AnyDescriptor): AskedOf {
  const option = requirementOption(descriptor);
  const { noun, say, operand } = descriptor.command;
  const words = [beginningOf(descriptor), ...(operand === undefined ? [] : [operand.flags])];
  return { command: words.join(" "), noun, say, ...defined({ option: option && flagOf(option) }) };
}

/** The values of a mode's operand and options, by field. What is no number stays a text, so that the schema's check reports it. */
function valuesOf(
  descriptor: AnyDescriptor,
  words: readonly string[],
  given: Readonly<Record<string, unknown>>,
): JsonObject {
  const values: Record<string, Json> = {};
  const { operand } = descriptor.command;
  for (const option of fillingOptions(descriptor)) {
    const { flags, field } = option;
    const text = option === operand ? words[0] : given[new Option(flags).attributeName()];
    if (text === true) values[field] = true;
    if (typeof text !== "string") continue;
    const type = fieldOf(descriptor.input, field)?.type;
    const isText = type === "string" || type === "object";
    if (type === "array") values[field] = text.split(",").flatMap((part) => part.trim() || []);
    else values[field] = !isText && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
  }
  return values;
}

/** The values with the transcript of a session in place of its id, and the content of a file in place of its name. */
async function held(
  context: CommandContext,
  { input }: AnyDescriptor,
  values: JsonObject,
): Promise<Fallible<JsonObject>> {
  const found: Record<string, Json | undefined> = { ...values };
  for (const [field, value] of Object.entries(values)) {
    const holds = fieldOf(input, field)?.holds;
    if (holds === "transcript") {
      const transcript = await readTranscript(context, textOf(value));
      if (!transcript.ok) return transcript;
      found[field] = transcript.value;
    } else if (holds === "schema") {
      const document = loadDocument(textOf(value));
      if (!document.ok) return err(problemsFailure([document.error]));
      found[field] = document.value.value;
    }
  }
  return ok(found);
}

function optionText(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : textOf(value);
}

/** The name of an option, such as `--rounds`. */
export function flagOf({ flags }: ModeOption): string {
  return new Option(flags).long ?? flags;
}
