import type { ClientContext, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { defined, type Json, type JsonObject, objectOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { parseLine } from "../../../protocol/limits.ts";
import type { Usage } from "../../../protocol/payload.ts";
import type { Conversation } from "../../../protocol/record.ts";
import type { Refusal } from "../../../protocol/refusal.ts";
import { Connection } from "../../acp/connection.ts";
import { type AgentSession, chooseMode, chooseModel, introduce, openSession } from "../../acp/conversation.ts";
import { askedIn, optionFor } from "../../acp/permission.ts";
import { countsOf, Updates } from "../../acp/updates.ts";
import { complaintIn } from "../../causes/complaint.ts";
import { causeOf, failureFor, failureOf, failureOnStderr, type Program } from "../../causes/failures.ts";
import { answered } from "../../permissions/decision.ts";
import { sumOf } from "../../usage.ts";
import { Messages, OPENING_BRACE } from "../messages.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";
import {
  type Dialect,
  type DialectTurn,
  inNewConversation,
  type Port,
  type ProcessPlan,
  type Reader,
  type ReadOutput,
} from "./dialect.ts";

/** The Agent Client Protocol: JSON-RPC on stdin and stdout, for any agent of the backend `acp`. */
export const acp: Dialect = (turn) => spoken(turn, turn.request.role.cli_command ?? []);

/**
 * Gemini CLI over ACP. It is never told to trust the folder, so it asks for each change, and Bosun answers by the role's permissions; only the
 * folder's own hooks and agents stay off.
 */
export const gemini: Dialect = (turn) => {
  const { cli_command = [], model } = turn.request.role;
  const [program = "gemini", ...flags] = cli_command;
  const given = [...flags, ...(flags.includes("--acp") ? [] : ["--acp"])];
  return spoken(turn, [program, ...given, ...(model === undefined ? [] : ["--model", model])], true);
};

function spoken(turn: DialectTurn, command: readonly string[], modelIsChosen = false): ProcessPlan {
  return {
    command,
    // Agents leave files in their TMPDIR. With the other, commands of Claude Code begin where their requests say (claude.ts).
    environment: { CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR: "1", TMPDIR: turn.scratch() },
    input: "",
    converses: true,
    keepsLines: true,
    reader: new AcpReader(turn, modelIsChosen),
  };
}

/** Holds one turn's conversation with an agent. */
class AcpReader implements Reader {
  readonly #turn: DialectTurn;
  readonly #messages: Messages;
  readonly #updates: Updates;
  /** Whether the command names the model. */
  readonly #modelIsChosen: boolean;
  #connection: Connection | undefined;
  #session: AgentSession | undefined;
  /** The request that the agent has not answered yet. */
  #asked = "initialize";
  #counts: Usage | undefined;
  #failure: Failure | undefined;
  #gone: string | undefined;
  /** Whether the conversation is over, so that the agent's exit is expected. */
  #isOver = false;

  constructor(turn: DialectTurn, modelIsChosen: boolean) {
    this.#turn = turn;
    this.#modelIsChosen = modelIsChosen;
    this.#messages = new Messages(turn.request, turn.emit, turn.check);
    this.#updates = new Updates(turn.show);
  }

  connect(port: Port): void {
    this.#connection = new Connection(port.say, {
      update: (update) => this.#updates.take(update),
      permission: (request) => this.#permit(request, port),
    });
    void this.#converse(this.#connection).finally(() => port.close());
  }

  read(line: Buffer, cut: boolean): "console" | "message" {
    if (cut || line[0] !== OPENING_BRACE) return "console";
    const parsed = parseLine(line);
    return parsed.ok && this.#connection?.take(parsed.value) === true ? "message" : "console";
  }

  end({ cause, exit }: RunEnd, stderr_tail: string): ReadOutput {
    if (!this.#isOver && cause === "exited") {
      this.#failure = exit?.code === 0 ? this.#leftEarly() : failureOnStderr(stderr_tail, this.#program());
    }
    this.#isOver = true;
    this.#connection?.close();
    const { answer, refused } = this.#messages;
    return {
      answer,
      refused,
      failure: this.#failure,
      gone: this.#gone,
      usage: this.#usage(),
      conversation: this.#conversation(),
    };
  }

  async #converse(connection: Connection): Promise<void> {
    try {
      await connection.with((agent) => this.#takeTurn(agent));
    } catch (error) {
      // The agent is gone, which `end` reports.
      if (this.#isOver) return;
      this.#fail(error);
    }
    this.#isOver = true;
  }

  async #takeTurn(agent: ClientContext): Promise<void> {
    const { request, prompts, emit } = this.#turn;
    const { role, conversation } = request;
    const introduced = await introduce(agent);
    this.#asked = conversation === undefined ? "session/new" : "session/load";
    const session = await openSession(agent, introduced, request);
    if (session.id === "") {
      this.#failure = failure("agent_failed", `The agent of ${role.role_id} began a session without an id.`);
      return;
    }
    this.#session = session;
    emit({ kind: "conversation", id: session.id });
    this.#asked = "session/set_mode";
    await chooseMode(agent, session, role);
    this.#asked = "session/set_config_option";
    if (role.model !== undefined && !this.#modelIsChosen && !(await chooseModel(agent, session, role.model))) {
      this.#failure = noChoiceOfModel(role.role_id, role.model);
      return;
    }
    this.#asked = "session/prompt";
    const asked = session.goesOn ? request : inNewConversation(request);
    const prompt = prompts.render(asked, { schema: !session.knowsSchema });
    const refused = await this.#prompt(agent, session, prompt);
    if (refused !== undefined) await this.#prompt(agent, session, prompts.repair(refused));
  }

  /** Sends a prompt and takes its answer. Returns why the answer was refused, if it was. */
  async #prompt(agent: ClientContext, { id }: AgentSession, text: string): Promise<Refusal | undefined> {
    this.#updates.begin();
    const told = await agent.request("session/prompt", { sessionId: id, prompt: [{ type: "text", text }] });
    // The library does not check responses.
    const response = objectOf(told as unknown as Json);
    this.#count(response);
    const { structured, text: said } = this.#updates;
    this.#failure = this.#stopFailure(response.stopReason, said);
    if (this.#failure !== undefined) return undefined;
    return this.#messages.read(said, structured) === "answer" ? undefined : this.#messages.refused.at(-1);
  }

  /** Answers a permission request by the role's permissions, or as a person decides. */
  async #permit({ toolCall, options }: RequestPermissionRequest, port: Port): Promise<RequestPermissionResponse> {
    const { request } = this.#turn;
    const asked = askedIn(this.#updates.call(toolCall as unknown as JsonObject), request.payload.workspace);
    const { granted } = await answered(asked, "acp", request, port.permit);
    if (!granted) this.#turn.show(`denied: ${toolCall.title ?? "a tool"}`);
    const optionId = optionFor(granted, options);
    return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  }

  #fail(error: unknown): void {
    const { role, conversation } = this.#turn.request;
    if (!isAgentError(error)) {
      this.#failure = failure("internal", `The conversation with ${role.role_id} broke off: ${String(error)}.`);
      return;
    }
    const program = this.#program();
    const { code, message, data } = error;
    const failed = failureOf(complaintIn({ code, message, data }, program.now), program);
    const isGone = conversation !== undefined && this.#asked === "session/load" && failed.code === "agent_failed";
    if (isGone) this.#gone = `The conversation ${conversation.id} cannot be continued: ${error.message}.`;
    this.#failure = failed;
  }

  /** Why a prompt with this stop reason has no answer. The agent's text is only shown: what it says of limits holds no role. */
  #stopFailure(reason: Json | undefined, said: string): Failure | undefined {
    const program = this.#program();
    const cause = reason === "error" ? "unknown" : causeOf(complaintIn({ reason }, program.now));
    const words = reason === "error" && said.trim() !== "" ? [said.trim()] : [];
    return cause && failureFor(cause, { kinds: [], words, numbers: [] }, program);
  }

  #program(): Program {
    return { who: nameOf(this.#turn.request), now: this.#turn.now() };
  }

  #leftEarly(): Failure {
    const { role } = this.#turn.request;
    return failure("agent_failed", `${role.role_id} ended before it answered ${this.#asked}.`, {
      hint: "Is it an agent that speaks ACP? Many programs need a flag or an adapter for it.",
    });
  }

  #count(response: JsonObject): void {
    const counts = countsOf(response);
    this.#counts = counts && this.#counts ? sumOf([this.#counts, counts]) : counts;
  }

  /** The reported cost is for the whole conversation, so its earlier cost is subtracted. */
  #usage(): Usage | undefined {
    const { conversation } = this.#turn.request;
    const { cost } = this.#updates;
    const before = this.#session?.goesOn === true ? conversation?.total?.cost_usd : 0;
    const cost_usd = cost === undefined || before === undefined ? undefined : Math.max(0, cost - before);
    if (cost_usd === undefined) return this.#counts;
    return { ...this.#counts, cost_usd };
  }

  #conversation(): Conversation | undefined {
    if (this.#session === undefined) return undefined;
    const { tokens, cost } = this.#updates;
    return { id: this.#session.id, ...defined({ tokens, total: cost === undefined ? undefined : { cost_usd: cost } }) };
  }
}

function noChoiceOfModel(role_id: string, model: string): Failure {
  return failure("agent_failed", `The agent of ${role_id} offers no choice of models, so it cannot use ${model}.`, {
    hint: "Leave model out of the role, and name it in its cli_command or in the program's own settings.",
  });
}

/** An agent's error response to a request. */
function isAgentError(error: unknown): error is Error & { readonly code: number; readonly data?: Json } {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
