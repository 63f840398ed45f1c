import { dirname, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok } from "../lib/result.ts";
import type { SourceDocument } from "../protocol/document/document.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { networkIn, type Role, type RoleRegistry, type RoleType } from "../protocol/roles.ts";
import { findingsFailure, loadDocument, problemsFailure } from "./document.ts";
import { pathOf, type TextSource } from "./read-text.ts";
import { shipped } from "../lib/files.ts";
import { crewProgram } from "./installation.ts";
import { budgetFindings, checkSchema, contentFindings } from "./schema-check.ts";

/** Senders of envelopes that are not roles. */
export const RESERVED = ["user", "scheduler"];

/**
 * Loads the roles of a crew, overridden by those of the files. A role with a known id changes the fields it names and keeps its place; others are
 * added, and get the fields that they omit from the standard roles. A new `cli_command` or `backend` drops the dialect and model that belonged to the
 * old one. Failure `configuration` with every problem of the first file that has any.
 */
export async function loadRoles(
  crew: readonly Role[],
  files: readonly TextSource[],
  standard: readonly Role[] = [],
): Promise<Fallible<Role[]>> {
  const roles = byId(crew);
  for (const file of files) {
    const document = loadDocument(file);
    if (!document.ok) return err(problemsFailure([document.error]));
    const registry = mergeRegistry(new Map([...byId(standard), ...roles]), document.value.value);
    const findings = await checkRegistry(registry, document.value);
    if (findings.length > 0) return err(findingsFailure(document.value, findings));
    for (const role of (registry as unknown as RoleRegistry).roles)
      roles.set(role.role_id, resolvePrograms(role, dirname(resolve(pathOf(file)))));
  }
  return ok([...roles.values()]);
}

/** The shipped registry, the lowest layer: its roles take a seat only when they are named. */
export const STANDARD_ROLES = shipped("config", "roles.json");

/** The roles of the shipped registry. Failure `configuration`. */
export function standardRoles(): Promise<Fallible<Role[]>> {
  return loadRoles([], [STANDARD_ROLES]);
}

function byId(roles: readonly Role[]): Map<string, Role> {
  return new Map(roles.map((role) => [role.role_id, role]));
}

/** Checks that there is a role for each of these seats. The failure `configuration` names the missing types and how to add one. */
export function checkSeats(roles: readonly Role[], needed: readonly RoleType[]): Fallible<void> {
  const missing = needed.filter((type) => !roles.some((role) => role.type === type));
  if (missing.length === 0) return ok(undefined);
  const there =
    roles.length === 0
      ? "there are no roles at all"
      : `there are only ${roles.map(({ role_id, type }) => `${role_id} (${type})`).join(", ")}`;
  const remedies = missing.map((type) =>
    type === "participant" ? '{"type": "participant"} in --roles F' : `--${type} CMD`,
  );
  const hint = `Add one with ${remedies.join(" and ")}, or take a whole crew with --crew NAME.`;
  return fails("configuration", `No role is a ${missing.join(" and none a ")}: ${there}.`, { hint });
}

/**
 * Adds the inherited fields to a file's content, so that one schema serves whole registries and overrides, and every problem still has its position
 * in the file.
 */
function mergeRegistry(known: ReadonlyMap<string, Role>, value: Json): Json {
  if (!isJsonObject(value) || !Array.isArray(value.roles)) return value;
  const roles = (value.roles as Json[]).map((entry) => {
    if (!isJsonObject(entry)) return entry;
    const base = typeof entry.role_id === "string" ? known.get(entry.role_id) : undefined;
    return base ? { ...inherited(base, entry), ...withMetadata(entry) } : withMetadata(entry);
  });
  return { ...value, roles };
}

function inherited(base: Role, entry: JsonObject): JsonObject {
  if (entry.cli_command === undefined && entry.backend === undefined) return base;
  const { dialect: _dialect, model: _model, ...rest } = base;
  return rest;
}

async function checkRegistry(registry: Json, { position, value }: SourceDocument): Promise<Finding[]> {
  const broken = await checkSchema("roles", registry, (pointer) => asWritten(objectOf(value), pointer));
  if (broken.length > 0) return broken;
  const first = new Map<string, number>();
  const { roles } = registry as unknown as RoleRegistry;
  const schemas = await Promise.all(roles.map((role, index) => contentFindings(role, pointerTo("/roles", index))));
  const others = roles.flatMap((role, index) => {
    const pointer = pointerTo("/roles", index);
    const before = first.get(role.role_id);
    first.set(role.role_id, before ?? index);
    const line = before === undefined ? undefined : position(`/roles/${before}/role_id`).line;
    return [
      ...idFindings(role, `${pointer}/role_id`, line),
      ...instanceFindings(role, `${pointer}/max_instances`),
      ...processFindings(role, pointer),
      ...metadataFindings(role, `${pointer}/metadata`),
      ...budgetFindings(role.budget, `${pointer}/budget`, "a role"),
    ];
  });
  return [...schemas.flat(), ...others];
}

function idFindings({ role_id }: Role, pointer: string, firstLine: number | undefined): Finding[] {
  if (RESERVED.includes(role_id)) {
    return [{ pointer, what: `the role id "${role_id}" is reserved as a sender of envelopes`, expected: "another id" }];
  }
  if (firstLine === undefined) return [];
  const what = `the role "${role_id}" is already in line ${firstLine}`;
  return [{ pointer, what, expected: "one entry for each role" }];
}

