import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type LoadedPlan, loadPlanFile } from "../../config/plan-file.ts";
import { type AskedOf, readRequirement } from "../../config/requirement.ts";
import { completeRole } from "../../config/role-defaults.ts";
import { checkSeats } from "../../config/roles.ts";
import type { SettingFlag } from "../../config/setting-text.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { scheduleMode } from "../../modes/schedule/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { NewSessionInput } from "../../runtime/create.ts";
import type { CommandContext } from "../call/command.ts";
import { isPlaybook, nothingToRun, unplayable } from "../plans/playbook.ts";
import { placed } from "../plans/refused.ts";
import { rehearse } from "../plans/rehearse.ts";
import { discussionProblem } from "./discussion.ts";
import { nothingToUse } from "./limits.ts";
import { missingProgram, unreachable, unusableWorkspace } from "./reach.ts";
import { findConfiguration, loadRegistry, type RegistryOptions, settingsFrom } from "./registry.ts";
import { withSandboxes } from "./sandboxes.ts";
import { typedRequirement } from "./typed-requirement.ts";

const REQUIREMENT: AskedOf = { command: "run", noun: "requirement", say: "Say what you want done" };

/** The options that say what is to be done, by whom, where and within which limits. */
export interface RunInputOptions extends RegistryOptions {
  readonly file?: string;
  readonly plan?: string;
  readonly cwd?: string;
  readonly yes?: boolean;
  readonly planOnly?: boolean;
  readonly confirm?: boolean;
  readonly maxWorkers?: string;
  readonly isolation?: string;
  readonly base?: string;
  readonly budgetTurns?: string;
  readonly budgetTokens?: string;
  readonly budgetUsd?: string;
  readonly deadline?: string;
}

/** Everything of a new session but its id, checked; nothing has been made for it yet. */
export interface RunInput {
  readonly session: Omit<NewSessionInput, "session_id" | "started_by">;
  /** The plan file that the playbook manager plays: it goes into the session's folder. */
  readonly playbook: string | undefined;
}

/** Reads and checks all that a run is given. Failures: `usage`, `configuration`, `environment`, `trust`, `invalid_plan`. */
export async function readRunInput(
  context: CommandContext,
  words: string | undefined,
  options: RunInputOptions,
): Promise<Result<RunInput, Failure>> {
  const plan = options.plan === undefined ? ok(undefined) : await loadPlanFile(options.plan);
  if (!plan.ok) return plan;
  const requirement = await requirementOf(context, words, options.file, plan.value);
  if (!requirement.ok) return requirement;
  const found = findConfiguration(context, options, options.cwd ?? context.directory);
  if (!found.ok) return found;
  const roles = await loadRegistry(options, found.value);
  if (!roles.ok) return roles;
  const seats = checkSeats(roles.value, ["manager", "worker"]);
  if (!seats.ok) return seats;
  const settings = await settingsFrom(context, options, found.value, settingFlags(options), roles.value);
  if (!settings.ok) return settings;
  const config = settings.value.values;
  const complete = roles.value.map((role) => completeRole(role, config));
  const wrong = notYet(config) ?? nothingToUse(config) ?? cannotStart(complete, config.workspace, context);
  if (wrong) return err(wrong);
  const unfit = await discussionProblem(settings.value, complete);
  if (unfit) return err(unfit);
  const sandboxed = await withSandboxes(complete, context.environment.PATH);
  if (!sandboxed.ok) return sandboxed;
  const crew = sandboxed.value;
  const manager = crew.find(isPlaybook);
  if (manager && plan.value === undefined) return err(noPlan(manager));
  return inputOf(requirement.value, config, crew, plan.value, options);
}

