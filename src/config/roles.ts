import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Role, RoleRegistry, RoleType } from "../protocol/roles.ts";
import { budgetProblems } from "./budgets.ts";
import { loadDocument, MAX_CONFIGURATION_BYTES, type SourceDocument } from "./document.ts";
import { crewProgram } from "./installation.ts";
import { type Problem, problemsFailure } from "./problem.ts";
import { checkSchema } from "./schema-check.ts";

/** Senders of envelopes that are not roles. */
const RESERVED = ["user", "scheduler"];

/**
 * The roles of a crew with those of the files laid over them: a role with a known id changes the fields it names, in the place
 * where it stands; others are added. A new `cli_command` drops the dialect and model that belonged to the old one. Failure
 * `configuration` with every problem of the first file that has any.
 */
export async function loadRoles(crew: readonly Role[], files: readonly string[]): Promise<Result<Role[], Failure>> {
  const roles = new Map(crew.map((role) => [role.role_id, role]));
  for (const file of files) {
    const document = loadDocument(file, MAX_CONFIGURATION_BYTES);
    if (!document.ok) return err(problemsFailure([document.error]));
    const registry = mergeRegistry(roles, document.value.value);
    const problems = await checkRegistry(registry, document.value);
    if (problems.length > 0) return err(problemsFailure(problems));
    for (const role of (registry as unknown as RoleRegistry).roles) roles.set(role.role_id, resolvePlaces(role));
  }
  return ok([...roles.values()]);
}

/**
 * Whether somebody can take every one of these seats; failure `configuration` naming the types nobody has, and what gives one.
 */
export function checkSeats(roles: readonly Role[], needed: readonly RoleType[]): Result<void, Failure> {
  const missing = needed.filter((type) => !roles.some((role) => role.type === type));
  if (missing.length === 0) return ok(undefined);
  const there =
    roles.length === 0
      ? "there are no roles at all"
      : `there are only ${roles.map(({ role_id, type }) => `${role_id} (${type})`).join(", ")}`;
  const remedies = missing.map((type) =>
    type === "participant" ? '{"type": "participant"} in --roles F' : `--${type} CMD`,
  );
  return err(
    failure("configuration", `No role is a ${missing.join(" and none a ")}: ${there}.`, {
      hint: `Add one with ${remedies.join(" and ")}, or take a whole crew with --crew NAME.`,
    }),
  );
}

/**
 * What the file says with the inherited fields put in, so that one schema serves whole registries and overrides, and every
 * problem still has its place in the file.
 */
function mergeRegistry(known: ReadonlyMap<string, Role>, value: Json): Json {
  if (!isJsonObject(value) || !Array.isArray(value.roles)) return value;
  const roles = (value.roles as Json[]).map((entry) => {
    const base = isJsonObject(entry) && typeof entry.role_id === "string" ? known.get(entry.role_id) : undefined;
    return base && isJsonObject(entry) ? { ...inherited(base, entry), ...entry } : entry;
  });
  return { ...value, roles };
}

function inherited(base: Role, entry: JsonObject): JsonObject {
  if (entry.cli_command === undefined && entry.backend === undefined) return base;
  const { dialect: _dialect, model: _model, ...rest } = base;
  return rest;
}

async function checkRegistry(registry: Json, document: SourceDocument): Promise<Problem[]> {
  const problems = await checkSchema("roles", registry, document.problem);
  if (problems.length > 0) return problems;
  const seen = new Map<string, number>();
  for (const [index, role] of (registry as unknown as RoleRegistry).roles.entries()) {
    const pointer = pointerTo("/roles", index);
    const first = seen.get(role.role_id);
    const refuse = (at: string, what: string, expected: string) =>
      void problems.push(document.problem(`${pointer}/${at}`, what, { expected }));
    if (RESERVED.includes(role.role_id)) {
      const what = `the role id "${role.role_id}" is taken: envelopes of the ${role.role_id} bear it`;
      refuse("role_id", what, "another id");
    } else if (first !== undefined) {
      const line = document.problem(`/roles/${first}/role_id`, "").place?.line;
      const what = `the role "${role.role_id}" stands twice in this file, first in line ${line}`;
      refuse("role_id", what, "one entry for each role");
    }
    if (role.supports_multiple_instances === false && (role.max_instances ?? 1) > 1) {
      const what = `"max_instances" is ${role.max_instances}, but "supports_multiple_instances" is false`;
      refuse("max_instances", what, "1, or true there");
    }
    if (role.cli_command?.[0]?.trim() === "") refuse("cli_command/0", "the program's name is empty", "a program");
    problems.push(...processProblems(role, pointer, document));
    problems.push(...budgetProblems(role.budget, `${pointer}/budget`, "a role", document.problem));
    seen.set(role.role_id, index);
  }
  return problems;
}

/** What no system gives to a process. It would else be found when the role is first asked, after others were paid. */
function processProblems({ cli_command = [], env = {} }: Role, pointer: string, document: SourceDocument): Problem[] {
  const texts = [
    ...cli_command.map((argument, index) => ({
      at: pointerTo(`${pointer}/cli_command`, index),
      text: argument,
    })),
    ...Object.entries(env).map(([name, text]) => ({ at: pointerTo(`${pointer}/env`, name), text })),
  ];
  const names = Object.keys(env).filter((name) => name === "" || /[=\0]/.test(name));
  return [
    ...texts
      .filter(({ text }) => text.includes("\0"))
      .map(({ at }) => document.problem(at, "there is a NUL byte in it", { expected: "a text without one" })),
    ...names.map((name) =>
      document.problem(pointerTo(`${pointer}/env`, name), `${JSON.stringify(name)} cannot be a variable's name`, {
        at: "key",
        expected: 'a name without "="',
      }),
    ),
  ];
}

/**
 * A whole argument `${node}` is the Node that runs this, `${crew.NAME}` the program of the embedded crew with that name. Every
 * other text stays as it is, so that a command's own `${…}` reaches it.
 */
function resolvePlaces(role: Role): Role {
  if (role.cli_command === undefined) return role;
  const cli_command = role.cli_command.map((argument) => {
    const program = /^\$\{crew\.([a-z][a-z-]*)\}$/.exec(argument)?.[1];
    if (program !== undefined) return crewProgram(program);
    return argument === "${node}" ? process.execPath : argument;
  });
  return { ...role, cli_command };
}
