import { projectCommands } from "../../config/project-commands.ts";
import { dialectOf, flagThatFrees } from "../../config/role-defaults.ts";
import { isAllowedCommand } from "../../protocol/allowed-commands.ts";
import { isConfined, permissionsOf, type Role, toolsOffered } from "../../protocol/roles.ts";

/** What each worker may do without asking and what it stops for, a sentence each; none for programs that are not told their permissions. */
export function unaskedWords(roles: readonly Role[], workspace: string): string[] {
  const told = roles.filter((role) => role.type === "worker" && dialectOf(role) !== "envelope");
  const project = told.length === 0 ? [] : projectCommands(workspace);
  return told.map((role) => {
    const { write, commands } = permissionsOf(role);
    const named = commands.filter((one) => !commands.some((other) => one === `${other} *`));
    const does = [write === "workspace" ? "changes files here" : "changes no file"];
    if (named.length > 0) does.push(`runs ${named.join(", ")}`);
    return `${role.role_id} ${does.join(" and ")} without asking; ${restOf(role, project)}.`;
  });
}

/** What becomes of all other commands. `project` names the likely ones. */
function restOf(role: Role, project: readonly string[]): string {
  const { commands, ask } = permissionsOf(role);
  const flag = flagThatFrees(role);
  if (flag !== undefined) return `with ${flag} it asks for nothing else either`;
  if (dialectOf(role) === "opencode")
    return commands.length === 0
      ? "it has no shell, since opencode runs only commands that are allowed, so it cannot test its work"
      : "opencode runs no other command, and does not ask";
  if (role.backend === "model" && !toolsOffered(role).includes("run_command")) return "it runs no command";
  if (role.backend === "model" && isConfined(role)) return `it runs all others within the sandbox ${role.sandbox}`;
  if (ask === "deny") return "all other commands that change something are denied";
  if (dialectOf(role) === "codex") return "it runs all others in codex's sandbox, and asks you before it leaves that";
  const likely = project.filter((command) => !isAllowedCommand(command, commands));
  return `it stops and asks you for ${[...likely, "every other command that does more than read"].join(", ")}`;
}
