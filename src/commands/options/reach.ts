import { extname, resolve } from "node:path";
import { noProgram, programFile } from "../../agents/program-file.ts";
import { dialectOf } from "../../config/role-defaults.ts";
import { mayEnter } from "../../lib/directory.ts";
import { failure, type Failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { SessionRow } from "../../store/store.ts";
import { shellWord } from "../../lib/shell-word.ts";

/** The file that a role's program would be started from: it is looked up in the `PATH` of its own environment. */
export function programOf(role: Role, directory: string, path: string | undefined): string | undefined {
  const program = role.cli_command?.[0];
  return program === undefined ? undefined : programFile(program, directory, role.env?.["PATH"] ?? path);
}

/** A failure for a role whose program is not there, before anything is begun for it. */
export function missingProgram(role: Role, directory: string, path: string | undefined): Failure | undefined {
  const program = role.cli_command?.[0];
  if (program === undefined || programOf(role, directory, path) !== undefined) return undefined;
  const { why, instead } = noProgram(program, directory);
  const another = "with --manager CMD, --worker CMD, --crew NAME or --roles FILE";
  const isBeside = !program.includes("/") && noProgram(`./${program}`, directory).instead === "file";
  const remedy =
    instead === "file"
      ? `Make it executable (chmod +x ${shellWord(resolve(directory, program))})${readBy(program)}`
      : isBeside
        ? `Name the one in the workspace as ./${shellWord(program)}${readBy(program)}`
        : `Install it, or name another ${another}`;
  return failure("environment", `The role ${role.role_id} runs ${JSON.stringify(program)}, which ${why}.`, {
    hint: `${remedy}; \`bosun doctor\` checks them all.`,
  });
}

/** What reads a script, by the ending of its name. */
const READERS: Readonly<Record<string, string>> = { ".js": "node", ".mjs": "node", ".py": "python3", ".sh": "sh" };

/** How else a script is run; nothing where its name does not tell. */
function readBy(program: string): string {
  const reader = READERS[extname(program)];
  return reader === undefined ? "" : `, or give the role what reads it, too: ${reader} ${shellWord(program)}`;
}

/** Why this version cannot reach a role at all; undefined if it can. */
export function unreachable(role: Role): Failure | undefined {
  const backend = role.backend ?? "cli";
  const dialect = dialectOf(role);
  if (backend === "cli" && dialect === "envelope") return undefined;
  const what = backend === "cli" ? `is spoken to in the dialect ${dialect}` : `has the backend ${backend}`;
  return failure("configuration", `The role ${role.role_id} ${what}, which this version cannot do yet.`, {
    hint: 'Use a program that speaks the envelope dialect: --manager "CMD", --worker "CMD", or --crew embedded with --plan FILE.',
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
      ? ["is not a directory that is there", "Put it back, or a link to where it is now"]
      : ["may not be entered by you", "Give yourself the right to (chmod u+x)"];
  const otherwise = state === "closed" ? "" : ` To give the session up: bosun cancel ${session_id}.`;
  return failure("environment", `The workspace ${workspace} of ${session_id} ${why}.`, {
    hint: `${mend}, and try again: the session stands as it was.${otherwise}`,
  });
}
