import { createHash } from "node:crypto";
import { join } from "node:path";
import { schemaOf } from "../../prompts/answers.ts";
import type { TurnRequest } from "../../../kernel/agent.ts";
import { type CompletePermissions, permissionsOf } from "../../../protocol/roles.ts";
import { ClaudeReader, userLine } from "./claude-reader.ts";
import type { Dialect, DialectTurn } from "./dialect.ts";

/** Maximum number of requests in one turn: Claude Code has no limit of its own. */
const MAX_TURNS = 200;

/** Tools that change files. The shell has its own rules: it runs commands that only read, and asks for the rest. */
const EDITING = ["Edit", "Write", "NotebookEdit"];
/** Edits that Claude Code would make unasked. For those below `.git` it asks by itself. */
const PROTECTED = ["Edit(**/.bosun/**)"];
const NETWORK = ["WebFetch", "WebSearch"];

/** Tools that leave the workspace, outlive the turn, or wait for a person at a terminal. */
const DISALLOWED = ["EnterWorktree", "EnterPlanMode", "ExitPlanMode", "ScheduleWakeup", "CronCreate", "RemoteTrigger"];

/** Flags that choose the permission mode. The user's own flag takes precedence. */
const MODES = ["--permission-mode", "--dangerously-skip-permissions"];

/** Bosun retries by itself, and a request that is retried for minutes hides why nothing happens. */
const ENVIRONMENT = {
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_MAX_RETRIES: "2",
  // Else a command runs where the last one went with cd, and its request does not say so.
  CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR: "1",
};

/**
 * Claude Code in print mode. The prompt goes to stdin. If a person may be asked, stdin stays open for its control protocol, in which it asks for
 * permissions and puts questions, and for notes, whose replay says that they are read.
 */
export const claude: Dialect = (turn) => {
  const { request, environment, repair } = turn;
  const permissions = permissionsOf(request.role);
  const converses = permissions.ask === "user";
  const prompt = repair?.prompt ?? turn.prompts.render(request);
  return {
    command: [...(request.role.cli_command ?? []), ...flags(turn, permissions)],
    // The role's variables take precedence.
    environment: { ...ENVIRONMENT, ...environment, TMPDIR: turn.scratch() },
    input: converses ? userLine(prompt) : prompt,
    converses,
    keepsLines: true,
    reader: new ClaudeReader(turn, converses),
  };
};

/** Passes each list item by item and with `=`: a flag that takes several values would also take the next argument. */
function flags({ request, repair }: DialectTurn, permissions: CompletePermissions): string[] {
  const { role, payload } = request;
  const own = role.cli_command ?? [];
  const unlessGiven = (flag: string, value: string | undefined) =>
    value === undefined || isGiven(own, [flag]) ? [] : [`${flag}=${value}`];
  const { write, commands, network, ask } = permissions;
  const mode = write === "workspace" ? "acceptEdits" : "default";
  const allowed = [
    ...commands.map((command) => `Bash(${command})`),
    ...(network === true ? NETWORK : []),
    ...(payload.home === undefined ? [] : [`Read(/${join(payload.home, "sessions", request.session_id)}/**)`]),
  ];
  const disallowed = [
    ...DISALLOWED,
    ...(write === "none" ? EDITING : PROTECTED),
    ...(network === false ? NETWORK : []),
  ];
  return [
    "--print",
    "--output-format=stream-json",
    "--verbose",
    ...(ask === "user"
      ? ["--input-format=stream-json", "--replay-user-messages", "--permission-prompt-tool=stdio"]
      : []),
    `--json-schema=${JSON.stringify(schemaOf(payload))}`,
    ...(isGiven(own, MODES) ? [] : [`--permission-mode=${mode}`]),
    ...allowed.map((tool) => `--allowedTools=${tool}`),
    ...disallowed.map((tool) => `--disallowedTools=${tool}`),
    ...(write === "workspace" ? [`--add-dir=${payload.artifacts_dir}`] : []),
    ...unlessGiven("--model", role.model),
    "--strict-mcp-config",
    ...unlessGiven("--max-turns", String(MAX_TURNS)),
    ...unlessGiven("--max-budget-usd", budgetOf(request)),
    ...conversationFlags(request, repair?.conversation.id),
  ];
}

function isGiven(command: readonly string[], names: readonly string[]): boolean {
  return command.some((argument) => names.some((name) => argument === name || argument.startsWith(`${name}=`)));
}

/** Maximum cost of this turn: what is left of the session's budget, but not more than the role's. */
function budgetOf({ role, payload }: TurnRequest): string | undefined {
  const limits = [payload.limits?.remaining_usd, role.budget?.usd].filter((usd) => usd !== undefined);
  return limits.length === 0 ? undefined : String(Math.min(...limits));
}

function conversationFlags(request: TurnRequest, repaired: string | undefined): string[] {
  const { conversation } = request;
  if (repaired !== undefined) return [`--resume=${repaired}`];
  if (conversation === undefined) return [`--session-id=${conversationId(request)}`];
  if (conversation.how === "resume") return [`--resume=${conversation.id}`];
  return [`--resume=${conversation.id}`, "--fork-session", `--session-id=${conversationId(request)}`];
}

/** The id of the conversation that a run starts: a UUID derived from the run, so that the two can be matched even after a crash. */
export function conversationId({
  session_id,
  stamp,
  conversation,
}: Pick<TurnRequest, "session_id" | "stamp" | "conversation">): string {
  // A fork that fails has used its id: the conversation that replaces it has another.
  const forked = conversation === undefined ? [] : [conversation.id];
  const hash = createHash("sha256")
    .update(JSON.stringify([session_id, stamp.turn_id, stamp.run, ...forked]))
    .digest();
  // RFC 9562: version 8 (free content), variant 10.
  hash[6] = (hash.readUInt8(6) & 0x0f) | 0x80;
  hash[8] = (hash.readUInt8(8) & 0x3f) | 0x80;
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}
