import { type Command, Option } from "commander";
import type { CompleteRole } from "../../config/role-defaults.ts";
import type { GivenText } from "../../config/setting-text.ts";
import type { Settings } from "../../config/settings.ts";
import { DURATION_FORM } from "../../lib/durations.ts";
import { err, ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { refusalFor } from "../examination/finding.ts";
import type { InstalledProgram } from "../examination/program.ts";
import { examineSession } from "../examination/session.ts";
import { limitFlags, type LimitOptions } from "./limits.ts";
import { type Found, type RegistryOptions, settingsFrom } from "./registry.ts";

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

/** Adds the options for the settings of a session of any mode. */
export function addSettingOptions(command: Command): void {
  command
    .option("--cwd <directory>", "the workspace (default: the current directory)")
    .option("--max-workers <n>", "how many agents may run at once, managers apart")
    .option(
      "--isolation <how>",
      "worktree: each ticket works in a copy of the repository; none: in the workspace itself",
    )
    .option("--budget-turns <n>", "stop after this many turns")
    .option("--budget-tokens <n>", "stop after this many tokens, input and output together")
    .option("--budget-usd <n>", "stop after this much money")
    .option("--deadline <duration>", `stop after this time, without the machine's sleep: ${DURATION_FORM}`);
}

/** Adds the options for what a person approves of a schedule, without those that only `run` has. */
export function addPlanOptions(command: Command): void {
  command
    .addOption(
      new Option("--ask-plan", "ask you to approve the plan (the default at a terminal, except for the embedded crew)")
        // Which says the opposite.
        .conflicts("yes"),
    )
    .option("--confirm", "ask you to accept the result before the session closes (likewise)")
    .option("--no-confirm", "do not ask for that");
}

/** The roles and settings of a session that can begin here. */
interface Ready {
  readonly roles: readonly CompleteRole[];
  readonly settings: Settings;
  /** The agent programs of the roles, by role id. */
  readonly programs: ReadonlyMap<string, InstalledProgram | undefined>;
}

/** The complete roles and settings of a new session that lacks nothing that `doctor` would miss. Failures: `usage`, `configuration`, `environment`, `authentication`. */
export async function readyToBegin(
  context: CommandContext,
  options: RegistryOptions & SettingOptions,
  found: Found,
  roles: readonly Role[],
  at_terminal = false,
): Promise<Fallible<Ready>> {
  const settings = await settingsFrom(context, options, found, settingFlags(options), roles, at_terminal);
  if (!settings.ok) return settings;
  const examined = await examineSession(roles, settings.value, context.environment);
  const refused = refusalFor(examined.findings);
  if (refused) return err(refused);
  return ok({
    roles: examined.roles.map(({ role }) => role),
    settings: settings.value,
    programs: new Map(examined.roles.map(({ role, program }) => [role.role_id, program])),
  });
}

export function settingFlags(options: SettingOptions): GivenText[] {
  const given: [name: string, key: GivenText["key"], text: string | undefined][] = [
    ["--cwd", "workspace", options.cwd],
    ["--max-workers", "max_workers", options.maxWorkers],
    ["--isolation", "isolation", options.isolation],
    ...limitFlags(options),
    ["--yes", "plan_approval", options.yes === true ? "never" : undefined],
    ["--ask-plan", "plan_approval", options.askPlan === true ? "ask" : undefined],
    ["--plan-only", "plan_approval", options.planOnly === true ? "ask" : undefined],
    [options.confirm === false ? "--no-confirm" : "--confirm", "confirm", options.confirm?.toString()],
  ];
  return given.flatMap(([name, key, text]) => (text === undefined ? [] : [{ name, key, text }]));
}
