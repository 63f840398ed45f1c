import { SANDBOX_LEVELS, sandboxMechanism } from "../../agents/isolation/probe.ts";
import { defaultSandbox } from "../../config/role-defaults.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role, Sandbox } from "../../protocol/roles.ts";

/** The roles with their sandboxes on this machine, for the record. `environment` if a role requires one that is not available. */
export async function withSandboxes<R extends Role>(
  roles: readonly R[],
  path: string | undefined,
): Promise<Result<R[], Failure>> {
  const sandboxed: R[] = [];
  for (const role of roles) {
    const missing = await missingSandbox(role, path);
    if (missing) return err(missing);
    const sandbox = await sandboxOf(role, path);
    sandboxed.push(sandbox === "none" && role.sandbox === undefined ? role : { ...role, sandbox });
  }
  return ok(sandboxed);
}

/** The sandbox of a role: the one its registry requires, else the default as far as this machine supports it. */
export async function sandboxOf(role: Role, path: string | undefined): Promise<Sandbox> {
  const level = role.sandbox ?? defaultSandbox(role);
  if (level === "none" || role.sandbox !== undefined) return level;
  for (const one of new Set([level, "processes"] as const)) if ((await sandboxMechanism(one, path)).ok) return one;
  return "none";
}

/** The weakest sandbox that a role has on this machine. */
export async function weakestSandbox(roles: readonly Role[], path: string | undefined): Promise<Sandbox> {
  const levels = new Set(await Promise.all(roles.map((role) => sandboxOf(role, path))));
  return levels.has("none") ? "none" : (SANDBOX_LEVELS.find((level) => levels.has(level)) ?? "none");
}

/** Why this machine cannot give a role the sandbox it requires: `environment`; undefined if it can. */
export async function missingSandbox(
  { role_id, sandbox }: Role,
  path: string | undefined,
): Promise<Failure | undefined> {
  if (sandbox === undefined || sandbox === "none") return undefined;
  const mechanism = await sandboxMechanism(sandbox, path);
  if (mechanism.ok) return undefined;
  const { message, hint = "" } = mechanism.error;
  return failure("environment", `The role ${role_id} requires the sandbox "${sandbox}". ${message}`, { hint });
}

/** Each level, with the program that provides it on this machine or why none does. */
export async function sandboxesHere(
  path: string | undefined,
): Promise<{ level: Sandbox; program: string; why?: Failure }[]> {
  return Promise.all(
    SANDBOX_LEVELS.map(async (level) => {
      const mechanism = await sandboxMechanism(level, path);
      if (!mechanism.ok) return { level, program: "", why: mechanism.error };
      const { value } = mechanism;
      return { level, program: value.by === "unshare" ? value.unshare : value.bwrap };
    }),
  );
}