function inputOf(
  requirement: string,
  config: ResolvedConfiguration,
  roles: readonly Role[],
  plan: LoadedPlan | undefined,
  options: RunInputOptions,
): Result<RunInput, Failure> {
  const played = plan !== undefined && roles.some(isPlaybook);
  const given = plan !== undefined && !played;
  if (given && options.planOnly === true) {
    return err(
      failure("usage", "--plan-only has no plan to wait for: with --plan the plan is yours already.", {
        hint: "Leave out --plan to let the manager plan, or leave out --plan-only to begin.",
      }),
    );
  }
  if (given && plan.plan.questions !== undefined) {
    return err(
      failure("configuration", `${plan.source.file} has questions, which only the playbook manager can ask.`, {
        hint: "Take them out, or run the plan with --crew embedded.",
      }),
    );
  }
  const input: JsonObject = {
    ...(options.confirm === true ? { confirm: true } : {}),
    ...(given ? { plan_given: true } : {}),
    ...(plan ? { plan_digest: digestOf(plan.source.file) } : {}),
  };
  const planFact = plan && { payload_type: "plan" as const, payload: planPayload(plan) };
  const facts = [
    { payload_type: "requirement" as const, payload: { text: requirement } },
    ...(given && planFact ? [planFact] : []),
  ];
  const opened = { mode: scheduleMode.name, config, roles, input } as unknown as JsonObject;
  const refused = planFact && rehearse(scheduleMode, opened, [...facts.slice(0, 1), planFact]);
  if (refused) return err(placed(refused, plan));
  const wrong = played ? (unplayable(plan) ?? nothingToRun(plan, roles)) : undefined;
  if (wrong) return err(wrong);
  return ok({
    session: {
      requirement,
      config,
      roles,
      workspace: config.workspace,
      facts,
      ...(Object.keys(input).length === 0 ? {} : { input }),
    },
    playbook: played ? plan.source.file : undefined,
  });
}

function planPayload({ plan }: LoadedPlan): JsonObject {
  const { summary, tasks } = plan;
  return { ...(summary === undefined ? {} : { summary }), tasks };
}

/** What is typed; else what the plan itself says is wanted, or what it is about. */
async function requirementOf(
  { terminal }: CommandContext,
  words: string | undefined,
  file: string | undefined,
  plan: LoadedPlan | undefined,
): Promise<Result<string, Failure>> {
  if (plan === undefined || words !== undefined || file !== undefined)
    return typedRequirement(terminal, { words, file }, REQUIREMENT);
  return readRequirement({ words: plan.plan.requirement ?? plan.plan.summary ?? "Carry out the plan." }, REQUIREMENT);
}

function settingFlags(options: RunInputOptions): SettingFlag[] {
  const given: [flag: string, key: SettingFlag["key"], text: string | undefined][] = [
    ["--cwd", "workspace", options.cwd],
    ["--max-workers", "max_workers", options.maxWorkers],
    ["--isolation", "isolation", options.isolation],
    ["--budget-turns", "budget.turns", options.budgetTurns],
    ["--budget-tokens", "budget.tokens", options.budgetTokens],
    ["--budget-usd", "budget.usd", options.budgetUsd],
    ["--deadline", "budget.wall_s", options.deadline],
    ["--yes", "plan_approval", options.yes === true ? "never" : undefined],
    ["--plan-only", "plan_approval", options.planOnly === true ? "ask" : undefined],
  ];
  return given.flatMap(([flag, key, text]) => (text === undefined ? [] : [{ flag, key, text }]));
}

/** What can be asked for and is not there yet: refused rather than not done. */
function notYet(config: ResolvedConfiguration): Failure | undefined {
  if (config.isolation !== "none") {
    return failure("usage", `Isolation "${config.isolation}" is not there yet: agents work in the workspace itself.`, {
      hint: "Use --isolation none, with a clone of the repository as --cwd if nothing of yours may be touched.",
    });
  }
  return undefined;
}

function cannotStart(roles: readonly Role[], workspace: string, { environment }: CommandContext): Failure | undefined {
  const unusable = unusableWorkspace(workspace);
  if (unusable) return unusable;
  for (const role of roles) {
    const wrong = unreachable(role) ?? missingProgram(role, workspace, environment.PATH);
    if (wrong) return wrong;
  }
  return undefined;
}

function noPlan({ role_id }: Role): Failure {
  return failure("usage", `The manager ${role_id} plays a plan file, and none is named.`, {
    hint: 'Name one: bosun run --plan FILE. Or let an agent plan: --manager "CMD" (a program that speaks the envelope dialect).',
  });
}

/** By content, so that going on with a session can tell whether it is the same plan. */
function digestOf(file: string): string {
  return `sha256:${createHash("sha256").update(readFileSync(file)).digest("hex")}`;
}
