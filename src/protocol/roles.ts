import type { Permissions, Role } from "./generated/types.ts";

export type {
  Backend,
  Dialect,
  Permissions,
  RecoveryPolicy,
  Role,
  RoleRegistry,
  RoleType,
  Sandbox,
} from "./generated/types.ts";

/** A role's permissions with the defaults of its type. Without `network`, its program's own default applies. */
export type CompletePermissions = Permissions & Required<Omit<Permissions, "network">>;

/** Returns what a role's program may do. */
export function permissionsOf(
  role: Pick<Role, "type" | "capabilities" | "metadata" | "permissions">,
): CompletePermissions {
  const { permissions = {} } = role;
  const works = role.type === "worker" && !isReviewer(role);
  const network = permissions.network ?? networkIn(role.metadata?.network);
  return {
    write: permissions.write ?? (works ? "workspace" : "none"),
    commands: permissions.commands ?? [],
    ...(network === undefined ? {} : { network }),
    ask: permissions.ask ?? (works ? "user" : "deny"),
  };
}

/** The role as it acts in a turn with this message. A proposal is discussed before the work, so nothing is written. */
export function roleIn(role: Role, message: string): Role {
  return message === "instruction_proposal" ? { ...role, permissions: { ...role.permissions, write: "none" } } : role;
}

/** A tool of a model on its workspace. */
export type WorkspaceTool = NonNullable<Role["tools"]>[number];

const READING: readonly WorkspaceTool[] = ["read_file", "list_files", "search"];
const WRITING: readonly WorkspaceTool[] = ["write_file", "edit_file"];
const USUAL_TOOLS = { worker: [...READING, ...WRITING, "run_command"], manager: READING, participant: [] } as const;

/** Whether its sandbox holds the role's programs to the workspace, so that nobody needs to be asked about a command. */
export function isConfined({ sandbox }: Pick<Role, "sandbox">): boolean {
  return sandbox === "files" || sandbox === "offline";
}

/** The tools on the workspace that a role's model is offered: those it names, or those of its type, as far as its permissions allow them. */
export function toolsOffered(role: Role): WorkspaceTool[] {
  const { write, commands, ask } = permissionsOf(role);
  const mayRun = commands.length > 0 || ask === "user" || isConfined(role);
  return (role.tools ?? USUAL_TOOLS[role.type]).filter((name) =>
    name === "run_command" ? mayRun : write === "workspace" || !WRITING.includes(name),
  );
}

/** Whether a role's agent can see the workspace: of models only those with a tool for it. */
export function seesWorkspace(role: Role): boolean {
  return role.backend !== "model" || toolsOffered(role).length > 0;
}

/** Whether the tools of a model start programs: commands, or MCP servers. */
export function startsPrograms(role: Role): boolean {
  return role.mcp_servers !== undefined || toolsOffered(role).includes("run_command");
}

/** The commands with which git writes to `.git`: any but those that only read. */
const GIT_THAT_WRITES = /^\s*git(?!\s+(?:status|diff|log|show|blame|grep|ls-files)\b)(?:[\s*]|$)/;

/** Whether a role may use git itself, and with it write to `.git`. */
export function mayWriteGit(role: Parameters<typeof permissionsOf>[0]): boolean {
  return permissionsOf(role).commands.some((pattern) => GIT_THAT_WRITES.test(pattern));
}

/** Reads `metadata.network`; undefined if it has no known value. */
export function networkIn(said: unknown): boolean | undefined {
  if (said === "isolated" || said === false) return false;
  return said === "full" || said === "open" || said === true ? true : undefined;
}

/** Whether the name of a variable suggests that its value is secret. */
export function isSecretName(name: string): boolean {
  return /key|token|secret|pass|pwd|credential|auth(?!or)|cookie|private|(?:^|_)(?:pat|pin|dsn)(?:_|$)/i.test(name);
}

/** Whether a role does nothing but review. */
function isReviewer({ capabilities = [] }: Pick<Role, "capabilities">): boolean {
  return capabilities.length > 0 && capabilities.every((capability) => capability === "review");
}

/** Who stands behind a role's agent: its model's provider, or the maker of its program as far as that is known. Their judgements are alike. */
export function vendorOf({ provider, dialect, cli_command = [], backend = "cli" }: Role): string {
  const program = cli_command[0]?.split("/").at(-1) ?? backend;
  const [known = ""] =
    /^(?:claude|codex|gemini)/.exec(dialect === undefined || dialect === "envelope" ? program : dialect) ?? [];
  return provider ?? MAKERS[known] ?? program;
}

const MAKERS: Readonly<Record<string, string>> = { claude: "anthropic", codex: "openai", gemini: "google" };
