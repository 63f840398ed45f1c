import type { Command } from "commander";
import { builtInPrompts } from "../agents/prompts/prompts.ts";
import type { Environment } from "../config/found.ts";
import { dialectOf } from "../config/role-defaults.ts";
import { STANDARD_ROLES, standardRoles } from "../config/roles.ts";
import { didYouMean } from "../lib/nearest.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { hanging, safeJson, safeLine, safeText } from "../ui/display.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import {
  addRegistryOptions,
  addSeatOptions,
  findConfiguration,
  type Found,
  loadRegistry,
  promptFiles,
  type RegistryOptions,
  settingsFrom,
} from "./options/registry.ts";
import { sandboxOf } from "./examination/sandbox.ts";

interface RolesOptions extends RegistryOptions {
  readonly json?: boolean;
  readonly prompts?: string | true;
}

/** `bosun roles`: shows the roles of a run with these flags. */
export function register(command: Command): Action<RolesOptions> {
  addRegistryOptions(command);
  addSeatOptions(command);
  command
    .option("--prompts [name]", "the prompt templates and where they come from, or the text of one")
    .option("--json", "one JSON value on stdout");
  return showRoles;
}

async function showRoles(context: CommandContext, _words: readonly string[], options: RolesOptions): Promise<Exit> {
  const found = findConfiguration(context, options, context.directory);
  if (!found.ok) return found;
  if (options.prompts !== undefined) return showPrompts(context, options, found.value);
  const roles = await loadRegistry(options, found.value);
  if (!roles.ok) return roles;
  // Settings that a run would refuse are refused here, too.
  const settings = await settingsFrom(context, options, found.value, [], roles.value);
  if (!settings.ok) return settings;
  const { out } = context.terminal;
  const sandboxed = await Promise.all(
    roles.value.map(async (role) => ({ ...role, sandbox: await sandboxOf(role, context.environment.PATH) })),
  );
  const standard = await standardRoles();
  if (!standard.ok) return standard;
  // Roles that no other layer seats.
  const further = standard.value.filter(({ role_id }) => !roles.value.some((role) => role.role_id === role_id));
  if (options.json === true) {
    const shown = (role: Role) => withoutValues(role, context.environment);
    out.line(safeJson({ roles: sandboxed.map(shown), further: { source: STANDARD_ROLES, roles: further.map(shown) } }));
    return ok(EXIT_DONE);
  }
  const rows = sandboxed.map((role) => [
    role.role_id,
    role.type,
    dialectOf(role) ?? role.backend ?? "cli",
    role.sandbox,
    (role.capabilities ?? []).join(", ") || "-",
    (role.cli_command ?? [role.model ?? ""]).join(" "),
  ]);
  const columns = [
    { heading: "ROLE", width: 24 },
    { heading: "TYPE" },
    { heading: "SPEAKS" },
    { heading: "SANDBOX" },
    { heading: "CAN", width: 40 },
    { heading: "RUNS" },
  ];
  for (const line of tableLines(columns, rows, out.width)) out.line(line);
  for (const role of roles.value) {
    const variables = passed(role, context.environment).map(({ name, set }) => (set ? name : `${name} (not set here)`));
    if (variables.length > 0) out.line(safeLine(`${role.role_id} sees ${variables.join(", ")}`));
  }
  if (further.length > 0) {
    const names = further.map(({ role_id, type }) => `--${type} ${role_id}`);
    for (const line of hanging(`Also known, from ${STANDARD_ROLES}: ${names.join(", ")}`, out.width, 2)) out.line(line);
  }
  tellNext(out, "bosun doctor");
  return ok(EXIT_DONE);
}

/** `--prompts`: shows all templates, or the text of one. */
function showPrompts({ terminal: { out } }: CommandContext, options: RolesOptions, found: Found): Exit {
  const replaced = promptFiles(options, found);
  if (!replaced.ok) return replaced;
  const own = new Map(replaced.value.map((prompt) => [prompt.name, prompt]));
  const all = builtInPrompts().map((prompt) => own.get(prompt.name) ?? prompt);
  const names = all.map(({ name }) => name);
  const shown = options.prompts === true ? all : all.filter(({ name }) => name === options.prompts);
  if (shown.length === 0) {
    const name = String(options.prompts);
    const message = `There is no prompt named ${JSON.stringify(name)}.${didYouMean(name, names)}`;
    return fails("usage", message, { hint: `The prompts are ${names.join(", ")}.` });
  }
  if (options.json === true) {
    const prompts = shown.map(({ name, file, text }) => ({ name, file, replaced: own.has(name), text }));
    out.line(safeJson({ prompts }));
    return ok(EXIT_DONE);
  }
  if (options.prompts !== true) {
    for (const { text } of shown) for (const line of safeText(text).trimEnd().split("\n")) out.line(line);
    return ok(EXIT_DONE);
  }
  const rows = shown.map(({ name, file }) => [name, own.has(name) ? "yours" : "built in", file]);
  const columns = [{ heading: "PROMPT", width: 30 }, { heading: "IS" }, { heading: "FILE" }];
  for (const line of tableLines(columns, rows, out.width)) out.line(line);
  tellNext(out, "bosun roles --prompts NAME");
  return ok(EXIT_DONE);
}

/** Environment variables may hold secrets, so only their names are shown. */
function withoutValues(role: Role, environment: Environment): object {
  const { env, pass_env, ...rest } = role;
  return {
    ...rest,
    ...(env && { env: Object.keys(env) }),
    ...(pass_env && { pass_env: passed(role, environment) }),
  };
}

function passed({ pass_env = [] }: Role, environment: Environment): { name: string; set: boolean }[] {
  return pass_env.map((name) => ({ name, set: environment[name] !== undefined }));
}
