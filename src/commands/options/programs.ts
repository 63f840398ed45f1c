import { execa } from "execa";
import { roleEnvironment } from "../../agents/cli/environment.ts";
import {
  AGENT_PROGRAMS,
  type AgentProgram,
  type AgentProgramName,
  agentProgramOf,
} from "../../config/agent-programs.ts";
import { type Login, loginByFiles } from "../../config/login.ts";
import { variablesOf } from "../../config/role-defaults.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { programOf } from "./reach.ts";

/** A role's agent program, as installed on this machine. */
export interface InstalledProgram {
  readonly name: AgentProgramName;
  /** Undefined if it did not report its version. */
  readonly version: string | undefined;
  readonly login: Login;
}

/** Timeout for a program to report its version or its login, in ms. */
const PATIENCE_MS = 20_000;

/**
 * Asks the agent program of a role for its version and its login, in the role's own environment and without a request to a model.
 * Undefined for other programs, and for one that is not installed.
 */
export async function installedProgram(
  role: Role,
  directory: string,
  environment: CommandContext["environment"],
): Promise<InstalledProgram | undefined> {
  const name = agentProgramOf(role);
  const file = programOf(role, directory, environment.PATH);
  if (name === undefined || file === undefined) return undefined;
  const seen = programEnvironment(role, environment);
  const [version, login] = await Promise.all([versionOf(file, seen), loginOf(name, file, seen, role)]);
  return { name, version, login };
}

/** The environment that the program of a role sees. */
export function programEnvironment(role: Role, environment: CommandContext["environment"]): Record<string, string> {
  return roleEnvironment(environment, { ...role, pass_env: [...(variablesOf(role) ?? [])] });
}

/** The agent programs of these roles, by role id. Fails for the first that cannot take a turn. */
export async function readyPrograms(
  roles: readonly Role[],
  directory: string,
  environment: CommandContext["environment"],
): Promise<Result<ReadonlyMap<string, InstalledProgram>, Failure>> {
  const asked = await Promise.all(roles.map((role) => installedProgram(role, directory, environment)));
  const programs = new Map<string, InstalledProgram>();
  for (const [index, role] of roles.entries()) {
    const program = asked[index];
    if (program === undefined) continue;
    const wrong = programProblem(role, program);
    if (wrong) return err(wrong);
    programs.set(role.role_id, program);
  }
  return ok(programs);
}

/** Why a role's agent program cannot take its first turn: it is too old, or not logged in. */
export function programProblem(role: Role, { name, version, login }: InstalledProgram): Failure | undefined {
  const { title, needs, install, login: remedy }: AgentProgram = AGENT_PROGRAMS[name];
  if (version !== undefined && needs !== undefined && isOlder(version, needs)) {
    return failure(
      "environment",
      `The role ${role.role_id} runs ${name} ${version}, and ${title} ${needs} is needed.`,
      {
        hint: `Update it: ${install}`,
      },
    );
  }
  if (login.state !== "out") return undefined;
  return failure("authentication", `The role ${role.role_id} runs ${name}, which is not logged in: ${login.why}.`, {
    hint: `${login.remedy ?? remedy}, or take another crew with --crew NAME.`,
  });
}

/** Whether a version is older than another; both are numbers separated by dots. */
export function isOlder(version: string, other: string): boolean {
  return version.localeCompare(other, "en", { numeric: true }) < 0;
}

async function versionOf(file: string, environment: Record<string, string>): Promise<string | undefined> {
  const { stdout } = await ask(file, ["--version"], environment);
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0];
}

async function loginOf(
  name: AgentProgramName,
  file: string,
  environment: Record<string, string>,
  { cli_command = [] }: Role,
): Promise<Login> {
  const known = loginByFiles(name, environment, cli_command.slice(1));
  if (known !== undefined) return known;
  const { login_status, title }: AgentProgram = AGENT_PROGRAMS[name];
  if (login_status === undefined) return { state: "unknown", why: "it tells only in its first turn" };
  const { exitCode } = await ask(file, login_status, environment);
  if (exitCode === 0) return { state: "in", by: "its login" };
  if (exitCode === 1) return { state: "out", why: `${title} has no key and no login` };
  return { state: "unknown", why: `${[name, ...login_status].join(" ")} does not tell` };
}

async function ask(file: string, parameters: readonly string[], env: Record<string, string>) {
  const { stdout, exitCode } = await execa(file, parameters, {
    // Otherwise execa listens to SIGXFSZ, and from then on a file size limit ends this process.
    cleanup: false,
    env,
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    timeout: PATIENCE_MS,
  });
  return { stdout, exitCode };
}
