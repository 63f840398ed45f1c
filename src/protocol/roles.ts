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
