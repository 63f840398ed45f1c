import { join } from "node:path";
import type { Command } from "commander";
import { shellWord } from "../../lib/shell-word.ts";
import { makePrompts } from "../../agents/prompts/prompts.ts";
import { problemsFailure } from "../../config/document.ts";
import { loadCrew } from "../../config/crews.ts";
import { type Configuration, readProject, readUser } from "../../config/configuration.ts";
import { type Folder, type FoundConfiguration, findProjectConfiguration } from "../../config/found.ts";
import { loadPrompts, type PromptFile } from "../../config/prompts.ts";
import { loadRoles, standardRoles } from "../../config/roles.ts";
import { replaceSeat, roleFromFlag } from "../../config/role-flag.ts";
import type { GivenText } from "../../config/setting-text.ts";
import { resolveSettings, type Settings } from "../../config/settings.ts";
import { isTrusted, trustNeeded } from "../../config/trust.ts";
import { isDirectory } from "../../lib/files.ts";
import { err, ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { collect, type CommandContext } from "../context/command.ts";

export interface RegistryOptions {
  readonly crew?: string;
  readonly roles?: string[];
  readonly manager?: string;
  readonly worker?: string;
  readonly passEnv?: string[];
  readonly config?: string;
  readonly promptsFrom?: string;
  /** Only sessions of modes of the kit take roles from agent files. */
  readonly agentsDir?: string;
}

/** Adds the options for the roles and settings of a session of any mode. */
export function addRegistryOptions(command: Command): void {
  command
    .option(
      "--crew <name>",
      "a named set of roles: codex-claude, claude, codex, opencode, gemini, embedded, or one of yours",
    )
    .option("--roles <file>", "a role registry that adds to the crew (repeatable)", collect)
    .option("--config <file>", "scheduler settings, as YAML or JSON")
    .option("--prompts-from <directory>", "prompt templates that replace built-in ones");
}

export function addSeatOptions(command: Command): void {
  command
    .option(
      "--manager <cmd>",
      "the manager: codex, claude, opencode or gemini, with :MODEL if you like; a command of yours; or a role id",
    )
    .option("--worker <cmd>", "the worker: likewise")
    .option("--pass-env <name>", "a variable that --manager and --worker see (repeatable)", collect);
}

/** Configuration that was found rather than named, and may be used. */
export interface Found {
  readonly user: Configuration | undefined;
  readonly project: Configuration | undefined;
}

/** The crew that fills empty seats. */
const EMBEDDED_CREW = "embedded";

/**
 * Finds the configuration of the user and of the project. A project's configuration that can run commands fails with `trust`, unless flags
 * name its files, which trusts them. What flags replace is left out.
 */
export function findConfiguration(
  context: CommandContext,
  options: RegistryOptions,
  directory: string,
): Fallible<Found> {
  const user = readUser(context.environment);
  if (!user.ok) return user;
  const found = findProjectConfiguration(directory);
  if (!found.ok) return found;
  const unnamed = found.value && flagsFor(found.value, options);
  if (found.value === undefined || unnamed?.length === 0) return ok({ user: user.value, project: undefined });
  const project = readProject(found.value);
  if (!project.ok) return project;
  const powers = trustNeeded(project.value, user.value);
  if (!powers.ok) return powers;
  if (powers.value.length === 0 || isTrusted(context.environment, project.value))
    return ok({ user: user.value, project: project.value });
  const shown = powers.value.map(({ where, what }) => `  ${where}: ${what}`);
  const what = `The configuration in ${found.value.folder} can run commands or raise limits:`;
  const hint = `Read it. To use it: bosun trust, or name its files: ${unnamed?.join(" ")}. To ignore it, name other files.`;
  return fails("trust", [what, ...shown].join("\n"), { hint });
}

/** The settings of a session with these roles, with the templates that replace built-in prompts. Failures as `resolveSettings`. */
export async function settingsFrom(
  { environment, directory }: CommandContext,
  options: RegistryOptions,
  found: Found,
  flags: readonly GivenText[],
  roles: readonly Role[],
  at_terminal = false,
): Promise<Fallible<Settings>> {
  const { project, user } = found;
  const settings = await resolveSettings({
    flags,
    config: options.config,
    environment,
    project: project?.settings,
    user: user?.settings,
    directory,
    roles,
    at_terminal,
  });
  if (!settings.ok) return settings;
  const files = promptFiles(options, found);
  if (!files.ok) return files;
  if (files.value.length === 0) return settings;
  const prompts = Object.fromEntries(files.value.map(({ name, text }) => [name, text]));
  return ok({ ...settings.value, values: { ...settings.value.values, prompts } });
}

/** The templates that replace built-in prompts: the user's own, the project's, and those of `--prompts-from`. */
export function promptFiles({ promptsFrom }: RegistryOptions, { user, project }: Found): Fallible<PromptFile[]> {
  if (promptsFrom !== undefined && !isDirectory(promptsFrom)) {
    const hint = "Name a folder with templates; for their names: bosun roles --prompts";
    return fails("usage", `--prompts-from ${JSON.stringify(promptsFrom)} is no folder.`, { hint });
  }
  const folders = [user?.prompts, project?.prompts, promptsFrom].filter((folder) => folder !== undefined);
  const files = loadPrompts(folders);
  if (!files.ok) return files;
  const made = makePrompts(files.value);
  return made.ok ? files : err(problemsFailure(made.error));
}

/** The flags that name the files of a configuration folder, without files that other flags replace. */
function flagsFor({ settings, roles, crews, prompts }: FoundConfiguration, options: RegistryOptions): string[] {
  const isReplaced = options.roles !== undefined || options.crew !== undefined;
  const registry = roles ?? (isDirectory(crews) ? join(crews, "FILE") : undefined);
  return [
    ...(settings === undefined || options.config !== undefined ? [] : [`--config ${shellWord(settings)}`]),
    ...(registry === undefined || isReplaced ? [] : [`--roles ${shellWord(registry)}`]),
    ...(!isDirectory(prompts) || options.promptsFrom !== undefined ? [] : [`--prompts-from ${shellWord(prompts)}`]),
  ];
}

/**
 * All roles: the named crew, then the found registries and those of `--roles`, then `--manager` and `--worker`; later ones replace earlier
 * ones, and all build on the standard roles. Without a named crew the embedded one fills empty seats.
 */
export async function loadRegistry(options: RegistryOptions, found: Found): Promise<Fallible<Role[]>> {
  const standard = await standardRoles();
  if (!standard.ok) return standard;
  const crew = options.crew === undefined ? ok([]) : await loadCrew(options.crew, crewFolders(found), standard.value);
  if (!crew.ok) return crew;
  const files = [found.user?.roles, found.project?.roles, ...(options.roles ?? [])].filter(
    (file) => file !== undefined,
  );
  const merged = await loadRoles(crew.value, files, standard.value);
  if (!merged.ok) return merged;
  const pass_env = variablesFrom(options);
  if (!pass_env.ok) return pass_env;
  let roles = merged.value;
  for (const type of ["worker", "manager"] as const) {
    const text = options[type];
    if (text === undefined) continue;
    const named = [...roles, ...standard.value].find((role) => role.role_id === text && role.type === type);
    const role = named ? ok(named) : roleFromFlag(type, text);
    if (!role.ok) return role;
    roles = replaceSeat(roles, { ...role.value, ...pass_env.value });
  }
  return options.crew === undefined ? fillSeats(roles) : ok(roles);
}

/** The folders of the user's and the project's own crews. */
export function crewFolders({ user, project }: Found): Folder[] {
  return [user?.crews, project?.crews].filter((folder) => folder !== undefined);
}

/** The variables that `--pass-env` adds to the roles of `--manager` and `--worker`. Failure `usage`. */
function variablesFrom({ passEnv, manager, worker }: RegistryOptions): Fallible<Pick<Role, "pass_env">> {
  if (passEnv === undefined) return ok({});
  const wrong = passEnv.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined) {
    const hint = "Give the name alone; its value is taken from your environment.";
    return fails("usage", `--pass-env ${JSON.stringify(wrong)} is not the name of a variable.`, { hint });
  }
  if (manager === undefined && worker === undefined) {
    const hint = "Write pass_env: [NAME] into the role in your registry, or give --manager CMD or --worker CMD too.";
    const what = "--pass-env is for the roles of --manager and --worker, and neither is given.";
    return fails("usage", what, { hint });
  }
  return ok({ pass_env: [...new Set(passEnv)] });
}

async function fillSeats(roles: readonly Role[]): Promise<Fallible<Role[]>> {
  const embedded = await loadCrew(EMBEDDED_CREW, []);
  if (!embedded.ok) return embedded;
  const missing = embedded.value.filter((role) => !roles.some((other) => other.type === role.type));
  return ok([...roles, ...missing]);
}
