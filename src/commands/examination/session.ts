import { withAuthProfile } from "../../config/auth-profiles.ts";
import {
  type CompleteRole,
  completeRole,
  dialectOf,
  flagThatFrees,
  tellsNoCost,
  unenforcedPermission,
  variablesOf,
} from "../../config/role-defaults.ts";
import type { Settings } from "../../config/settings.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { isConfined, type Role, startsPrograms } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { changeableWords } from "../lookup/changeable-programs.ts";
import { because, type Finding, isMissing } from "./finding.ts";
import { examineProgram, type InstalledProgram, programOf, roleProblem } from "./program.ts";
import { missingSandbox, sandboxOf } from "./sandbox.ts";
import { workspaceFinding } from "./workspace.ts";

/** What a new session needs, and what there is of it: the one list that `doctor` shows and that `run` and `debate` check. */
export interface Examination {
  readonly roles: readonly ExaminedRole[];
  readonly findings: readonly Finding[];
}

export async function examineSession(
  roles: readonly Role[],
  settings: Settings,
  environment: CommandContext["environment"],
): Promise<Examination> {
  const config = settings.values;
  const refused = [nothingToUse(settings), unpriced(config.budget.usd, roles)];
  const examined = await Promise.all(roles.map((role) => examineRole(role, settings, environment)));
  const usable = examined.filter(({ findings }) => !findings.some(isMissing)).map(({ role }) => role);
  return {
    roles: examined,
    findings: [
      ...refused.filter((one) => one !== undefined).map((one) => because("settings", one)),
      workspaceFinding(config.workspace),
      ...withoutRepetition(examined.flatMap(({ findings }) => findings)),
      ...isolationFindings(usable, config.workspace, environment.PATH),
    ],
  };
}

/** A role as it can be used here. */
interface ExaminedRole {
  /** With its defaults, its auth profile, and the sandbox that it gets on this machine. */
  readonly role: CompleteRole;
  /** Its agent program. */
  readonly program?: InstalledProgram | undefined;
  readonly findings: readonly Finding[];
}

/** Looks at everything that a role needs: its auth profile, backend, program and sandbox, and the version, login and trust of an agent program. */
async function examineRole(
  given: Role,
  { values, auth_profiles }: Settings,
  environment: CommandContext["environment"],
): Promise<ExaminedRole> {
  const name = `role ${given.role_id}`;
  const complete = completeRole(given, values, environment);
  const profiled = withAuthProfile(complete, auth_profiles);
  if (!profiled.ok) return { role: complete, findings: [because(name, profiled.error)] };
  const { PATH } = environment;
  const { workspace } = values;
  const role = profiled.value;
  const wrong = roleProblem(role, workspace, environment) ?? (await missingSandbox(role, PATH));
  if (wrong) return { role, findings: [because(name, wrong)] };
  const [sandbox, examined] = await Promise.all([sandboxOf(role, PATH), examineProgram(role, workspace, environment)]);
  const optional = given.pass_env === undefined ? (variablesOf(given) ?? []) : [];
  const sees = (role.pass_env ?? []).filter((one) => environment[one] !== undefined || !optional.includes(one));
  const unset = sees.filter((one) => environment[one] === undefined);
  const what = [
    role.type,
    role.backend === "model" ? modelWords(role) : programOf(role, workspace, PATH),
    ...(sandbox === "none" ? [] : [`sandbox ${sandbox}`]),
    ...(sees.length === 0 ? [] : [`sees ${sees.join(", ")}`]),
  ].join(", ");
  const lack = lackOf(unset, unenforcedPermission(role, sandbox));
  const own: Finding = lack
    ? { name, state: "poor", what: `${what}; ${lack.what}`, hint: lack.hint }
    : { name, state: "ok", what };
  return {
    role: sandbox === "none" && role.sandbox === undefined ? role : { ...role, sandbox },
    program: examined?.program,
    findings: [own, ...(examined?.findings ?? [])],
  };
}

/** Which model, where, and the variable of its key. */
function modelWords({ provider, model, base_url, api_key_env }: Role): string {
  return `${provider}/${model} at ${base_url}${api_key_env === undefined ? "" : `, key in ${api_key_env}`}`;
}

