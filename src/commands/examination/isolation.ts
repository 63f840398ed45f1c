import { dialectOf } from "../../config/role-defaults.ts";
import { type CompletePermissions, permissionsOf, type Role, type Sandbox } from "../../protocol/roles.ts";
import type { Finding } from "./finding.ts";

/** What agents run with that only Bosun's own sandbox holds, by its level. */
const RIGHTS: Readonly<Record<Sandbox, string>> = {
  none: "all your rights: files, network, processes; nothing isolates them",
  processes: "your rights on files and the network; only their processes are contained",
  files: "your rights to read and to use the network; they write only to the workspace and their own directories",
  offline: "your rights to read; they write only to the workspace and their own directories, and have no network",
};

/** What holds the agents of these roles: the sandbox or the rules of their program, and Bosun's own sandbox. */
export function isolationFindings(roles: readonly Role[]): Finding[] {
  return Array.from(Map.groupBy(roles, isolationOf), ([held, alike]): Finding => {
    const what = `${alike.map(({ role_id }) => role_id).join(", ")}: ${held}`;
    return alike.every(isHeld)
      ? { name: "isolation", state: "ok", what }
      : { name: "isolation", state: "poor", what, hint: PROTECT };
  });
}

const PROTECT =
  "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.";

function isHeld(role: Role): boolean {
  if (dialectOf(role) === "codex" && flagThatFrees(role) === undefined) return true;
  return role.sandbox === "files" || role.sandbox === "offline";
}

function isolationOf(role: Role): string {
  const { sandbox = "none" } = role;
  const dialect = dialectOf(role);
  if (dialect === "envelope") return `its agents run with ${RIGHTS[sandbox]}`;
  const off = flagThatFrees(role);
  if (off !== undefined) return `${off} of its command takes its limits away; its agents run with ${RIGHTS[sandbox]}`;
  const around = sandbox === "none" ? "" : `; Bosun's sandbox ${sandbox} is around it`;
  if (dialect === "codex")
    return `codex runs commands in a sandbox of its own, ${codexSandbox(permissionsOf(role))}${around}`;
  const rules = dialect === undefined ? "the permissions that it asks for" : `the permission rules of ${dialect}`;
  return `no sandbox of its program, only ${rules}; what they allow has your rights${around}`;
}

/** A flag of the user's own by which a program asks for nothing and sandboxes nothing. */
function flagThatFrees({ cli_command = [] }: Role): string | undefined {
  return cli_command.slice(1).find((word) => /danger|bypass|yolo/i.test(word));
}

function codexSandbox({ write, network, commands, ask }: CompletePermissions): string {
  if (write === "none") return "where they can write nothing";
  const reach = network === undefined ? "the network as its config.toml says" : network ? "with network" : "no network";
  const outside = commands.length > 0 ? "; the commands of the role may run outside" : "";
  return `where they write only in the workspace and temporary folders, ${reach}${outside}${ask === "user" ? "; more if you agree" : ""}`;
}
