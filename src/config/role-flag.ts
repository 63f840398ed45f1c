import { didYouMean } from "../lib/nearest.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { splitCommand } from "./command-line.ts";
import { DIALECT_PROGRAMS, isDialectProgram } from "./agent-programs.ts";

/**
 * Parses the role that `--manager` or `--worker` describes: `claude`, `codex:gpt-5` (a known program, with a model if one is named) or any command
 * line in the envelope dialect, `"python3 worker.py"`. Its role id is its type. Failure `usage`.
 */
export function roleFromFlag(type: "manager" | "worker", text: string): Fallible<Role> {
  const flag = `--${type}`;
  const split = splitCommand(text);
  if (!split.ok) return fails("usage", `${flag} ${JSON.stringify(text)}: ${split.error}.`);
  const [program, ...rest] = split.value;
  if (program === undefined || program === "") {
    const hint = `Give a command that speaks the envelope dialect, such as ${flag} "python3 ${type}.py".`;
    return fails("usage", `${flag} names no program.`, { hint });
  }
  const [name = "", ...model] = program.split(":");
  if (rest.length > 0 || program === name) return ok(seat(type, { cli_command: split.value }));
  if (isDialectProgram(name)) {
    if (model.join(":") !== "") return ok(seat(type, { cli_command: [name], model: model.join(":") }));
    const hint = `Write ${flag} ${name} for its usual model.`;
    return fails("usage", `${flag} ${program}: the model after the colon is empty.`, { hint });
  }
  return program.includes("/") ? ok(seat(type, { cli_command: [program] })) : unknownProgram(flag, program, name);
}

/** The roles with this one in place of all others of its type. */
export function replaceSeat(roles: readonly Role[], role: Role): Role[] {
  return [role, ...roles.filter((other) => other.type !== role.type && other.role_id !== role.role_id)];
}

function seat(type: "manager" | "worker", rest: Pick<Role, "cli_command" | "model">): Role {
  return { role_id: type, type, ...rest };
}

function unknownProgram(flag: string, program: string, name: string): Fallible<never> {
  const question = didYouMean(name, DIALECT_PROGRAMS);
  return fails("usage", `${flag} ${program}: no known agent program is called ${JSON.stringify(name)}.${question}`, {
    hint: `A model can be named for ${DIALECT_PROGRAMS.join(", ")}; a path with a colon in it must have a / too: ${flag} ./${program}`,
  });
}
