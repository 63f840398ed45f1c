import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Answer } from "../../../kernel/agent.ts";
import { gitDirectories, repositoryRoot } from "../../../lib/git-directories.ts";
import { defined, type Json, type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import type { Failure } from "../../../protocol/failure.ts";
import type { Usage } from "../../../protocol/payload.ts";
import type { Conversation, QuotaWindow } from "../../../protocol/record.ts";
import { mayWriteGit, permissionsOf } from "../../../protocol/roles.ts";
import { instant, milliseconds } from "../../../protocol/timestamp.ts";
import { type Complaint, complaintIn } from "../../causes/complaint.ts";
import { causeOf, failureFor, failureOf, type Program } from "../../causes/failures.ts";
import type { Row } from "../../causes/rows.ts";
import { since } from "../../usage.ts";
import { Messages } from "../messages.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";
import { isCall, isCommand, itemLine } from "./codex-items.ts";
import type { DialectTurn, ReadOutput } from "./dialect.ts";

/** What only codex says. */
const ROWS: readonly Row[] = [
  { cause: "trust", words: /not inside a trusted directory/i },
  { cause: "flag", words: /^error: (?:unexpected argument|unrecognized subcommand|invalid value) /m },
  { cause: "login", words: /^Missing environment variable: / },
];
const DAY_MINUTES = 1_440;
const UNKNOWN_THREAD = /no rollout found for thread id|thread not found/i;

const NOTHING: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };

/** Collects what one codex process reports, in either of its protocols. */
export class CodexTurn {
  readonly #turn: DialectTurn;
  readonly #messages: Messages;
  #id: string | undefined;
  /** The model's last message: its answer, once the turn is over. */
  #text = "";
  #failure: Failure | undefined;
  /** The last error, from which codex may recover. */
  #error: Json | undefined;
  #gone: string | undefined;
  #calls = 0;
  #total: Usage | undefined;
  #tokens: number | undefined;
  #repair: string | undefined;
  readonly #quota = new Map<string, QuotaWindow>();

  constructor(turn: DialectTurn) {
    this.#turn = turn;
    this.#messages = new Messages(turn.request, turn.emit, turn.check);
  }

  /** The conversation that this process continues. */
  get before(): Conversation | undefined {
    return this.#turn.repair?.conversation ?? this.#turn.request.conversation;
  }

  began(id: string): void {
    this.#id = id;
    this.#turn.emit({ kind: "conversation", id });
  }

