import { AGENT_PROGRAMS, agentProgramOf, DIALECT_PROGRAMS } from "../../config/agent-programs.ts";
import { AGENT_CREWS, loadCrew } from "../../config/crews.ts";
import { ok } from "../../lib/result.ts";
import { type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { CommandContext } from "../context/command.ts";
import { type InstalledProgram, roleProblem } from "../examination/program.ts";
import { crewFolders, type Found, type RegistryOptions } from "./registry.ts";

/** The first crew whose agent programs are all installed, or whose model has its key; undefined if there is none. */
export async function crewHere(
  { directory, environment }: CommandContext,
  found: Found,
): Promise<Fallible<string | undefined>> {
  for (const name of AGENT_CREWS) {
    const roles = await loadCrew(name, crewFolders(found));
    if (!roles.ok) return roles;
    if (roles.value.every((role) => roleProblem(role, directory, environment) === undefined)) return ok(name);
  }
  return ok(undefined);
}

/** Whether no flag and no registry that was found says who plans and who works. */
export function namesNobody(options: RegistryOptions, { user, project }: Found): boolean {
  const named = [options.crew, options.roles, options.manager, options.worker, user?.roles, project?.roles];
  return named.every((one) => one === undefined);
}

/** The options with the crew that a run takes here if they name nobody. */
export async function withCrew<O extends RegistryOptions>(
  context: CommandContext,
  options: O,
  found: Found,
): Promise<Fallible<O>> {
  if (!namesNobody(options, found)) return ok(options);
  const crew = await crewHere(context, found);
  if (!crew.ok) return crew;
  return ok(crew.value === undefined ? options : { ...options, crew: crew.value });
}

/** The failure for a run that finds no agent program. */
export function nobodyInstalled(): Failure {
  const installs = DIALECT_PROGRAMS.map((name) => `  ${AGENT_PROGRAMS[name].install}`);
  const names = DIALECT_PROGRAMS.join(", ");
  return failure(
    "environment",
    `Nobody is there to plan this: none of the agent programs ${names} is on the PATH. Install one and log in:\n${installs.join("\n")}`,
    {
      hint: "A model behind an API can plan, too: set ANTHROPIC_API_KEY, or see `bosun models`; so can a program of your own: --manager CMD. `bosun demo` shows a session without any of them.",
    },
  );
}

/** A crew in words: `codex-claude: codex 0.169.0 manages, claude 2.1.331 works`; versions as far as the programs were examined. */
export function crewWords(
  crew: string | undefined,
  roles: readonly Role[],
  programs: ReadonlyMap<string, InstalledProgram | undefined> = new Map(),
): string {
  const parts = roles.map((role) => {
    const name =
      `${agentProgramOf(role) ?? role.model ?? role.role_id} ${programs.get(role.role_id)?.version ?? ""}`.trim();
    return `${name} ${role.type === "manager" ? "manages" : "works"}`;
  });
  return `${crew === undefined ? "" : `${crew}: `}${parts.join(", ")}`;
}
