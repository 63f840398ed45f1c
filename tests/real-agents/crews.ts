import type { Role } from "../../src/protocol/roles.ts";

/** A way to run a program, as a role names it. */
export type Program = "codex" | "claude" | "opencode" | "gemini by ACP" | "claude by ACP";

const REACHED: Readonly<Record<Program, Pick<Role, "cli_command" | "backend">>> = {
  codex: { cli_command: ["codex"] },
  claude: { cli_command: ["claude"] },
  opencode: { cli_command: ["opencode"] },
  "gemini by ACP": { backend: "acp", cli_command: ["gemini", "--acp", "--skip-trust", "-m", "gemini-2.5-pro"] },
  "claude by ACP": { backend: "acp", cli_command: ["claude-agent-acp"] },
};

/** A registry with one manager and one worker; `more` is added to both roles. */
export function pair(manager: Program, worker: Program, more: Partial<Role> = {}): { readonly roles: readonly Role[] } {
  return {
    roles: [
      { role_id: "boss", type: "manager", ...REACHED[manager], capabilities: ["planning", "review"], ...more },
      { role_id: "hand", type: "worker", ...REACHED[worker], ...more },
    ],
  };
}
