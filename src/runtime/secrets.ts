import { isSecretProxy } from "../agents/cli/environment.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { isSecretName, type Role } from "../protocol/roles.ts";

const WITHHELD = "[withheld]";

/** A role as recorded: without the values of variables whose names look secret, and without proxy passwords. */
export function withoutSecrets(role: Role): Role {
  if (!role.env) return role;
  const isSecret = (name: string, value: string) => isSecretName(name) || isSecretProxy(name, value);
  const env = Object.entries(role.env).map(([name, value]) => [name, isSecret(name, value) ? WITHHELD : value]);
  return { ...role, env: Object.fromEntries(env) as Record<string, string> };
}

/**
 * Restores the withheld values of recorded roles, by name, from the environment of the resuming process. Fails with `environment` if one is
 * missing: an agent without its key would fail later, for a less obvious reason.
 */
export function withSecrets(
  session_id: string,
  roles: readonly Role[],
  environment: Readonly<Record<string, string | undefined>>,
): Result<readonly Role[], Failure> {
  const missing = roles.flatMap(({ role_id, env = {} }) =>
    Object.keys(env)
      .filter((name) => env[name] === WITHHELD && environment[name] === undefined)
      .map((name) => ({ role_id, name })),
  );
  if (missing.length > 0) {
    const each = missing.map(({ role_id, name }) => `${name} of the role ${role_id}`).join(", ");
    const settings = [...new Set(missing.map(({ name }) => `${name}=…`))].join(" ");
    return err(
      failure("environment", `These secrets of ${session_id} are not set here (a log never holds them): ${each}.`, {
        hint: `Set them for this command: ${settings} bosun resume ${session_id}`,
      }),
    );
  }
  return ok(
    roles.map((role) => {
      if (!role.env) return role;
      const env = Object.entries(role.env).map(([name, value]) => [
        name,
        value === WITHHELD ? environment[name] : value,
      ]);
      return { ...role, env: Object.fromEntries(env) as Record<string, string> };
    }),
  );
}
