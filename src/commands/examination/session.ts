import { tellsNoCost } from "../../config/role-defaults.ts";
import type { Settings } from "../../config/settings.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { because, type Finding, isMissing } from "./finding.ts";
import { isolationFindings } from "./isolation.ts";
import { type ExaminedRole, examineRole } from "./role.ts";
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
  const refused = [notYet(config), nothingToUse(settings), unpriced(config.budget.usd, roles)];
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

/** Roles with the same program and the same login say it once. */
function withoutRepetition(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [`${finding.name} ${finding.what}`, finding])).values()];
}

/** Refuses settings that this version does not support yet. */
function notYet({ isolation }: ResolvedConfiguration): Failure | undefined {
  if (isolation === "none") return undefined;
  return failure("usage", `Isolation "${isolation}" is not supported yet: agents work in the workspace itself.`, {
    hint: 'Use "none", or leave the setting out. To protect your files, use a clone of the repository as --cwd.',
  });
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
