import { Option } from "commander";
import { findingsFailure, loadDocument, problemsFailure } from "../../config/document.ts";
import type { ModeCommand, ModeOption, SeatField } from "../../kernel/kit/descriptor.ts";
import { idsAt, readInput } from "../../kernel/kit/input.ts";
import { isJsonObject, type Json, type JsonObject, textOf } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import type { AnyDescriptor } from "../../modes/index.ts";
import type { SourceDocument } from "../../protocol/document/document.ts";
import { explain, type Finding } from "../../protocol/document/problem.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { readyToBegin, type SettingOptions } from "./ready.ts";
import { findConfiguration, loadRegistry, type RegistryOptions } from "./registry.ts";
import { type AskedOf, checkedRequirement, typedRequirement } from "./requirement.ts";
import type { RunInput } from "./run-input.ts";

/** The options of a mode's command besides those of its input. */
export interface ModeInputOptions extends RegistryOptions, SettingOptions {
  readonly file?: string;
}

/** Reads and checks the input of a session of a mode of the kit. Failures: `usage`, `configuration`, `not_found`, `environment`, `trust`. */
export async function readModeInput(
  context: CommandContext,
  descriptor: AnyDescriptor,
  words: readonly string[],
  options: ModeInputOptions,
): Promise<Fallible<RunInput>> {
  const { name, requirement: field, seats: fields, command } = descriptor;
  const asked = { ...command, command: name };
  const given = await givenInput(context, asked, field, words, options);
  if (!given.ok) return given;
  const { value, failureFor } = given.value;
  const found = findConfiguration(context, options, options.cwd ?? context.directory);
  if (!found.ok) return found;
  const registry = await loadRegistry(options, found.value);
  if (!registry.ok) return registry;
  const { seated, others } = seat(registry.value, fields, value);
  const types = fields.flatMap((one) => one.types);
  // Any other role could take any seat.
  const known = others.flatMap(({ role_id }) => types.map((type) => ({ role_id, type })));
  const input = readInput<JsonObject>(descriptor, value, [...seated, ...known]);
  if (!input.ok) return err(failureFor(input.error));
  const requirement = checkedRequirement(ok(textOf(input.value[field])), asked);
  if (!requirement.ok) return requirement;
  const ready = await readyToBegin(context, options, found.value, seated);
  if (!ready.ok) return ready;
  const { roles, settings } = ready.value;
  const config = settings.values;
  const session = { requirement: requirement.value, config, roles, workspace: config.workspace, facts: [] };
  return ok({ mode: name, session: { ...session, input: { ...input.value, [field]: requirement.value } } });
}

/** An input as it was given, and the failure for what is wrong with it. */
interface GivenInput {
  readonly value: Json;
  readonly failureFor: (findings: readonly Finding[]) => Failure;
}

/** The input from the file that the words name, with what the words and the options give in place of its fields. */
async function givenInput(
  { terminal }: CommandContext,
  asked: ModeCommand & AskedOf,
  field: string,
  words: readonly string[],
  options: ModeInputOptions,
): Promise<Fallible<GivenInput>> {
  const values = valuesOf(asked.options, options as Readonly<Record<string, unknown>>);
  const named = namedBy(asked, words, values);
  if (!named.ok) return named;
  const { text, option } = named.value;
  const document = named.value.file === undefined ? undefined : loadDocument(named.value.file);
  if (document && !document.ok) {
    const hint = `Without ${option}, the first word names a file with the whole input.`;
    return err({ ...problemsFailure([document.error]), hint });
  }
  const isWritten = document !== undefined && text === undefined && options.file === undefined;
  const requirement = isWritten
    ? ok(undefined)
    : await typedRequirement(terminal, { words: text, file: options.file }, asked);
  if (!requirement.ok) return requirement;
  const typed = asked.input?.(values) ?? values;
  const own = requirement.value === undefined ? typed : { ...typed, [field]: requirement.value };
  const written = document?.value.value;
  const value = written === undefined ? own : isJsonObject(written) ? { ...written, ...own } : written;
  return ok({ value, failureFor: (findings) => failureOf(asked, findings, own, document?.value) });
}