function lackOf(unset: readonly string[], unheld: string | undefined): { what: string; hint: string } | undefined {
  if (unset.length > 0)
    return { what: `not set here: ${unset.join(", ")}`, hint: "Set what its program needs before you run it." };
  const hint = "A sandbox limits a program to the workspace (files), or also cuts off the network (offline).";
  return unheld === undefined ? undefined : { what: unheld, hint };
}

/** Roles with the same program and the same login say it once. */
function withoutRepetition(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [`${finding.name} ${finding.what}`, finding])).values()];
}

/** Refuses a limit of 0, under which no turn can begin. */
function nothingToUse({ values: { budget, discussion }, origins }: Settings): Failure | undefined {
  if (discussion?.budget?.turns === 0) {
    const where = origins.get("discussion.budget.turns")?.where;
    return failure("configuration", `${where}: With discussion.budget.turns 0 no turn of a discussion can begin.`, {
      hint: "Set it to 1 or more, or leave it out.",
    });
  }
  const kind = (["turns", "tokens", "usd"] as const).find((one) => budget[one] === 0);
  if (kind === undefined) return undefined;
  return failure("usage", `With a budget of 0 ${kind} no turn can begin.`, {
    hint: `Raise --budget-${kind}, or budget.${kind} in the settings. To see only the plan, use --plan-only.`,
  });
}

/** Refuses a budget of money that cannot be kept, because a role's program reports no cost and the role has no price. */
function unpriced(usd: number | undefined, roles: readonly Role[]): Failure | undefined {
  const role = usd === undefined ? undefined : roles.find((one) => tellsNoCost(one) && one.price === undefined);
  if (!role) return undefined;
  const what = `A budget of $${usd} cannot be kept: the program of the role "${role.role_id}" reports no cost.`;
  const price = '"price": {"input_usd": 1.25, "cached_usd": 0.125, "output_usd": 10}';
  return failure("usage", what, {
    hint: `Give the role a price, ${price} for a million tokens, or use --budget-tokens.`,
  });
}

/** What holds the agents of these roles: the sandbox or the rules of their program, and Bosun's own sandbox; and whose programs they can change. */
function isolationFindings(roles: readonly Role[], workspace: string, path: string | undefined): Finding[] {
  const held = Array.from(Map.groupBy(roles, isolationOf), ([by, alike]): Finding => {
    const what = `${alike.map(({ role_id }) => role_id).join(", ")}: ${by}`;
    return alike.every(isHeld)
      ? { name: "isolation", state: "ok", what }
      : { name: "isolation", state: "poor", what, hint: PROTECT };
  });
  const changeable = changeableWords(roles, workspace, path);
  return [...held, ...changeable.map((what): Finding => ({ name: "programs", state: "poor", what, hint: PROTECT }))];
}

const PROTECT =
  "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.";

function isHeld(role: Role): boolean {
  if (dialectOf(role) === "codex" && flagThatFrees(role) === undefined) return true;
  return isConfined(role) || (role.backend === "model" && !startsPrograms(role));
}

function isolationOf(role: Role): string {
  const { sandbox = "none" } = role;
  const around = sandbox === "none" ? "" : `, within Bosun's sandbox ${sandbox}`;
  const freed = flagThatFrees(role);
  const dialect = dialectOf(role);
  if (role.backend === "model") {
    const programs = `, and what it runs${sandbox === "none" ? " has all your rights" : around}`;
    return `a model, whose tools keep to the workspace${startsPrograms(role) ? programs : ""}`;
  }
  if (dialect === "envelope") return `its agents run with all your rights${around}`;
  if (freed !== undefined) return `${freed} of its command frees its program, which runs with all your rights${around}`;
  if (dialect === "codex") return `codex runs commands in a sandbox of its own, by the role's permissions${around}`;
  const rules = dialect === undefined ? "the permissions that it asks for" : `the permission rules of ${dialect}`;
  return `no sandbox of its program, only ${rules}; what they allow has all your rights${around}`;
}
