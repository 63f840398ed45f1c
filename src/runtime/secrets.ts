import { defined } from "../lib/json.ts";
import { WITHHELD, Withholder } from "../lib/withholder.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { isSecretName, type Role } from "../protocol/roles.ts";
import type { FactInput } from "./facts.ts";

/** Words, short numbers, and names such as `gpt4o`: what values consist of that are no secrets. */
const PLAIN = /^(?:[a-z]{0,20}|\d{1,8}|[a-z]{1,12}\d{1,3}[a-z]{0,2})$/i;

/** A path, alone or as the value of an option. */
const PATH = /^(?:-{0,2}[\w-]+=)?(?:~|\.{0,2})\//;

/** Of a recorded value: a resume must find one that is withheld in its own environment. Of others it is enough that they are no short words. */
const RECORDED_LENGTH = 16;
const TOLD_LENGTH = 8;

/** Whether a value may be a secret: an address with a password, or a word of this length with a part that is neither a plain word nor a number. */
function looksSecret(value: string, length: number): boolean {
  if (/:\/\/[^\s/]*@/.test(value)) return true;
  if (PATH.test(value)) return false;
  const words = value.split(/\s+/).filter((word) => word.length >= length && !PATH.test(word));
  return words.some((word) => word.split(/[^A-Za-z0-9]+/).some((part) => !PLAIN.test(part)));
}

/** A role as recorded: without the values of variables that look secret, by name or by value. */
export function withoutSecrets(role: Role): Role {
  const isSecret = (name: string, value: string) => isSecretName(name) || looksSecret(value, RECORDED_LENGTH);
  return withEnv(role, (name, value) => (isSecret(name, value) ? WITHHELD : value));
}

function withEnv(role: Role, valueOf: (name: string, value: string) => string | undefined): Role {
  const changed = <T extends Pick<Role, "env">>(one: T): T => {
    if (!one.env) return one;
    const env = Object.entries(one.env).map(([name, value]) => [name, valueOf(name, value)]);
    return { ...one, env: Object.fromEntries(env) as Record<string, string> };
  };
  if (!role.mcp_servers) return changed(role);
  const servers = Object.entries(role.mcp_servers).map(([name, server]) => [name, changed(server)]);
  return { ...changed(role), mcp_servers: Object.fromEntries(servers) as NonNullable<Role["mcp_servers"]> };
}

/** All variables that a role's programs get with their values. */
function variablesOf({ env = {}, mcp_servers = {} }: Role): [name: string, value: string][] {
  return [env, ...Object.values(mcp_servers).map((server) => server.env ?? {})].flatMap((one) => Object.entries(one));
}

/** Withholds what the roles of a session are given as secrets: variables of their own, of their auth profiles, and passed on from `environment`. */
export function withholderFor(
  roles: readonly Role[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Withholder {
  const given = roles.flatMap((role): [string, string][] => [
    ...variablesOf(role),
    ...[...(role.pass_env ?? []), role.api_key_env ?? []]
      .flat()
      .map((name): [string, string] => [name, environment[name] ?? ""]),
  ]);
  const secrets = given.filter(([name, value]) => {
    return looksSecret(value, TOLD_LENGTH) || (isSecretName(name) && !PATH.test(value) && !/^\d*$/.test(value));
  });
  const passwords = secrets.flatMap(([, value]) => /:\/\/[^\s/@:]*:([^\s/@]+)@/.exec(value)?.[1] ?? []);
  return new Withholder([...secrets.map(([, value]) => value), ...passwords]);
}

/** A fact as decided and recorded. The first one has been made without secrets, and a turn's request consists of what is on record. */
export function withheldFrom(fact: FactInput, secrets: Withholder): FactInput {
  if (fact.payload_type === "session_opened" || fact.payload_type === "turn_request") return fact;
  const { payload, changed_files } = fact;
  return { ...fact, ...secrets.json({ payload, ...defined({ changed_files }) }) };
}

/**
 * Restores the withheld values of recorded roles, by name, from the environment of the resuming process. Fails with `environment` if one is
 * missing: an agent without its key would fail later, for a less obvious reason.
 */
export function withSecrets(
  session_id: string,
  roles: readonly Role[],
  environment: Readonly<Record<string, string | undefined>>,
): Fallible<readonly Role[]> {
  const missing = roles.flatMap((role) =>
    variablesOf(role)
      .filter(([name, value]) => value === WITHHELD && environment[name] === undefined)
      .map(([name]) => ({ role_id: role.role_id, name })),
  );
  if (missing.length > 0) {
    const each = missing.map(({ role_id, name }) => `${name} of the role ${role_id}`).join(", ");
    const settings = [...new Set(missing.map(({ name }) => `${name}=…`))].join(" ");
    return fails("environment", `These secrets of ${session_id} are not set here (a log never holds them): ${each}.`, {
      hint: `Set them for this command: ${settings} bosun resume ${session_id}`,
    });
  }
  return ok(roles.map((role) => withEnv(role, (name, value) => (value === WITHHELD ? environment[name] : value))));
}
