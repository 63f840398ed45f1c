import { hash } from "node:crypto";
import { isForeign, type LoadedPlan, loadPlan, MAX_PLAN_BYTES, planIn } from "../../config/plan-file.ts";
import { type AskedOf, checkedRequirement, standardInput, typedRequirement } from "./requirement.ts";
import { isEmbedded, isPlaybook } from "../../config/role-defaults.ts";
import { checkSeats } from "../../config/roles.ts";
import type { Settings } from "../../config/settings.ts";
import { noRepository } from "../../copies/preflight.ts";
import { repositoryRoot } from "../../lib/git-directories.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { scheduleMode } from "../../modes/schedule/mode.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { NewSessionInput } from "../../runtime/create.ts";
import type { CommandContext } from "../context/command.ts";
import { childProblem, rehearse } from "./children.ts";
import { crewHere, crewWords, namesNobody, nobodyInstalled, withCrew } from "./crew-choice.ts";
import { located, nothingToRun, unplayable, worksByShell } from "./plan-file.ts";
import { readyToBegin, type SettingOptions } from "./ready.ts";
import { findConfiguration, loadRegistry, type RegistryOptions } from "./registry.ts";
import { isForPeople, type RunOptions } from "./run-options.ts";
import { safeLine } from "../../ui/display.ts";
import { unfitAnswers } from "../../config/answers.ts";

const BUNDLED_WORKER = "The worker is Bosun's own, which only runs commands that it is given. Another: --worker CMD";

const REQUIREMENT: AskedOf = { command: "run", noun: "requirement", say: "Say what to do" };

/** The options for the requirement, the roles, the workspace and the limits. */
export interface RunInputOptions extends RegistryOptions, SettingOptions {
  readonly file?: string;
  readonly plan?: string;
  readonly base?: string;
  readonly includeDirty?: boolean;
  /** Who begins a session of a mode with outsiders, if not the local user. */
  readonly as?: string;
}

/** A plan file that the playbook manager plays. */
export interface Playbook {
  /** Its name, which says whether it is JSON or YAML. */
  readonly file: string;
  readonly text: string;
}

/** Everything about a new session except its id, checked; nothing has been created for it yet. */
export interface RunInput {
  readonly mode: string;
  readonly session: Omit<NewSessionInput, "session_id" | "started_by">;
  /** Set if each ticket works in a copy of the repository: from which commit, and whether uncommitted changes belong to it. */
  readonly copies?:
    | {
        readonly base?: string | undefined;
        readonly include_dirty?: boolean | undefined;
        /** Whether somebody set the isolation. */
        readonly is_chosen: boolean;
      }
    | undefined;
  /** Copied into the session's folder. */
  readonly playbook?: Playbook | undefined;
  /** The settings that nobody gave and that depend on the terminal. */
  readonly by_terminal?: readonly (typeof BY_TERMINAL)[number][];
}

const BY_TERMINAL = ["plan_approval", "confirm"] as const;

export function byTerminal({ origins }: Pick<Settings, "origins">): (typeof BY_TERMINAL)[number][] {
  return BY_TERMINAL.filter((key) => !origins.has(key));
}

/** Reads and checks the input of a run. Failures: `usage`, `configuration`, `environment`, `trust`, `invalid_plan`. */
export async function readRunInput(
  context: CommandContext,
  words: string | undefined,
  options: RunInputOptions,
  { ask, scheduler, answers, reporter }: RunOptions,
): Promise<Fallible<RunInput>> {
  const plan = await planOf(context, words, options);
  if (!plan.ok) return plan;
  const requirement = await requirementOf(context, words, options.file, plan.value);
  if (!requirement.ok) return requirement;
  const found = findConfiguration(context, options, options.cwd ?? context.directory);
  if (!found.ok) return found;
  const needsManager = plan.value === undefined || isForeign(plan.value);
  // For a person who names no planner: the first crew whose programs are installed.
  const chooses = ask && needsManager && namesNobody(options, found.value);
  const chosen = chooses ? await withCrew(context, options, found.value) : ok(options);
  if (!chosen.ok) return chosen;
  if (chooses && chosen.value.crew === undefined) return err(nobodyInstalled());
  const roles = await loadRegistry(chosen.value, found.value);
  if (!roles.ok) return roles;
  const seats = checkSeats(roles.value, ["manager", "worker"]);
  if (!seats.ok) return seats;
  const at_terminal = ask && scheduler !== "detached";
  const ready = await readyToBegin(context, options, found.value, roles.value, at_terminal);
  if (!ready.ok) return ready;
  const { roles: crew, settings, programs } = ready.value;
  const unable = await childProblem(settings, crew);
  if (unable) return err(unable);
  if (needsManager && crew.some(isPlaybook)) {
    const installed = await crewHere(context, found.value);
    const usable = installed.ok ? (installed.value ?? "NAME") : "NAME";
    const { source } = plan.value ?? {};
    const what = source ? `instruct the tasks of ${safeLine(source.file)}, which is no plan file` : "plan this";
    return fails("configuration", `No agent is configured to ${what}.`, {
      hint: `Use --crew ${usable}, --manager CMD or --plan FILE${source ? " with instructions" : ""}.`,
    });
  }
  const { crew: name } = chosen.value;
  if (chooses && name !== undefined) context.terminal.err.line(`crew ${crewWords(name, crew, programs)}`);
  if (isForPeople(reporter) && name === undefined && worksByShell(crew)) context.terminal.out.line(BUNDLED_WORKER);
  const input = await inputOf(requirement.value, settings, crew, plan.value, options);
  // Other agents may ask questions of their own.
  const questions = crew.every(isEmbedded) ? (plan.value?.plan.questions ?? []) : undefined;
  const unfit = input.ok && questions ? unfitAnswers(answers, questions) : undefined;
  return unfit ? err(unfit) : input;
}