  /** Takes an item. Its line is shown once: for commands when they start, for other items when they are complete. */
  item(item: JsonObject, isComplete: boolean): void {
    if (isComplete && isCall(item)) this.#calls += 1;
    if (isCommand(item) === isComplete) return;
    const line = itemLine(item, this.#turn.request.payload.workspace);
    if (line !== "") this.#turn.show(line);
  }

  /** Takes a message of the model. The last one is its answer. */
  said(text: string): void {
    this.#text = text;
  }

  /** Takes an error that codex may recover from. Only the end of the turn shows whether it did. */
  retries(error: Json): void {
    this.#error = error;
    const [words = ""] = this.#complaint(error).words;
    if (words.startsWith("Reconnecting")) this.#turn.show(words);
  }

  /** Takes the error that ends the turn: a text, or an object with its codes. */
  failed(error: Json): void {
    // An earlier answer stands.
    if (this.#messages.answer !== undefined) return;
    const complaint = this.#complaint(error);
    this.#failure ??= failureOf(complaint, this.#program());
    const isLost = complaint.words.some((text) => UNKNOWN_THREAD.test(text));
    if (isLost || causeOf(complaint, ROWS) === "context") this.#gone = this.#failure.message;
  }

  /** Takes the total usage of the conversation, and the size of its context in tokens if it is reported. */
  used(total: Usage, tokens?: number): void {
    this.#total = total;
    this.#tokens = tokens ?? this.#averageContext();
  }

  /** Takes the reported rate-limit windows of the account. */
  limits(told: JsonObject): void {
    for (const window of windowsIn(told)) this.#quota.set(window.name, window);
  }

  /** Takes an answer that is known before the turn ends. */
  take(answer: Answer): "message" | "answer" {
    return this.#messages.take(answer);
  }

  /** Call when the turn is over: its last message is the answer. */
  finished(status: Json = "completed"): "answer" | "over" {
    if (this.#messages.answer !== undefined || this.#failure !== undefined) return "over";
    if (status === "interrupted" || this.#text.trim() === "") {
      const cause = status === "interrupted" ? "interrupted" : "refusal";
      this.#failure = failureFor(cause, this.#complaint(this.#error), this.#program());
      return "over";
    }
    if (this.#messages.read(this.#text) === "answer") return "answer";
    const refused = this.#messages.refused.at(-1);
    if (refused !== undefined) this.#repair = this.#turn.prompts.repair(refused);
    return "over";
  }

  heard({ exit }: RunEnd, stderr: string): ReadOutput {
    const { answer, refused } = this.#messages;
    const isFailed = typeof exit?.code === "number" && exit.code !== 0;
    // Before it starts working, codex reports errors on stderr: a bad flag, an unknown conversation, missing trust.
    const words = this.#id === undefined ? stderrWords(stderr) : "";
    if (isFailed && words !== "") this.failed(words);
    else if (isFailed && this.#error !== undefined) this.failed(this.#error);
    return {
      answer,
      refused,
      failure: this.#failure,
      last_error: this.#error === undefined ? undefined : this.#complaint(this.#error).words[0],
      gone: this.#gone,
      repair: this.#repair,
      usage: this.#usage(),
      quota: this.#quota.size === 0 ? undefined : [...this.#quota.values()],
      conversation: this.#conversation(),
    };
  }

  /** A limit without an end of its own ends when the last full window does. */
  #complaint(error: Json | undefined): Complaint {
    const complaint = complaintIn(error, this.#turn.now());
    const full = [...this.#quota.values()].filter(({ used_percent }) => used_percent >= 100);
    const reset = Math.max(...full.map(({ resets_at }) => milliseconds(resets_at)));
    return { ...complaint, retry_at: complaint.retry_at ?? (full.length === 0 ? undefined : reset) };
  }

  #program(): Program {
    return { who: nameOf(this.#turn.request), now: this.#turn.now(), rows: ROWS };
  }

  /** The recorded running total. Without one, the conversation began in an interrupted run, and all its usage is new. */
  #base(): Usage {
    return this.before?.total ?? NOTHING;
  }

  #usage(): Usage | undefined {
    return this.#total === undefined ? undefined : since(this.#total, { ...NOTHING, ...this.#base() });
  }

  /** Estimates the size of the context if only a sum is reported: each request reads it again, and one more follows each tool call. */
  #averageContext(): number | undefined {
    const { input_tokens = 0, output_tokens = 0 } = this.#usage() ?? {};
    return input_tokens === 0 ? undefined : Math.round(input_tokens / (this.#calls + 1)) + output_tokens;
  }

  #conversation(): Conversation | undefined {
    if (this.#id === undefined) return undefined;
    // A failed turn reports no total: the next one counts from the old one.
    const total = this.#total ?? this.#base();
    const tokens = this.#tokens ?? this.before?.tokens;
    return { id: this.#id, ...defined({ tokens }), total };
  }
}

/** The rate-limit windows of a subscription, as codex reports them. An API key has none. */
function windowsIn({ limitId, limitName, primary, secondary }: JsonObject): QuotaWindow[] {
  // The limit of a single model has its own id.
  const about = textOf(limitId) === "codex" ? "" : textOf(limitName) || textOf(limitId);
  return [primary, secondary].flatMap((window) => {
    const { usedPercent, windowDurationMins: minutes, resetsAt } = objectOf(window);
    if (typeof usedPercent !== "number" || typeof minutes !== "number" || typeof resetsAt !== "number") return [];
    const name = `${lengthOf(minutes)} ${about}`.trim();
    return [{ name, used_percent: Math.min(100, Math.max(0, usedPercent)), resets_at: instant(resetsAt * 1_000) }];
  });
}

function lengthOf(minutes: number): string {
  if (minutes === 7 * DAY_MINUTES) return "week";
  return minutes % DAY_MINUTES === 0 ? `${minutes / DAY_MINUTES}d` : `${Math.round(minutes / 60)}h`;
}

/** Codex's token counts, by the names in either protocol. The input includes the cached tokens. */
export function usageIn(told: JsonObject): Usage {
  const count = (...names: string[]) => names.map((name) => told[name]).find((value) => typeof value === "number");
  return {
    input_tokens: count("input_tokens", "inputTokens") ?? 0,
    output_tokens: count("output_tokens", "outputTokens") ?? 0,
    cached_tokens: count("cached_input_tokens", "cachedInputTokens") ?? 0,
  };
}

/** The program with the flags of the role's own command, and the settings that the role's permissions need. */
export function codexCommand({ request }: DialectTurn): {
  readonly program: readonly string[];
  readonly settings: readonly string[];
  readonly sandbox: "read-only" | "workspace-write";
} {
  const { role, payload } = request;
  const program = role.cli_command ?? ["codex"];
  const { write, network } = permissionsOf(role);
  if (write === "none") return { program, settings: [], sandbox: "read-only" };
  // Hooks and settings in `.git` run programs when a person uses git, so only a role that may use git itself may write there.
  const committed = mayWriteGit(role) ? written(payload.workspace) : [];
  const writable = [payload.artifacts_dir, ...committed];
  const settings = [
    `sandbox_workspace_write.writable_roots=${JSON.stringify(writable)}`,
    ...(network === undefined ? [] : [`sandbox_workspace_write.network_access=${network}`]),
  ];
  return { program, settings: settings.flatMap((setting) => ["-c", setting]), sandbox: "workspace-write" };
}

/**
 * The git directories that a commit writes to. The sandbox protects them, and runs no command at all if a writable root is a file. An empty `.git`
 * belongs to a running sandbox.
 */
function written(workspace: string): readonly string[] {
  const root = repositoryRoot(workspace);
  if (root === undefined) return [];
  const { own, common } = gitDirectories(root);
  return [...new Set([own, common])].filter((path) => existsSync(join(path, "HEAD")));
}

export function codexEnvironment({ environment, scratch }: DialectTurn): Readonly<Record<string, string>> {
  // Codex cannot run commands if its home is below TMPDIR. Its own log on stderr warns in every turn.
  return { RUST_LOG: "off", ...environment, TMPDIR: scratch() };
}

/** The text on stderr without log lines. */
function stderrWords(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => !/ (?:WARN|ERROR|INFO)\b|^Reading additional input/.test(line));
  return lines.join("\n").trim();
}
