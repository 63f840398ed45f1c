import type { ChatMessage, UserMessage } from "../../harness/messages.ts";
import { type Participant, type ProviderAdapter, ProviderError } from "../../harness/provider.ts";
import { combinedTools, type Tools } from "../../harness/tools.ts";
import type { TraceEvent } from "../../harness/trace.ts";
import { type TurnResult as Said, TurnRunner } from "../../harness/turn-runner.ts";
import { sumOfUsage, TokenBudget, type Usage as TokenUsage } from "../../harness/usage.ts";
import type { Agent, TurnContext, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import type { Usage } from "../../protocol/payload.ts";
import { type Role, seesWorkspace } from "../../protocol/roles.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import type { CliSettings } from "../cli/agent.ts";
import { Messages, oneLine } from "../cli/messages.ts";
import { cancelledTurn } from "../cli/outcome.ts";
import { TimeLimits } from "../cli/time-limits.ts";
import { TurnOutput } from "../cli/turn-output.ts";
import type { Launcher } from "../launcher.ts";
import { answerSchema } from "../prompts/answers.ts";
import { type Prompts, standardPrompts } from "../prompts/prompts.ts";
import { makeWorkDirectory } from "../work-directory.ts";
import { Conversation } from "./conversation.ts";
import { failureOf, stopFailure, unanswered } from "./failures.ts";
import { type McpServers, startMcpServers } from "./mcp-servers.ts";
import { Prose } from "./prose.ts";
import { workspaceTools } from "./workspace-tools.ts";

/** What all model seats of a session share. */
export interface ModelAgentParts {
  readonly launcher: Launcher;
  readonly settings: CliSettings;
  /** The adapter for a role's model. Fails with `configuration` or `authentication`. */
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
  const turn = new ModelTurn(parts, request, context, adapter.value);
  try {
    await context.started();
    await turn.run();
    return turn.result();
  } catch (error) {
    return turn.result(error);
  } finally {
    await turn.close();
  }
}

/** One turn of a model, from its request to its result. */
class ModelTurn {
  readonly #request: TurnRequest;
  readonly #context: TurnContext;
  readonly #parts: ModelAgentParts;
  readonly #adapter: ProviderAdapter;
  readonly #output: TurnOutput;
  readonly #messages: Messages;
  readonly #prose: Prose;
  readonly #limits: TimeLimits;
  /** Aborted by the session, or with the name of the limit that has passed. */
  readonly #stopped = new AbortController();
  readonly #cancel = () => this.#stopped.abort("cancelled");
  readonly #began = performance.now();
  readonly #usages: (TokenUsage | undefined)[] = [];
  #conversation: Conversation | undefined;
  /** The tokens of the latest request and its answer: what the conversation holds. */
  #held: number | undefined;
  #servers: McpServers | undefined;

  constructor(parts: ModelAgentParts, request: TurnRequest, context: TurnContext, adapter: ProviderAdapter) {
    this.#parts = parts;
    this.#request = request;
    this.#context = context;
    this.#adapter = adapter;
    this.#output = new TurnOutput(request, context, parts.settings);
    this.#messages = new Messages(request, (event) => context.emit(event));
    this.#prose = new Prose((line) => this.#show(line));
    this.#limits = new TimeLimits(
      { ...request, answer_grace_ms: 0 },
      () => false,
      (cause) => this.#stopped.abort(cause),
    );
    context.signal.addEventListener("abort", this.#cancel);
    this.#limits.start();
  }

  async run(): Promise<void> {
    const { role, payload } = this.#request;
    const prompts = this.#parts.settings.prompts ?? standardPrompts();
    const conversation = this.#openConversation();
    const tools = await this.#tools();
    const format = { type: "json", schema: answerSchema(payload.expects), name: "answer" } as const;
    const isHeld = role.structured_output !== "none";
    const runner = new TurnRunner(this.#participant(), {
      maxSteps: MAX_STEPS,
      // What one call changes, another reads.
      toolConcurrency: 1,
      trace: (event) => this.#noted(event),
    });
    const budget = payload.limits?.remaining_tokens;
    const history: ChatMessage[] = [...conversation.past];
    let asked = this.#prompt(prompts, tools !== undefined);
    for (let tries = 0; ; tries += 1) {
      const isRepair = tries > 0;
      const said = await this.#ask(runner, history, asked, {
        ...defined({ tools, budget: budget === undefined ? undefined : new TokenBudget(budget) }),
        // While tools may be called, no form is asked for: the prompt holds it, and an answer that does not fit is asked for in that form.
        ...(tools && isRepair ? { toolChoice: "none" as const } : {}),
        ...(isHeld && (!tools || isRepair) ? { responseFormat: format } : {}),
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
    const failed =
      thrown === undefined ? last && unanswered(this.#request, last, MAX_REPAIRS + 1) : this.#failureOf(thrown);
    const usage = usageOf(sumOfUsage(this.#usages));
    const id = this.#conversation?.id;
    return {
      refused,
      ...defined({ answer, failure: answer ? undefined : failed, usage }),
      ...(id === undefined ? {} : { conversation: { id, ...defined({ tokens: this.#held }) } }),
    };
  }

  async close(): Promise<void> {
    this.#limits.end();
    this.#context.signal.removeEventListener("abort", this.#cancel);
    await this.#servers?.close();
    this.#output.end();
    await this.#output.close();
  }

  #participant(): Participant {
    const { role_id: name, model = "", system_prompt, temperature, max_output_tokens } = this.#request.role;
    return {
      name,
      model,
      adapter: this.#adapter,
      modelConfig: defined({ temperature, maxOutputTokens: max_output_tokens }),
      systemPrompts: system_prompt === undefined ? [] : [{ role: "system", content: system_prompt }],
    };
  }

  #openConversation(): Conversation {
    const conversation = new Conversation(this.#request, this.#context.secrets);
    this.#conversation = conversation;
    this.#context.emit({ kind: "conversation", id: conversation.id });
    if (conversation.isLost) this.#show("The earlier conversation is not there any more. A new one begins.");
    return conversation;
  }

  async #tools(): Promise<Tools | undefined> {
    const { launcher, settings } = this.#parts;
    const { environment, closed, kill_grace_ms, max_output_bytes } = settings;
    const turn = {
      request: this.#request,
      context: this.#context,
      launcher,
      environment,
      closed,
      kill_grace_ms,
      max_output_bytes,
      whileWaiting: <T>(answer: Promise<T>) => this.#whileWaiting(answer),
    };
    this.#servers = await startMcpServers(turn, (line) => void this.#output.keep(line));
    for (const trouble of this.#servers.troubles) this.#show(trouble);
    const own = seesWorkspace(this.#request.role) ? [workspaceTools(turn)] : [];
    const all = [...own, ...this.#servers.tools];
    return all.length === 0 ? undefined : combinedTools(...all);
  }

  #prompt(prompts: Prompts, hasTools: boolean): string {
    const { structured_output = "schema", provider } = this.#request.role;
    // Servers of one's own are known to hold a schema badly, or not at all.
    const schema = hasTools || structured_output !== "schema" || provider === "openai-compatible";
    return [prompts.render(this.#request, { schema }), ...(this.#servers?.troubles ?? [])].join("\n\n");
  }

  async #ask(
    runner: TurnRunner,
    history: readonly ChatMessage[],
    content: string,
    options: Omit<Parameters<TurnRunner["streamTurn"]>[2] & object, "signal">,
  ): Promise<Said> {
    const asked: UserMessage = { role: "user", content };
    this.#conversation?.add(asked);
    for await (const chunk of runner.streamTurn(history, asked, { ...options, signal: this.#stopped.signal })) {
      this.#limits.activity();
      switch (chunk.type) {
        case "text":
          this.#prose.push(chunk.text);
          break;
        case "finish":
          this.#prose.end();
          this.#conversation?.add(chunk.response.message);
          break;
        case "toolCall":
          this.#prose.end();
          this.#show(oneLine(`${chunk.toolCall.name} ${wordsOf(chunk.toolCall.arguments)}`));
          break;
        case "toolResult": {
          const { id, name, result = null, error } = chunk.record;
          const told = error === undefined ? { value: result } : { value: error, isError: true as const };
          this.#conversation?.add({ role: "tool", content: [{ toolCallId: id, name, ...told }] });
          if (error !== undefined) this.#show(oneLine(`${name} failed: ${error}`));
          break;
        }
        case "turn":
          return chunk.result;
        case "reasoning":
        case "progress":
          break;
      }
    }
    throw new Error("A turn ended without its result: this is a bug.");
  }

  #noted(event: TraceEvent): void {
    if (event.type === "response") {
      const { message, finishReason, usage, warnings } = event.response;
      this.#usages.push(usage);
      this.#held = usage?.inputTokens === undefined ? undefined : usage.inputTokens + (usage.outputTokens ?? 0);
      void this.#output.keep(JSON.stringify({ message, finishReason, usage, warnings }));
    }
    if (event.type === "toolResult") void this.#output.keep(JSON.stringify(event.record));
    // A request that was refused cost nothing. What one cost that broke off is not known.
    const isRefused = event.type === "failure" && event.error instanceof ProviderError && event.error.details.status;
    if (event.type === "failure" && !isRefused) this.#usages.push(undefined);
  }

  async #whileWaiting<T>(answer: Promise<T>): Promise<T> {
    this.#limits.suspend();
    try {
      return await answer;
    } finally {
      this.#limits.proceed();
    }
  }

  #show(line: string): void {
    void this.#output.show("stdout", line);
  }

  #failureOf(thrown: unknown): Failure {
    const now = milliseconds(this.#request.at) + performance.now() - this.#began;
    const { aborted, reason } = this.#stopped.signal;
    return aborted
      ? stopFailure(String(reason), this.#request, this.#usages.length > 0)
      : failureOf(thrown, this.#request, now);
  }
}

/** Arguments of a call in one line, the long ones cut. */
function wordsOf(given: JsonObject): string {
  return Object.values(given)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .map((text) => (text.length > 80 ? `${text.slice(0, 80)}…` : text))
    .join(" ");
}

function usageOf({ inputTokens, outputTokens, cacheReadTokens }: TokenUsage): Usage | undefined {
  const usage = defined({ input_tokens: inputTokens, output_tokens: outputTokens, cached_tokens: cacheReadTokens });
  return Object.keys(usage).length === 0 ? undefined : usage;
}
