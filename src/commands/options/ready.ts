import type { Command } from "commander";
import { withAuthProfile } from "../../config/auth-profiles.ts";
import { type CompleteRole, completeRole } from "../../config/role-defaults.ts";
import type { GivenText } from "../../config/setting-text.ts";
import type { Settings } from "../../config/settings.ts";
import { DURATION_FORM } from "../../lib/durations.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { type LimitOptions, nothingToUse, unpriced } from "./limits.ts";
import { type InstalledProgram, readyPrograms } from "./programs.ts";
import { roleProblem, unusableWorkspace } from "./reach.ts";
import { type Found, type RegistryOptions, settingsFrom } from "./registry.ts";
import { withSandboxes } from "./sandboxes.ts";

/** The options that set settings of a new session; a command may have some of them. */
export interface SettingOptions extends LimitOptions {
  readonly cwd?: string;
  readonly yes?: boolean;
  readonly askPlan?: boolean;
  readonly confirm?: boolean;
  readonly planOnly?: boolean;
  readonly maxWorkers?: string;
  readonly isolation?: string;
}

/** Adds the options for settings, without those that only `run` has. */
export function addSettingOptions(command: Command): void {
  command
    .option("--cwd <directory>", "the workspace (default: the current directory)")
    .option("--ask-plan", "ask you to approve the plan (the default at a terminal, except for the embedded crew)")
    .option("--confirm", "ask you to accept the result before the session closes (likewise)")
    .option("--no-confirm", "do not ask for that")
    .option("--max-workers <n>", "how many workers may run at once")
    .option("--isolation <how>", "only none: agents work in the workspace itself")
    .option("--budget-turns <n>", "stop after this many turns")
    .option("--budget-tokens <n>", "stop after this many tokens, input and output together")
    .option("--budget-usd <n>", "stop after this much money")
    .option("--deadline <duration>", `stop after this time, without the machine's sleep: ${DURATION_FORM}`);
}

/** The roles and settings of a session that can begin here. */
interface Ready {
  readonly roles: readonly CompleteRole[];
  readonly settings: Settings;
  /** The agent programs of the roles, by role id. */
  readonly programs: ReadonlyMap<string, InstalledProgram>;
}

/** The complete roles and settings of a new session, whose programs and workspace exist. Failures: `usage`, `configuration`, `environment`. */
export async function readyToBegin(
  context: CommandContext,
  options: RegistryOptions & SettingOptions,
  found: Found,
  roles: readonly Role[],
  at_terminal = false,
): Promise<Result<Ready, Failure>> {
  const settings = await settingsFrom(context, options, found, settingFlags(options), roles, at_terminal);
  if (!settings.ok) return settings;
  const config = settings.value.values;
  const { PATH } = context.environment;
  const unusable =
    notYet(config) ?? nothingToUse(config) ?? unpriced(config.budget.usd, roles) ?? unusableWorkspace(config.workspace);
  if (unusable) return err(unusable);
  const complete = completeRoles(roles, settings.value);
  if (!complete.ok) return complete;
  for (const role of complete.value) {
    const wrong = roleProblem(role, config.workspace, PATH);
    if (wrong) return err(wrong);
  }
  const programs = await readyPrograms(complete.value, config.workspace, context.environment);
  if (!programs.ok) return programs;
  const sandboxed = await withSandboxes(complete.value, PATH);
  if (!sandboxed.ok) return sandboxed;
  return ok({ roles: sandboxed.value, settings: settings.value, programs: programs.value });
}

/** Adds defaults and auth profiles to the roles. Failure `configuration` for a missing profile. */
function completeRoles(roles: readonly Role[], { values, auth_profiles }: Settings): Result<CompleteRole[], Failure> {
  const complete: CompleteRole[] = [];
  for (const given of roles) {
    const role = withAuthProfile(completeRole(given, values), auth_profiles);
    if (!role.ok) return role;
    complete.push(role.value);
  }
  return ok(complete);
}

/** The settings given by flags. */
export function settingFlags(options: SettingOptions): GivenText[] {
  const given: [name: string, key: GivenText["key"], text: string | undefined][] = [
    ["--cwd", "workspace", options.cwd],
    ["--max-workers", "max_workers", options.maxWorkers],
    ["--isolation", "isolation", options.isolation],
    ["--budget-turns", "budget.turns", options.budgetTurns],
    ["--budget-tokens", "budget.tokens", options.budgetTokens],
    ["--budget-usd", "budget.usd", options.budgetUsd],
    ["--deadline", "budget.wall_s", options.deadline],
    ["--yes", "plan_approval", options.yes === true ? "never" : undefined],
    ["--ask-plan", "plan_approval", options.askPlan === true ? "ask" : undefined],
    ["--plan-only", "plan_approval", options.planOnly === true ? "ask" : undefined],
    [options.confirm === false ? "--no-confirm" : "--confirm", "confirm", options.confirm?.toString()],
  ];
  return given.flatMap(([name, key, text]) => (text === undefined ? [] : [{ name, key, text }]));
}

/** Refuses settings that this version does not support yet. */
function notYet({ isolation }: ResolvedConfiguration): Failure | undefined {
  if (isolation === "none") return undefined;
  return failure("usage", `Isolation "${isolation}" is not supported yet: agents work in the workspace itself.`, {
    hint: 'Use "none", or leave the setting out. To protect your files, use a clone of the repository as --cwd.',
  });
}
