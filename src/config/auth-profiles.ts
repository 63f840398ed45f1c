import { pointerTo } from "../lib/json-pointer.ts";
import { ok } from "../lib/result.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { AuthProfiles } from "../protocol/payload.ts";
import { isSecretName, type Role } from "../protocol/roles.ts";
import { processFindings } from "./roles.ts";

/**
 * Adds the variables of the auth profile that a role's metadata names; the role's own variables take precedence. A missing profile is a failure
 * `configuration`, except for `default` and names like `default_worker`: they mean the program's own login.
 */
export function withAuthProfile<R extends Role>(role: R, profiles: AuthProfiles): Fallible<R> {
  const name = role.metadata?.auth_profile;
  if (typeof name !== "string") return ok(role);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) return /^default([_.-]|$)/.test(name) ? ok(role) : unknownProfile(role, name, profiles);
  const pass_env = [...new Set([...(profile.pass_env ?? []), ...(role.pass_env ?? [])])];
  return ok({
    ...role,
    ...(profile.env && { env: { ...profile.env, ...role.env } }),
    ...(pass_env.length > 0 && { pass_env }),
  });
}

function unknownProfile({ role_id }: Role, name: string, profiles: AuthProfiles): Fallible<never> {
  const known = Object.keys(profiles);
  const there = known.length === 0 ? "the settings have none" : `the settings have ${known.join(", ")}`;
  return fails("configuration", `The role ${role_id} has the auth profile ${JSON.stringify(name)}: ${there}.`, {
    hint: `Add it to the settings, auth_profiles: {${name}: {pass_env: [NAME]}}, or correct metadata.auth_profile of the role.`,
  });
}

/** Finds profiles that no role could name, variables that no system accepts, and values that belong in the environment. */
export function profileFindings(profiles: AuthProfiles): Finding[] {
  return Object.entries(profiles).flatMap(([name, profile]): Finding[] => {
    const pointer = `/auth_profiles/${name}`;
    if (!/^[A-Za-z0-9_-]+$/.test(name)) {
      const what = `${JSON.stringify(name)} is no name of an auth profile`;
      return [{ pointer: "/auth_profiles", what, expected: "letters, digits, _ and -" }];
    }
    const secrets = Object.keys(profile.env ?? {}).filter(isSecretName);
    const named = secrets.map((variable): Finding => {
      const what = `${variable} looks like a secret, and this file and the log would hold it`;
      return { pointer: pointerTo(`${pointer}/env`, variable), at: "key", what, expected: `pass_env: [${variable}]` };
    });
    return [...processFindings(profile, pointer), ...named];
  });
}