function instanceFindings({ supports_multiple_instances, max_instances = 1 }: Role, pointer: string): Finding[] {
  if (supports_multiple_instances !== false || max_instances <= 1) return [];
  const what = `"max_instances" is ${max_instances}, but "supports_multiple_instances" is false`;
  return [{ pointer, what, expected: '1, or "supports_multiple_instances": true' }];
}

/** Checks the metadata keys that Bosun reads. */
function metadataFindings({ metadata = {} }: Role, pointer: string): Finding[] {
  const { network, auth_profile } = metadata;
  const unless = (isFit: boolean, key: string, expected: string): Finding[] =>
    isFit || metadata[key] === undefined
      ? []
      : [{ pointer: `${pointer}/${key}`, what: `"metadata.${key}" is ${JSON.stringify(metadata[key])}`, expected }];
  return [
    ...unless(networkIn(network) !== undefined, "network", '"isolated" or "full"'),
    ...unless(typeof auth_profile === "string", "auth_profile", "the name of an auth profile"),
  ];
}

/** Finds arguments and variables that no system accepts. Unchecked, they would fail at the role's first turn, after other turns were paid for. */
export function processFindings(
  { cli_command = [], env = {} }: Pick<Role, "cli_command" | "env">,
  role: string,
): Finding[] {
  const withNul = (texts: object, pointer: string) =>
    Object.entries(texts)
      .filter(([, text]) => String(text).includes("\0"))
      .map(([key]) => pointerTo(pointer, key));
  const nul = [...withNul(cli_command, `${role}/cli_command`), ...withNul(env, `${role}/env`)];
  const nameless = cli_command[0]?.trim() === "" ? [`${role}/cli_command/0`] : [];
  const names = Object.keys(env).filter((name) => name === "" || /[=\0]/.test(name));
  return [
    ...nameless.map((pointer) => ({ pointer, what: "the program's name is empty", expected: "a program" })),
    ...nul.map((pointer) => ({ pointer, what: "this string contains a NUL byte", expected: "a string without one" })),
    ...names.map((name): Finding => {
      const what = `${JSON.stringify(name)} is not a valid variable name`;
      return { pointer: pointerTo(`${role}/env`, name), at: "key", what, expected: 'a name without "="' };
    }),
  ];
}

/**
 * Replaces an argument `${node}` with the path of this Node, `${crew.NAME}` with that of the crew's program, and `${registry.folder}/` at its start with the
 * folder of the role's file. Every other argument stays as it is, so that a command's own `${…}` reaches it.
 */
function resolvePrograms(role: Role, folder: string): Role {
  if (role.cli_command === undefined) return role;
  const cli_command = role.cli_command.map((argument) => {
    const program = /^\$\{crew\.([a-z][a-z-]*)\}$/.exec(argument)?.[1];
    if (program !== undefined) return crewProgram(program);
    return argument === "${node}" ? process.execPath : argument.replace(/^\$\{registry\.folder\}(?=\/)/, () => folder);
  });
  return { ...role, cli_command };
}

/** How many turns a minute are one in a second, a minute, an hour and a day. */
const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, m: 1, h: 1 / 60, d: 1 / 1440 };
const RATE = /^(\d+(?:\.\d+)?) ?(?:turns? ?)?(?:\/|per) ?([smhd])(?:ec|econd|in|inute|our|ay)?$/;

/**
 * Adds to an entry of a registry the `rate_limit` and the `permissions` of its `metadata`, behind its own. What cannot be read becomes an unknown
 * key, which the schema refuses.
 */
function withMetadata(entry: JsonObject): JsonObject {
  const { rate_limit, permissions, network } = objectOf(entry.metadata);
  const behind = (said: Json, own: Json = {}) => (isJsonObject(said) && isJsonObject(own) ? { ...said, ...own } : said);
  return {
    ...entry,
    ...(rate_limit !== undefined && { rate_limit: behind(rateLimitIn(rate_limit), entry.rate_limit) }),
    ...(permissions !== undefined && {
      permissions: behind(permissionsIn(permissions, network !== undefined), entry.permissions),
    }),
  };
}

/** Where a file has what is at a pointer into a registry after `withMetadata`. */
function asWritten({ roles }: JsonObject, pointer: string): string {
  const [, index = "", field = "", rest = ""] = /^\/roles\/(\d+)\/(rate_limit|permissions)(.*)$/s.exec(pointer) ?? [];
  const { metadata, [field]: own } = objectOf((roles as Json[] | undefined)?.[Number(index)]);
  return own !== undefined || metadata === undefined ? pointer : `/roles/${index}/metadata/${field}${rest}`;
}

/** A number of turns a minute, or a text such as `10/min` or `600 per hour`. */
function rateLimitIn(said: Json): Json {
  if (typeof said === "number") return { turns_per_minute: said };
  if (typeof said !== "string") return said;
  const [, count, unit = ""] = RATE.exec(said) ?? [];
  return { [count === undefined ? said : "turns_per_minute"]: Number(count) * (PER_MINUTE[unit] ?? 0) };
}

/** A list of the words `read`, `write` and `network`, without which the others are not allowed. */
function permissionsIn(said: Json, hasNetwork: boolean): Json {
  if (!Array.isArray(said)) return said;
  const words = (said as Json[]).map(String);
  const unknown = words.filter((word) => !["read", "write", "network"].includes(word));
  return {
    write: words.includes("write") ? "workspace" : "none",
    ...(!hasNetwork && { network: words.includes("network") }),
    ...Object.fromEntries(unknown.map((word) => [word, true])),
  };
}