async function planOf(
  { terminal }: CommandContext,
  words: string | undefined,
  { plan, file }: RunInputOptions,
): Promise<Fallible<LoadedPlan | undefined>> {
  if (plan === undefined) return ok(undefined);
  if (plan !== "-") return loadPlan(plan);
  if ((file ?? words) === "-") {
    const hint = "Leave the requirement out if the plan has one, or use a file for one of them.";
    return fails("usage", "The plan and the requirement cannot both be read from standard input.", { hint });
  }
  return loadPlan(plan, await standardInput(terminal, "plan", MAX_PLAN_BYTES));
}

/** The isolation that was chosen; else copies in a git repository, except for the embedded crew, which only runs its plan. */
function isolationOf({ values, origins }: Settings, roles: readonly Role[]): ResolvedConfiguration["isolation"] {
  if (origins.get("isolation")?.from !== "default") return values.isolation;
  const isCopied = repositoryRoot(values.workspace) !== undefined && !roles.every(isEmbedded);
  return isCopied ? "worktree" : "none";
}

async function inputOf(
  requirement: string,
  settings: Settings,
  roles: readonly Role[],
  plan: LoadedPlan | undefined,
  options: RunInputOptions,
): Promise<Fallible<RunInput>> {
  const { origins } = settings;
  const config = { ...settings.values, isolation: isolationOf(settings, roles) };
  const played = plan !== undefined && roles.some(isPlaybook);
  const given = plan !== undefined && !played;
  if (given && !isForeign(plan) && options.planOnly === true) {
    const hint = "Leave out --plan to let the manager plan, or leave out --plan-only to begin.";
    return fails("usage", "--plan-only waits for a manager's plan, and --plan gives your own.", { hint });
  }
  if (given && plan.plan.questions !== undefined) {
    const what = `${plan.source.file} has questions, which only the playbook manager can ask.`;
    return fails("configuration", what, { hint: "Remove them, or run the plan with --crew embedded." });
  }
  const { base, includeDirty: include_dirty } = options;
  const isCopied = config.isolation === "worktree";
  const is_chosen = origins.get("isolation")?.from !== "default";
  if (!isCopied && (base ?? include_dirty) !== undefined)
    return fails("usage", "--base and --include-dirty say what copies of the repository start from.", {
      hint: "Add --isolation worktree, or leave them out.",
    });
  if (isCopied && repositoryRoot(config.workspace) === undefined) return noRepository(config.workspace);
  const input: JsonObject = {
    ...(given ? { plan_given: true } : {}),
    // By which an existing session recognises the same plan.
    ...(plan ? { plan_digest: `sha256:${hash("sha256", plan.text)}` } : {}),
    ...(plan ? { plan_source: { format: plan.format, file: plan.source.file } } : {}),
  };
  const planFact = plan && { payload_type: "plan" as const, payload: { ...planIn(plan.plan) } };
  const wanted = { payload_type: "requirement" as const, payload: { text: requirement } };
  const opened = { mode: scheduleMode.name, config, roles, input } as unknown as JsonObject;
  const refused = planFact && rehearse(scheduleMode, opened, [wanted, planFact]);
  const wrong = played
    ? ((await unplayable(plan, refused)) ?? nothingToRun(plan, roles))
    : refused && located(refused, plan);
  if (wrong) return err(wrong);
  return ok({
    mode: "schedule",
    session: {
      requirement,
      config,
      roles,
      workspace: config.workspace,
      facts: given && planFact ? [wanted, planFact] : [wanted],
      ...(Object.keys(input).length === 0 ? {} : { input }),
    },
    ...(isCopied ? { copies: { base, include_dirty, is_chosen } } : {}),
    playbook: played ? { file: plan.source.file, text: plan.text } : undefined,
    by_terminal: byTerminal({ origins }),
  });
}

/** The typed requirement, else the requirement or the summary of the plan. */
async function requirementOf(
  { terminal }: CommandContext,
  words: string | undefined,
  file: string | undefined,
  plan: LoadedPlan | undefined,
): Promise<Fallible<string>> {
  if (plan === undefined || words !== undefined || file !== undefined)
    return typedRequirement(terminal, { words, file }, REQUIREMENT);
  return checkedRequirement(ok(plan.plan.requirement ?? plan.plan.summary ?? "Carry out the plan."), REQUIREMENT);
}
