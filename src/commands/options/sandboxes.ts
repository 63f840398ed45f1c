import { LEVELS, sandboxMechanism } from "../../agents/isolation/machine.ts";
import { defaultSandbox } from "../../config/role-defaults.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role, Sandbox } from "../../protocol/roles.ts";

/**
 * The roles with what each one's program is kept from on this machine, for the record. `environment` naming the role whose
 * registry asks for what cannot be had; what nobody asked for is left out where it cannot.
 */
export async function withSandboxes<R extends Role>(
  roles: readonly R[],
  path: string | undefined,
): Promise<Result<R[], Failure>> {
  const seated: R[] = [];
  for (const role of roles) {
    const asked = await missingSandbox(role, path);
    if (asked) return err(asked);
    const sandbox = await sandboxOf(role, path);
    seated.push(sandbox === "none" && role.sandbox === undefined ? role : { ...role, sandbox });
  }
  return ok(seated);
}

/** What this role's program is kept from here: what its registry says, else the default where this machine can give it. */
export async function sandboxOf(role: Role, path: string | undefined): Promise<Sandbox> {
  const level = role.sandbox ?? defaultSandbox(role);
  if (level === "none" || role.sandbox !== undefined) return level;
  return (await sandboxMechanism(level, path)).ok ? level : "none";
}

/** A failure for a role that asks for a sandbox which this machine cannot give, before anything is begun for it; `environment`. */
export async function missingSandbox(
  { role_id, sandbox }: Role,
  path: string | undefined,
): Promise<Failure | undefined> {
  if (sandbox === undefined || sandbox === "none") return undefined;
  const way = await sandboxMechanism(sandbox, path);
  if (way.ok) return undefined;
  const { message, hint = "" } = way.error;
  return failure("environment", `The role ${role_id} asks for the sandbox "${sandbox}". ${message}`, { hint });
}

/** What each level keeps an agent from, and how this machine gives it or why not; for people. */
export async function sandboxesHere(
  path: string | undefined,
): Promise<{ level: Sandbox; way: string; why?: Failure }[]> {
  return Promise.all(
    LEVELS.map(async (level) => {
      const way = await sandboxMechanism(level, path);
      if (!way.ok) return { level, way: "", why: way.error };
      return { level, way: way.value.by === "unshare" ? way.value.unshare : way.value.bwrap };
    }),
  );
}
