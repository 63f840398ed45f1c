import type { Role } from "../protocol/roles.ts";
import { AGENT_PROGRAMS, agentProgramOf } from "./agent-programs.ts";

/** The registry of a new project: the roles of a crew, to be changed. */
export function rolesFile(crew: string, roles: readonly Role[]): string {
  return `# Who plans and who works in this project: the crew "${crew}", yours to change.
# \`bosun roles\` shows what counts, and \`bosun doctor\` whether it works here.
# SPEC.md of Bosun lists every field. Anything that speaks the envelope dialect can stand in cli_command.
# Prompts: a file .bosun/prompts/NAME.md replaces the built-in one of that name (\`bosun roles --prompts\` lists them).
roles:
${roles.map(roleEntry).join("\n")}`;
}

function roleEntry(role: Role): string {
  const { metadata: _, ...fields } = role;
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value).replaceAll(",", ", ")}`);
  const program = agentProgramOf(role);
  const passed = program === undefined ? [] : AGENT_PROGRAMS[program].pass_env;
  const hints = [
    "# timeout_s: 1800",
    ...(program === undefined
      ? ["# pass_env: []  # variables of your environment that it sees"]
      : [
          "# model: NAME  # the program's own choice if left out",
          `# pass_env: ${JSON.stringify(passed).replaceAll(",", ", ")}  # what it sees of your environment; these if left out`,
          ...(role.type === "manager"
            ? []
            : ["# permissions: {commands: []}  # what it runs unasked besides allowed_commands"]),
        ]),
  ];
  return `  - ${[...lines, ...hints].join("\n    ")}\n`;
}

/** The entry of `.mcp.json` for this program. */
export const MCP_ENTRY = '"bosun": {"command": "bosun", "args": ["mcp"]}';

/** No path of this machine, because a project shares the file. */
export const MCP_FILE = `{
  "mcpServers": {
    ${MCP_ENTRY}
  }
}
`;

/** The settings of a new project, in which workers run these commands without asking. */
export function settingsFile(commands: readonly string[]): string {
  const list = commands.map((command) => `\n  - ${JSON.stringify(command)}`).join("");
  return `# Settings of the sessions in this project. What is left out has its default; flags and BOSUN_* variables come first.
# Take a # away to change a line. SPEC.md of Bosun lists every setting.

# What workers that may write run without asking, each also with more arguments.
allowed_commands:${list === "" ? " []" : list}
# max_workers: 4
# plan_approval: ask        # ask or never
# review: manager           # manager, user or checks
# checks:                   # Bosun runs these itself, and no ticket is done against one that fails
#   ticket:
#     - {text: the tests pass, command: [npm, test]}
# budget: {turns: 200, wall_s: 14400, usd: 20}
`;
}
