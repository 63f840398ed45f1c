import { basename } from "node:path";
import { defined } from "../lib/json.ts";
import { withArguments } from "../protocol/allowed-commands.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import {
  type CompletePermissions,
  type Dialect,
  permissionsOf,
  type Role,
  type Sandbox,
  startsPrograms,
} from "../protocol/roles.ts";
import { AGENT_PROGRAMS, agentProgramOf, isDialectProgram, plainCommand } from "./agent-programs.ts";
import type { Environment } from "./found.ts";
import { crewProgram } from "./installation.ts";
import { accountOf, completeModel } from "./model-roles.ts";

/** A longer conversation costs more per turn than a new one that is given what it needs. */
const MAX_CONVERSATION_TOKENS = 100_000;

/** A role with all its defaults. Only a `cli` role has a dialect. */
export type CompleteRole = Role &
  Required<Pick<Role, "backend" | "capabilities" | "supports_multiple_instances" | "max_instances" | "recovery">> &
  Required<Pick<Role, "timeout_s" | "idle_timeout_s">> & { readonly permissions: CompletePermissions };

/** Adds the defaults that a registry omits, some of them from the scheduler configuration. */
export function completeRole(given: Role, settings: ResolvedConfiguration, environment: Environment): CompleteRole {
  const role = { ...given, ...completeModel(given, environment) };
  const dialect = dialectOf(role);
  const command = plainCommand(role);
  const pass_env = variablesOf(role);
  const program = agentProgramOf(role);
  // A program's own login, unless it has several.
  const account = role.account ?? accountOf(role) ?? (program === "opencode" ? undefined : program);
  const several = role.supports_multiple_instances ?? (role.max_instances ?? (role.type === "manager" ? 1 : 2)) > 1;
  return {
    ...role,
    ...defined({ cli_command: command && [...command], pass_env: pass_env && [...pass_env], account, dialect }),
    backend: role.backend ?? "cli",
    capabilities: role.capabilities ?? [],
    supports_multiple_instances: several,
    max_instances: several ? (role.max_instances ?? settings.max_workers) : 1,
    timeout_s: role.timeout_s ?? settings.timeout_s,
    idle_timeout_s: role.idle_timeout_s ?? settings.idle_timeout_s,
    recovery: role.recovery ?? (keepsConversations(role) ? "resume" : "restart"),
    permissions: permissionsIn(role, settings),
    ...(keepsConversations(role) && {
      conversation: role.conversation ?? (role.backend === "model" && role.type === "participant" ? "fresh" : "resume"),
      max_conversation_tokens: role.max_conversation_tokens ?? MAX_CONVERSATION_TOKENS,
    }),
  };
}

/** A role's permissions; a worker that may write may run the project's own commands. */
function permissionsIn(role: Role, { allowed_commands = [] }: ResolvedConfiguration): CompletePermissions {
  const own = permissionsOf(role);
  if (role.type !== "worker" || own.write === "none" || allowed_commands.length === 0) return own;
  return { ...own, commands: [...new Set([...own.commands, ...withArguments(allowed_commands)])] };
}

/** The environment variables that a role sees: those it names, else those by which its agent program finds its key and its server. */
export function variablesOf(role: Pick<Role, "cli_command" | "pass_env">): readonly string[] | undefined {
  const program = agentProgramOf(role);
  return role.pass_env ?? (program && AGENT_PROGRAMS[program].pass_env);
}

/** Whether the role's program is known to report no cost. Without a `price` its cost is unknown. */
export function tellsNoCost(role: Role): boolean {
  const program = agentProgramOf(role);
  return role.backend === "model" || program === "codex" || program === "gemini";
}

/** The dialect of a `cli` role: its own, else by the program's name, else `envelope`; undefined for other backends. */
export function dialectOf(role: Role): Dialect | undefined {
  if ((role.backend ?? "cli") !== "cli") return undefined;
  const program = basename(role.cli_command?.[0] ?? "");
  return role.dialect ?? (isDialectProgram(program) ? program : "envelope");
}

/**
 * The default sandbox of a role: no process it starts outlives it, and it has no network if its permissions forbid that. The big agent programs keep
 * conversations and locks by pid, so they run without a sandbox until they are known to work in one.
 */
export function defaultSandbox(role: Role): Sandbox {
  if (dialectOf(role) !== "envelope" && role.backend !== "model") return "none";
  return permissionsOf(role).network === false ? "offline" : "processes";
}

/**
 * Describes what a role can do against its permissions, because its program does not know them and its sandbox does not enforce them; undefined if
 * nothing. Dialects other than `envelope` pass them to their programs. Only workers are checked for writing: managers write nothing only by default.
 */
export function unenforcedPermission(role: Role, sandbox: Sandbox): string | undefined {
  // A model only does what its tools do.
  if (dialectOf(role) !== "envelope" && (role.backend !== "model" || !startsPrograms(role))) return undefined;
  const { write, network } = permissionsOf(role);
  const unheld = [
    ...(role.type === "worker" && write === "none" ? ["change files"] : []),
    ...(network === false && sandbox !== "offline" ? ["use the network"] : []),
  ];
  return unheld.length === 0 ? undefined : `against its permissions, it can ${unheld.join(" and ")}`;
}

/** Whether a turn of this role presumably costs money. */
export function costsMoney(role: Role): boolean {
  return keepsConversations(role);
}

/** Whether a role is the bundled manager that plays a plan file. */
export function isPlaybook({ cli_command }: Pick<Role, "cli_command">): boolean {
  return cli_command?.includes(crewProgram("playbook")) === true;
}

/** Whether a role is the bundled worker, which only runs commands. */
export function isShell({ cli_command }: Pick<Role, "cli_command">): boolean {
  return cli_command?.includes(crewProgram("shell")) === true;
}

/** Whether a role belongs to the embedded crew. */
export function isEmbedded(role: Pick<Role, "cli_command">): boolean {
  return isPlaybook(role) || isShell(role);
}

/** Whether the role's agent keeps its conversations and can resume one, as the big agent programs do. */
function keepsConversations(role: Role): boolean {
  return role.backend === "acp" || role.backend === "model" || (dialectOf(role) ?? "envelope") !== "envelope";
}

/** A flag of the user's own by which a program asks for nothing and sandboxes nothing. */
export function flagThatFrees({ cli_command = [] }: Role): string | undefined {
  return cli_command.slice(1).find((word) => /danger|bypass|yolo/i.test(word));
}
