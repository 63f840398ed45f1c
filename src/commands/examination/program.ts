import { execa } from "execa";
import { roleEnvironment } from "../../agents/cli/environment.ts";
import { programObstacle } from "../../agents/cannot-start.ts";
import { absoluteFolders, programFile } from "../../lib/program-file.ts";
import {
  AGENT_PROGRAMS,
  type AgentProgram,
  type AgentProgramName,
  agentProgramOf,
} from "../../config/agent-programs.ts";
import { type Login, loginByFiles, trustByFiles } from "../../config/program-files.ts";
import { modelAddress } from "../../config/model-roles.ts";
import { variablesOf } from "../../config/role-defaults.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { because, type Finding } from "./finding.ts";

type Environment = CommandContext["environment"];

/** A role's agent program, as installed on this machine. */
export interface InstalledProgram {
  readonly name: AgentProgramName;
  /** Undefined if it did not report its version. */
  readonly version: string | undefined;
}

/** Timeout for a program to report its version or its login, in ms. */
const PATIENCE_MS = 20_000;

/** The executable of a role's program, found on the `PATH` of the role's own environment. */
export function programOf(role: Role, directory: string, path: string | undefined): string | undefined {
  const program = role.cli_command?.[0];
  return program === undefined
    ? undefined
    : programFile(program, directory, role.env?.["PATH"] ?? absoluteFolders(path));
}

/** Why a role cannot be used: `configuration` for a backend or a model that cannot be used, `environment` for a missing program. */
export function roleProblem(role: Role, directory: string, environment: Environment): Failure | undefined {
  const { role_id, backend = "cli", cli_command: [program] = [] } = role;
  if (backend === "model") {
    const address = modelAddress(role, environment);
    return address.ok ? undefined : address.error;
  }
  if (backend !== "cli" && backend !== "acp") {
    const what = `The role ${role_id} uses the backend ${backend}, which this version does not support yet.`;
    const hint = "Use a program: --manager CMD, --worker CMD, or --crew embedded with --plan FILE.";
    return failure("configuration", what, { hint });
  }
  if (program === undefined || programOf(role, directory, environment.PATH) !== undefined) return undefined;
  const { why, remedy } = programObstacle(program, directory);
  return failure("environment", `The role ${role_id} runs ${JSON.stringify(program)}, which ${why}.`, {
    hint: `${remedy}, or name another program with --manager CMD, --worker CMD, --crew NAME or --roles FILE. \`bosun doctor\` checks all roles.`,
  });
}

/**
 * Asks the agent program of a role for its version and its login, in the role's own environment and without a request to a model, and looks
 * whether it trusts the workspace. Undefined for other programs, and for one that is not installed.
 */
export async function examineProgram(
  role: Role,
  workspace: string,
  own: Environment,
  who = `The role ${role.role_id} runs`,
): Promise<{ program: InstalledProgram; findings: Finding[] } | undefined> {
  const name = agentProgramOf(role);
  const file = programOf(role, workspace, own.PATH);
  if (name === undefined || file === undefined) return undefined;
  const environment = roleEnvironment(own, { ...role, pass_env: [...(variablesOf(role) ?? [])] });
  const [{ stdout }, login] = await Promise.all([
    ask(file, ["--version"], environment),
    loginOf(name, file, environment, role),
  ]);
  const program = { name, version: /\d+\.\d+\.\d+/.exec(stdout)?.[0] };
  const trust = trustByFiles(name, environment, workspace);
  const trusts = trust === undefined ? [] : [{ name: `trust ${name}`, ...trust }];
  return { program, findings: [programFinding(who, program, login), ...trusts] };
}

/** Every agent program that no role runs: what `examineProgram` finds, as nothing that is needed, or how it is installed. */
export async function examineOthers(
  roles: readonly Role[],
  workspace: string,
  own: Environment,
): Promise<readonly Finding[]> {
  const used = roles.map(agentProgramOf);
  const others = Object.entries(AGENT_PROGRAMS).filter(([name]) => !used.includes(name as AgentProgramName));
  const found = others.map(async ([name, { title, install }]): Promise<readonly Finding[]> => {
    const role: Role = { role_id: name, type: "worker", cli_command: [name] };
    const examined = await examineProgram(role, workspace, own, "Here is");
    const [first] = examined?.findings ?? [];
    if (first === undefined) return [{ name, state: "off", what: `${title} is not installed`, hint: install }];
    return [first.state === "missing" ? { ...first, state: "poor" } : first];
  });
  return (await Promise.all(found)).flat();
}

/** A program cannot take its first turn if it is too old (`environment`) or not logged in (`authentication`). */
function programFinding(who: string, { name, version }: InstalledProgram, login: Login): Finding {
  const { title, tested, needs, install, login: remedy }: AgentProgram = AGENT_PROGRAMS[name];
  if (version !== undefined && needs !== undefined && isOlder(version, needs)) {
    const what = `${who} ${name} ${version}, and ${title} ${needs} is needed.`;
    return because(name, failure("environment", what, { hint: `Update it: ${install}` }));
  }
  if (login.state === "out") {
    const hint = `${login.remedy ?? remedy}, or take another crew with --crew NAME.`;
    const what = `${who} ${name}, which is not logged in: ${login.why}.`;
    return because(name, failure("authentication", what, { hint }));
  }
  const age =
    version !== undefined && isOlder(version, tested) ? `older than the tested ${tested}` : `tested up to ${tested}`;
  const entered = login.state === "in" ? `logged in by ${login.by}` : `login not known: ${login.why}`;
  const what = `${name} ${version ?? "(version not told)"}, ${age}; ${entered}`;
  if (version !== undefined && isOlder(tested, version)) {
    const hint = "It is newer than the newest that was tested. What it says anew is ignored and kept.";
    return { name, state: "poor", what, hint };
  }
  return login.state === "in" ? { name, state: "ok", what } : { name, state: "poor", what, hint: `${remedy}.` };
}

/** Whether a version is older than another; both are numbers separated by dots. */
function isOlder(version: string, other: string): boolean {
  return version.localeCompare(other, "en", { numeric: true }) < 0;
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

function ask(file: string, parameters: readonly string[], env: Record<string, string>) {
  return execa(file, parameters, {
    // Otherwise execa listens to SIGXFSZ, and from then on a file size limit ends this process.
    cleanup: false,
    // The workspace could choose what runs: a version manager reads its files.
    cwd: "/",
    env,
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    timeout: PATIENCE_MS,
  });
}
