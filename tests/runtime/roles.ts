import { join } from "node:path";
import { cliAgent, type CliSettings } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Role } from "../../src/protocol/roles.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples/agents");

/** Long enough for a busy machine. */
const GRACE_MS = 5_000;

/** The command-line agent of the product. */
export function cli(settings: Partial<CliSettings> = {}): Agent {
  return cliAgent({
    launcher: embeddedLauncher(),
    settings: {
      kill_grace_ms: GRACE_MS,
      answer_grace_ms: GRACE_MS,
      max_line_bytes: 8_388_608,
      max_output_bytes: 67_108_864,
      environment: { PATH: process.env["PATH"] },
      ...settings,
    },
  });
}

/** A manager and a worker whose agents are scripted; `hand` takes several turns at once. */
export const CREW: readonly Role[] = [
  { role_id: "boss", type: "manager", cli_command: ["unused"] },
  { role_id: "hand", type: "worker", cli_command: ["unused"], supports_multiple_instances: true },
];

/** The crew with one role changed. */
export function withRole(role_id: string, more: Partial<Role>): Role[] {
  return CREW.map((role) => (role.role_id === role_id ? { ...role, ...more } : role));
}

/** The crew with a shell script as its worker. */
export function withWorker(script: string): Role[] {
  return withRole("hand", { cli_command: shell(script) });
}

/** The agents of `examples/agents`, each in the given language. */
export function foreignCrew(
  manager: "sh" | "py",
  worker: "sh" | "py",
  env: { boss?: Role["env"]; hand?: Role["env"] } = {},
): Role[] {
  const program = (name: string, language: "sh" | "py", variables: Role["env"]): Partial<Role> => ({
    cli_command: [language === "sh" ? "sh" : "python3", join(EXAMPLES, `${name}.${language}`)],
    ...(variables ? { env: variables } : {}),
  });
  const programs = { boss: program("manager", manager, env.boss), hand: program("worker", worker, env.hand) };
  return CREW.map((role) => ({ ...role, ...programs[role.role_id as keyof typeof programs] }));
}

const PRELUDE = `
IFS= read -r request || exit 0
say() {
  printf '{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"%s","version":"1.0","payload":%s}\\n' \\
    "$BOSUN_SESSION_ID" "\${AS-$BOSUN_ROLE_ID}" "$1" "$2"
}
`;

/** A shell command that reads its request and then runs the script, which says envelopes with `say TYPE PAYLOAD`. */
export function shell(script: string, ...parameters: string[]): NonNullable<Role["cli_command"]> {
  return ["sh", "-c", PRELUDE + script, "sh", ...parameters];
}

/** The shell command with which a worker reports success. */
export const REPORT = `say report '{"status":"completed","summary":"It is done."}'`;
