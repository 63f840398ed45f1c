import { programFile, programObstacle } from "../../agents/program-file.ts";
import { AGENT_PROGRAMS, type AgentProgram } from "../../config/agent-programs.ts";
import { withAuthProfile } from "../../config/auth-profiles.ts";
import { type ProgramTrust, trustByFiles } from "../../config/program-trust.ts";
import { completeRole, unheldPermission } from "../../config/role-defaults.ts";
import type { Settings } from "../../config/settings.ts";
import type { Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { AuthProfiles } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import {
  type InstalledProgram,
  installedProgram,
  isOlder,
  programEnvironment,
  programProblem,
} from "../options/programs.ts";
import { programOf, roleProblem } from "../options/reach.ts";
import { type Found, type RegistryOptions, settingsFrom, whenAsked } from "../options/registry.ts";
import { missingSandbox, sandboxOf } from "../options/sandboxes.ts";
import { because, type Finding } from "./finding.ts";

/** The roles, and the program for notifications. */
export async function crewFindings(
  context: CommandContext,
  options: RegistryOptions,
  found: Result<Found, Failure>,
  roles: Result<readonly Role[], Failure>,
): Promise<Finding[]> {
  if (!roles.ok) return [because(roles.error, "roles", "missing")];
  if (!found.ok) return [];
  const settings = await settingsFrom(context, options, found.value, [], roles.value);
  const profiles = settings.ok ? settings.value.auth_profiles : {};
  const findings = await Promise.all(roles.value.map((role) => roleFinding(context, role, roles.value, profiles)));
  const programs = settings.ok ? await programFindings(context, roles.value, settings.value) : [];
  return [...findings, ...programs, notifyFinding(context, settings)];
}

async function roleFinding(
  { directory, environment }: CommandContext,
  given: Role,
  roles: readonly Role[],
  profiles: AuthProfiles,
): Promise<Finding> {
  const name = `role ${given.role_id}`;
  const { PATH } = environment;
  const profiled = withAuthProfile(given, profiles);
  if (!profiled.ok) return because(profiled.error, name, "missing");
  const role = profiled.value;
  const wrong = roleProblem(role, directory, PATH) ?? (await missingSandbox(role, PATH));
  if (wrong) return because(wrong, name, "missing");
  const sandbox = await sandboxOf(role, PATH);
  const kept = sandbox === "none" ? "" : `, sandbox ${sandbox}`;
  const when = whenAsked(role, roles);
  const asked = when === undefined ? "" : `, ${when}`;
  const { pass_env = [] } = role;
  const sees = pass_env.length === 0 ? "" : `, sees ${pass_env.join(", ")}`;
  const what = `${role.type}, ${programOf(role, directory, PATH)}${kept}${sees}${asked}`;
  const unset = pass_env.filter((variable) => environment[variable] === undefined);
  if (unset.length > 0) {
    const hint = "Set what its program needs before you run it.";
    return { name, state: "poor", what: `${what}; not set here: ${unset.join(", ")}`, hint };
  }
  const unheld = unheldPermission(role, sandbox);
  if (unheld === undefined) return { name, state: "ok", what };
  const hint = "A sandbox limits a program to the workspace (files), or also cuts off the network (offline).";
  return { name, state: "poor", what: `${what}; ${unheld}`, hint };
}

/** The agent programs of the roles: version and login, and whether they trust the workspace. */
async function programFindings(
  { directory, environment }: CommandContext,
  roles: readonly Role[],
  { values, auth_profiles }: Settings,
): Promise<Finding[]> {
  const findings = await Promise.all(
    roles.map(async (given): Promise<Finding[]> => {
      const role = withAuthProfile(completeRole(given, values), auth_profiles);
      const program = role.ok ? await installedProgram(role.value, directory, environment) : undefined;
      if (!role.ok || program === undefined) return [];
      const trust = trustByFiles(program.name, programEnvironment(role.value, environment), values.workspace);
      return [programFinding(role.value, program), ...(trust === undefined ? [] : [trustFinding(program.name, trust)])];
    }),
  );
  // Roles with the same program and the same login say it once.
  return [...new Map(findings.flat().map((finding) => [`${finding.name} ${finding.what}`, finding])).values()];
}

function trustFinding(name: string, { trusted, what, hint }: ProgramTrust): Finding {
  return { name: `trust ${name}`, state: trusted ? "ok" : "poor", what: `${name} ${what}`, hint };
}

function programFinding(role: Role, program: InstalledProgram): Finding {
  const { name, version, login } = program;
  const { tested, login: remedy }: AgentProgram = AGENT_PROGRAMS[name];
  const wrong = programProblem(role, program);
  if (wrong) return because(wrong, name, "missing");
  const entered = login.state === "in" ? `logged in by ${login.by}` : `login not known: ${login.why}`;
  const what = `${name} ${version ?? "(version not told)"}, ${testedWords(version, tested)}; ${entered}`;
  if (version !== undefined && isOlder(tested, version)) {
    return {
      name,
      state: "poor",
      what,
      hint: "It is newer than the newest that was tested. What it says anew is ignored and kept.",
    };
  }
  return login.state === "in" ? { name, state: "ok", what } : { name, state: "poor", what, hint: `${remedy}.` };
}

function testedWords(version: string | undefined, tested: string): string {
  return version !== undefined && isOlder(version, tested)
    ? `older than the tested ${tested}`
    : `tested up to ${tested}`;
}

function notifyFinding(context: CommandContext, settings: Result<Settings, Failure>): Finding {
  const name = "notify";
  if (!settings.ok) return { name: "settings", state: "missing", what: settings.error.message };
  const { notify, workspace: place } = settings.value.values;
  if (!notify) return { name, state: "off", what: "no command is set for notifications" };
  const [program = ""] = notify.command;
  const file = programFile(program, place, context.environment.PATH);
  if (file !== undefined) return { name, state: "ok", what: `${file}, for ${notify.on?.join(", ") ?? "all events"}` };
  const { why, remedy } = programObstacle(program, place);
  return {
    name,
    state: "missing",
    what: `notify.command runs ${JSON.stringify(program)}, which ${why}`,
    hint: `${remedy}, or correct the setting in ${settings.value.origins.get("notify.command")?.where ?? "notify.command"}.`,
  };
}
