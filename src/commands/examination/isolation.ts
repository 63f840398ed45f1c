import { dialectOf } from "../../config/role-defaults.ts";
import { changeableWords } from "../lookup/changeable-programs.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Finding } from "./finding.ts";

/** What holds the agents of these roles: the sandbox or the rules of their program, and Bosun's own sandbox; and whose programs they can change. */
export function isolationFindings(roles: readonly Role[], workspace: string, path: string | undefined): Finding[] {
  const held = Array.from(Map.groupBy(roles, isolationOf), ([by, alike]): Finding => {
    const what = `${alike.map(({ role_id }) => role_id).join(", ")}: ${by}`;
    return alike.every(isHeld)
      ? { name: "isolation", state: "ok", what }
      : { name: "isolation", state: "poor", what, hint: PROTECT };
  });
  const changeable = changeableWords(roles, workspace, path);
  return [...held, ...changeable.map((what): Finding => ({ name: "programs", state: "poor", what, hint: PROTECT }))];
}

const PROTECT =
  "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.";

function isHeld(role: Role): boolean {
  if (dialectOf(role) === "codex" && flagThatFrees(role) === undefined) return true;
  return role.sandbox === "files" || role.sandbox === "offline";
}

function isolationOf(role: Role): string {
  const { sandbox = "none" } = role;
  const around = sandbox === "none" ? "" : `, within Bosun's sandbox ${sandbox}`;
  const freed = flagThatFrees(role);
  const dialect = dialectOf(role);
  if (dialect === "envelope") return `its agents run with all your rights${around}`;
  if (freed !== undefined) return `${freed} of its command frees its program, which runs with all your rights${around}`;
  if (dialect === "codex") return `codex runs commands in a sandbox of its own, by the role's permissions${around}`;
  const rules = dialect === undefined ? "the permissions that it asks for" : `the permission rules of ${dialect}`;
  return `no sandbox of its program, only ${rules}; what they allow has all your rights${around}`;
}

/** A flag of the user's own by which a program asks for nothing and sandboxes nothing. */
function flagThatFrees({ cli_command = [] }: Role): string | undefined {
  return cli_command.slice(1).find((word) => /danger|bypass|yolo/i.test(word));
}