/** What the words are: the requirement, behind a file if the mode takes one and the option that makes it unnecessary is missing. */
function namedBy(
  { command, noun, options, unlessFile }: ModeCommand & AskedOf,
  [first, second]: readonly string[],
  values: JsonObject,
): Fallible<{ readonly file?: string; readonly text?: string | undefined; readonly option?: string }> {
  const option = options.find(({ field }) => field === unlessFile);
  if (option === undefined) return ok({ text: first });
  const name = flagOf(option);
  if (values[option.field] === undefined) {
    if (first !== undefined) return ok({ file: first, text: second, option: name });
    return fails("usage", `Neither ${name} nor a file is given.`, { hint: helpFor(command) });
  }
  if (second === undefined) return ok({ text: first });
  const hint = `With ${name} the only word is the ${noun}. Quote arguments that contain spaces.`;
  return fails("usage", "Too many arguments.", { hint });
}

/** Everything that is wrong with an input: `configuration` if a file has some of it, with its places; else `usage`. */
function failureOf(
  { command, options }: ModeCommand & AskedOf,
  findings: readonly Finding[],
  own: JsonObject,
  document: SourceDocument | undefined,
): Failure {
  const fieldOf = ({ pointer }: Finding) => pointer.split("/")[1] ?? "";
  const isTyped = (finding: Finding) => document === undefined || Object.hasOwn(own, fieldOf(finding));
  const typed = findings.filter(isTyped).flatMap((finding) => {
    const field = fieldOf(finding);
    const option = options.find((one) => one.field === field);
    // The option's name says which field it is.
    const what = finding.what.replace(`${JSON.stringify(field)} `, "");
    return explain({ ...finding, what, file: option === undefined ? field : flagOf(option) });
  });
  if (document === undefined) return failure("usage", typed.join("\n"), { hint: helpFor(command) });
  const inFile = findings.filter((finding) => !isTyped(finding));
  if (inFile.length === 0) return failure("usage", typed.join("\n"));
  const located = findingsFailure(document, inFile);
  return { ...located, message: [located.message, ...typed].join("\n") };
}

function helpFor(command: string): string {
  return `\`bosun help ${command}\` lists the options.`;
}

/** The values of a mode's options, by field. What is no number stays a text, so that the schema's check reports it. */
function valuesOf(options: readonly ModeOption[], given: Readonly<Record<string, unknown>>): JsonObject {
  const values: Record<string, Json> = {};
  for (const { flags, field, kind } of options) {
    const text = given[new Option(flags).attributeName()];
    if (typeof text !== "string") continue;
    if (kind === "list") values[field] = text.split(",").flatMap((part) => part.trim() || []);
    else values[field] = kind === "number" && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
  }
  return values;
}

/** The name of an option, such as `--rounds`. */
export function flagOf({ flags }: ModeOption): string {
  return new Option(flags).long ?? flags;
}

/** The roles that take part, with the types of their seats, and the others. A role keeps its type where that fits. */
function seat(
  registry: readonly Role[],
  fields: readonly SeatField[],
  input: Json,
): { readonly seated: readonly Role[]; readonly others: readonly Role[] } {
  const seats = fields.flatMap(({ types, at }) => idsAt(input, { at }).map(({ role_id }) => ({ role_id, types })));
  const seated = seats.flatMap(({ role_id, types }, index) => {
    const role = registry.find((candidate) => candidate.role_id === role_id);
    const [type = "participant"] = types;
    const isRepeated = seats.findIndex((other) => other.role_id === role_id) < index;
    return role === undefined || isRepeated ? [] : [types.includes(role.type) ? role : { ...role, type }];
  });
  return { seated, others: registry.filter(({ role_id }) => !seats.some((one) => one.role_id === role_id)) };
}
