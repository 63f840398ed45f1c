import { withAuthProfile } from "../../config/auth-profiles.ts";
import { type CompleteRole, completeRole, unheldPermission, variablesOf } from "../../config/role-defaults.ts";
import type { Settings } from "../../config/settings.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { because, type Finding } from "./finding.ts";
import { examineProgram, type InstalledProgram, programOf, roleProblem } from "./program.ts";
import { missingSandbox, sandboxOf } from "./sandbox.ts";

/** A role as it can be used here. */
export interface ExaminedRole {
  /** With its defaults, its auth profile, and the sandbox that it gets on this machine. */
  readonly role: CompleteRole;
  /** Its agent program. */
  readonly program?: InstalledProgram | undefined;
  readonly findings: readonly Finding[];
}

/** Looks at everything that a role needs: its auth profile, backend, program and sandbox, and the version, login and trust of an agent program. */
export async function examineRole(
  given: Role,
  { values, auth_profiles }: Settings,
  environment: CommandContext["environment"],
): Promise<ExaminedRole> {
  const name = `role ${given.role_id}`;
  const complete = completeRole(given, values);
  const profiled = withAuthProfile(complete, auth_profiles);
  if (!profiled.ok) return { role: complete, findings: [because(name, profiled.error)] };
  const { PATH } = environment;
  const { workspace } = values;
  const role = profiled.value;
  const wrong = roleProblem(role, workspace, PATH) ?? (await missingSandbox(role, PATH));
  if (wrong) return { role, findings: [because(name, wrong)] };
  const [sandbox, examined] = await Promise.all([sandboxOf(role, PATH), examineProgram(role, workspace, environment)]);
  const optional = given.pass_env === undefined ? (variablesOf(given) ?? []) : [];
  const sees = (role.pass_env ?? []).filter((one) => environment[one] !== undefined || !optional.includes(one));
  const unset = sees.filter((one) => environment[one] === undefined);
  const what = [
    role.type,
    programOf(role, workspace, PATH),
    ...(sandbox === "none" ? [] : [`sandbox ${sandbox}`]),
    ...(sees.length === 0 ? [] : [`sees ${sees.join(", ")}`]),
  ].join(", ");
  const lack = lackOf(unset, unheldPermission(role, sandbox));
  const own: Finding = lack
    ? { name, state: "poor", what: `${what}; ${lack.what}`, hint: lack.hint }
    : { name, state: "ok", what };
  return {
    role: sandbox === "none" && role.sandbox === undefined ? role : { ...role, sandbox },
    program: examined?.program,
    findings: [own, ...(examined?.findings ?? [])],
  };
}

function lackOf(unset: readonly string[], unheld: string | undefined): { what: string; hint: string } | undefined {
  if (unset.length > 0)
    return { what: `not set here: ${unset.join(", ")}`, hint: "Set what its program needs before you run it." };
  const hint = "A sandbox limits a program to the workspace (files), or also cuts off the network (offline).";
  return unheld === undefined ? undefined : { what: unheld, hint };
}
