import type { ChatMessage, UserMessage } from "../../harness/messages.ts";
import { type Participant, type ProviderAdapter, ProviderError } from "../../harness/provider.ts";
import { combinedTools, type Tools } from "../../harness/tools.ts";
import { type TurnOptions, type TurnResult as Said, TurnRunner } from "../../harness/turn-runner.ts";
import { TokenBudget } from "../../harness/usage.ts";
import type { Agent, TurnContext, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { defined } from "../../lib/json.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { type Role, seesWorkspace } from "../../protocol/roles.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import type { CliSettings } from "../cli/agent.ts";
import { inNewConversation } from "../cli/dialects/dialect.ts";
import { Messages } from "../cli/messages.ts";
import { cancelledTurn } from "../cli/outcome.ts";
import { TimeLimits } from "../cli/time-limits.ts";
import { type ContentCheck, contentCheckOf } from "../content-schema.ts";
import type { Launcher } from "../launcher.ts";
import { schemaOf } from "../prompts/answers.ts";
import { standardPrompts } from "../prompts/prompts.ts";
import { makeWorkDirectory } from "../work-directory.ts";
import { Conversation } from "./conversation.ts";
import { failureOf, stopFailure, unanswered } from "./failures.ts";
import { type McpServers, startMcpServers } from "./mcp-servers.ts";
import { TurnLog } from "./turn-log.ts";
import { workspaceTools } from "./workspace-tools.ts";

/** What all model seats of a session share. */
export interface ModelAgentParts {
  readonly launcher: Launcher;
  readonly settings: CliSettings;
  /** The adapter for a role's model. Fails with `configuration`. */
  readonly adapterFor: (role: Role) => Promise<Fallible<ProviderAdapter>>;
}

/** An answer that cannot be read is asked for as often again. */
const MAX_REPAIRS = 2;

/** Requests of one asking, of which each may call tools. */
const MAX_STEPS = 200;

/**
 * Fills seats with models behind an API (seed 3 in the seats of the others). A turn is one conversation with tools on the workspace, within the role's
 * permissions; there is no process but those that its tools start. What ends it otherwise than with an answer is a failure by the table of causes.
 */
export function modelAgent(parts: ModelAgentParts): Agent {
  return { turn: (request, context) => takeTurn(parts, request, context) };
}

async function takeTurn(parts: ModelAgentParts, request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  if (context.signal.aborted) return cancelledTurn(request);
  const adapter = await parts.adapterFor(request.role);
  if (!adapter.ok) return { failure: adapter.error, refused: [] };
  const made = makeWorkDirectory(request.payload.artifacts_dir);
  if (!made.ok) return { failure: made.error, refused: [] };
  const turn = new ModelTurn(parts, request, context, await contentCheckOf(request.role));
  try {
    await context.started();
    await turn.run(adapter.value);
    return turn.result();
  } catch (error) {
    return turn.result(error);
  } finally {
    await turn.close();
  }
}

class ModelTurn {
  readonly #request: TurnRequest;
  readonly #context: TurnContext;
  readonly #parts: ModelAgentParts;
  readonly #log: TurnLog;
  readonly #messages: Messages;
  readonly #limits: TimeLimits;
  /** Aborted by the session, or with the name of the limit that has passed. */
  readonly #stopped = new AbortController();
  readonly #cancel = () => this.#stopped.abort("cancelled");
  readonly #began = performance.now();
  #servers: McpServers | undefined;

  constructor(parts: ModelAgentParts, request: TurnRequest, context: TurnContext, check: ContentCheck | undefined) {
    this.#parts = parts;
    this.#request = request;
    this.#context = context;
    this.#log = new TurnLog(request, context, parts.settings, new Conversation(request, context.secrets));
    this.#messages = new Messages(request, (event) => context.emit(event), check);
    this.#limits = new TimeLimits(
      { ...request, answer_grace_ms: 0 },
      () => false,
      (cause) => this.#stopped.abort(cause),
    );
    context.signal.addEventListener("abort", this.#cancel);
    this.#limits.start();
  }

  async run(adapter: ProviderAdapter): Promise<void> {
    const { role, payload } = this.#request;
    const prompts = this.#parts.settings.prompts ?? standardPrompts();
    const { conversation } = this.#log;
    this.#context.emit({ kind: "conversation", id: conversation.id });
    if (conversation.isLost) this.#log.show("The earlier conversation is not there any more. A new one begins.");
    const tools = await this.#tools();
    const format = { type: "json", schema: schemaOf(payload), name: "answer" } as const;
    const runner = new TurnRunner(participantOf(role, adapter), {
      maxSteps: MAX_STEPS,
      // What one call changes, another reads.
      toolConcurrency: 1,
      trace: (event) => this.#log.note(event),
    });
    const tokens = payload.limits?.remaining_tokens;
    const budget = tokens === undefined ? undefined : new TokenBudget(tokens);
    const history: ChatMessage[] = [...conversation.past];
    const given = conversation.isLost ? inNewConversation(this.#request) : this.#request;
    const prompt = prompts.render(given, { schema: tools !== undefined || !isHeld(role) });
    let asked = [prompt, ...(this.#servers?.troubles ?? [])].join("\n\n");
    for (let tries = 0; ; tries += 1) {
      const isRepair = tries > 0;
      const said = await this.#ask(runner, history, asked, {
        ...defined({ tools, budget }),
        // While tools may be called, no form is asked for: the prompt holds it, and an answer that does not fit is asked for in that form.
        ...(tools && isRepair ? { toolChoice: "none" as const } : {}),
        ...(role.structured_output !== "none" && (!tools || isRepair) ? { responseFormat: format } : {}),
      });
      history.push({ role: "user", content: asked }, ...(said.turn.steps ?? []), said.message);
      if (said.finishReason === "length") throw new ProviderError("length", "its answer was cut");
      if (said.finishReason === "refusal") throw new ProviderError("refusal", said.message.content);
      if (this.#messages.read(said.message.content) === "answer") return;
      const refused = this.#messages.refused.at(-1);
      if (refused === undefined || tries === MAX_REPAIRS) return;
      asked = prompts.repair(refused);
    }
  }

  /** What came of the turn, given what it threw. */
  result(thrown?: unknown): TurnResult {
    const { answer, refused } = this.#messages;
    const last = refused.at(-1);
    const none = last && unanswered(this.#request, last, MAX_REPAIRS + 1);
    const failed = answer ? undefined : thrown === undefined ? none : this.#failureOf(thrown);
    const { usage, held: tokens, conversation } = this.#log;
    return {
      refused,
      ...defined({ answer, failure: failed, usage }),
      conversation: { id: conversation.id, ...defined({ tokens }) },
    };
  }

  async close(): Promise<void> {
    this.#limits.end();
    this.#context.signal.removeEventListener("abort", this.#cancel);
    await this.#servers?.close();
    await this.#log.close();
  }

  async #tools(): Promise<Tools | undefined> {
    const { launcher, settings } = this.#parts;
    const { environment, closed, kill_grace_ms, max_output_bytes } = settings;
    const limits = { kill_grace_ms, max_output_bytes };
    const turn = { request: this.#request, context: this.#context, launcher, environment, closed, ...limits };
    this.#servers = await startMcpServers(turn, (line) => this.#log.keep(line));
    for (const trouble of this.#servers.troubles) this.#log.show(trouble);
    const whileWaiting = <T>(answer: Promise<T>) => this.#whileWaiting(answer);
    const own = seesWorkspace(this.#request.role) ? [workspaceTools({ ...turn, whileWaiting })] : [];
    const all = [...own, ...this.#servers.tools];
    return all.length === 0 ? undefined : combinedTools(...all);
  }

  async #ask(
    runner: TurnRunner,
    history: readonly ChatMessage[],
    content: string,
    options: TurnOptions,
  ): Promise<Said> {
    const asked: UserMessage = { role: "user", content };
    this.#log.conversation.add(asked);
    for await (const chunk of runner.streamTurn(history, asked, { ...options, signal: this.#stopped.signal })) {
      this.#limits.activity();
      this.#log.take(chunk);
      if (chunk.type === "turn") return chunk.result;
    }
    throw new Error("A turn ended without its result: this is a bug.");
  }

  async #whileWaiting<T>(answer: Promise<T>): Promise<T> {
    this.#limits.suspend();
    try {
      return await answer;
    } finally {
      this.#limits.proceed();
    }
  }

  #failureOf(thrown: unknown): Failure {
    const now = milliseconds(this.#request.at) + performance.now() - this.#began;
    const { aborted, reason } = this.#stopped.signal;
    return aborted
      ? stopFailure(String(reason), this.#request, this.#log.hasAnswered)
      : failureOf(thrown, this.#request, now);
  }
}

/** Whether its server holds an answer to a schema. Servers of one's own do so badly, or not at all. */
function isHeld({ structured_output = "schema", provider }: Role): boolean {
  return structured_output === "schema" && provider !== "openai-compatible";
}

function participantOf(role: Role, adapter: ProviderAdapter): Participant {
  const { role_id: name, model = "", system_prompt, temperature, max_output_tokens } = role;
  return {
    name,
    model,
    adapter,
    modelConfig: defined({ temperature, maxOutputTokens: max_output_tokens }),
    systemPrompts: system_prompt === undefined ? [] : [{ role: "system", content: system_prompt }],
  };
}
