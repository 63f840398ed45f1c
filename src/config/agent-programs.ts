import { basename } from "node:path";
import type { Role } from "../protocol/roles.ts";

export interface AgentProgram {
  readonly title: string;
  /** The newest version that Bosun was tested with. */
  readonly tested: string;
  /** The oldest version that is known to accept all the flags that Bosun passes; an older one is refused. */
  readonly needs?: string;
  readonly package: string;
  /** The command that installs it, or updates it to its newest version. */
  readonly install: string;
  /** How a person logs in. */
  readonly login: string;
  /** The arguments that make it report whether it is logged in, without a request to a model: it exits with 0 if it is, with 1 if not. */
  readonly login_status?: readonly string[];
  /** Environment variables, each of which is a login by itself: a key, or the choice of a cloud. */
  readonly keys: readonly string[];
  /** The environment variables that its roles see if their registry does not say: its keys, its base URL, the place of its configuration. */
  readonly pass_env: readonly string[];
}

const CLAUDE_KEYS = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const CLAUDE_LOGIN = {
  login: "Run claude and log in, or set ANTHROPIC_API_KEY",
  keys: [...CLAUDE_KEYS, "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"],
  pass_env: [...CLAUDE_KEYS, "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"],
};
const CODEX_KEYS = ["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];
const OPENCODE_KEYS = [
  "OPENCODE_API_KEY",
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENROUTER_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
];
const GEMINI_KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"];

function fromNpm(name: string): Pick<AgentProgram, "package" | "install"> {
  return { package: name, install: `npm install -g ${name}@latest` };
}

/** The agent programs by name. */
export const AGENT_PROGRAMS = {
  claude: {
    title: "Claude Code",
    tested: "2.1.331",
    needs: "2.1.197",
    ...fromNpm("@anthropic-ai/claude-code"),
    ...CLAUDE_LOGIN,
    login_status: ["auth", "status"],
  },
  codex: {
    title: "Codex",
    tested: "0.169.0",
    ...fromNpm("@openai/codex"),
    login: "Run codex login, or set CODEX_API_KEY",
    login_status: ["login", "status"],
    keys: CODEX_KEYS,
    pass_env: [...CODEX_KEYS, "CODEX_HOME"],
  },
  opencode: {
    title: "opencode",
    tested: "1.18.33",
    ...fromNpm("opencode-ai"),
    login: "Run opencode auth login, or write a provider into its configuration",
    keys: OPENCODE_KEYS,
    pass_env: [...OPENCODE_KEYS, "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT"],
  },
  gemini: {
    title: "Gemini CLI",
    tested: "0.61.0",
    ...fromNpm("@google/gemini-cli"),
    login: "Run gemini and log in, or set GEMINI_API_KEY",
    keys: GEMINI_KEYS,
    pass_env: [
      ...GEMINI_KEYS,
      "GOOGLE_GEMINI_BASE_URL",
      "GOOGLE_CLOUD_PROJECT",
      "GOOGLE_CLOUD_LOCATION",
      "GEMINI_CLI_HOME",
    ],
  },
  "claude-agent-acp": {
    title: "Claude Code by ACP",
    tested: "0.101.0",
    ...fromNpm("@agentclientprotocol/claude-agent-acp"),
    ...CLAUDE_LOGIN,
  },
} as const satisfies Readonly<Record<string, AgentProgram>>;

export type AgentProgramName = keyof typeof AGENT_PROGRAMS;

/** The programs with a dialect of their own, which has the program's name. */
export const DIALECT_PROGRAMS = [
  "claude",
  "codex",
  "gemini",
  "opencode",
] as const satisfies readonly AgentProgramName[];

/** Whether a name is an agent program with a dialect of its own. */
export function isDialectProgram(name: string): name is (typeof DIALECT_PROGRAMS)[number] {
  return (DIALECT_PROGRAMS as readonly string[]).includes(name);
}

/** The name of the agent program that a role runs; undefined for any other program. */
export function agentProgramOf({ cli_command }: Pick<Role, "cli_command">): AgentProgramName | undefined {
  const name = basename(cli_command?.[0] ?? "");
  return Object.hasOwn(AGENT_PROGRAMS, name) ? (name as AgentProgramName) : undefined;
}

/** A role's command without words that only lengthen the program's name: `claude code cli` becomes `claude`. */
export function plainCommand(role: Pick<Role, "cli_command">): readonly string[] | undefined {
  const name = agentProgramOf(role);
  if (role.cli_command === undefined || name === undefined) return role.cli_command;
  const [program = "", ...words] = role.cli_command;
  if (name === "claude" && words[0] === "code") words.shift();
  return [program, ...words.slice(words[0] === "cli" ? 1 : 0)];
}
