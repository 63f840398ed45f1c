import { programFile } from "../agents/program-file.ts";
import { mayEnter } from "../lib/directory.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import type { SessionRow } from "../store/store.ts";

/** The file that a role's program would be started from: it is looked up in the `PATH` of its own environment. */
export function programOf(role: Role, directory: string, path: string | undefined): string | undefined {
  const program = role.cli_command?.[0];
  return program === undefined ? undefined : programFile(program, directory, role.env?.["PATH"] ?? path);
}

/** A failure for a role whose program is not there, before anything is begun for it. */
export function missingProgram(role: Role, directory: string, path: string | undefined): Failure | undefined {
  const program = role.cli_command?.[0];
  if (program === undefined || programOf(role, directory, path) !== undefined) return undefined;
  const where = program.includes("/") ? "is not a program that is there" : "is not on the PATH";
  return failure("environment", `The role ${role.role_id} runs ${JSON.stringify(program)}, which ${where}.`, {
    hint: "Install it, or name another with --manager CMD, --worker CMD, --crew NAME or --roles FILE; `bosun doctor` checks them all.",
  });
}

/** A failure for a workspace in which no program could be started. */
export function unusableWorkspace(workspace: string): Failure | undefined {
  switch (mayEnter(workspace)) {
    case "yes":
      return undefined;
    case "refused":
      return failure("environment", `The workspace ${workspace} may not be entered by you.`, {
        hint: "Give yourself the right to (chmod u+x), or name another with --cwd DIRECTORY.",
      });
    case "gone":
      return failure("usage", `The workspace ${workspace} is not a directory that is there.`, {
        hint: "Name another with --cwd DIRECTORY, or make it.",
      });
  }
}

/** The same for a session that is there: whoever takes it up has not named its workspace, and can name no other. */
export function lostWorkspace({
  session_id,
  workspace,
  state,
}: Pick<SessionRow, "session_id" | "workspace" | "state">): Failure | undefined {
  const is = mayEnter(workspace);
  if (is === "yes") return undefined;
  const [why, mend] =
    is === "gone"
      ? ["is not a directory that is there", "Put it back"]
      : ["may not be entered by you", "Give yourself the right to (chmod u+x)"];
  const otherwise = state === "closed" ? "" : ` To give the session up: bosun cancel ${session_id}.`;
  return failure("environment", `The workspace ${workspace} of ${session_id} ${why}.`, {
    hint: `${mend}, and try again: the session stands as it was.${otherwise}`,
  });
}
