import { randomUUID } from "node:crypto";
import type { Permission } from "../../../kernel/agent.ts";
import { defined, type Json, type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { parseLine } from "../../../protocol/limits.ts";
import { milliseconds } from "../../../protocol/timestamp.ts";
import { type Complaint, complaintIn } from "../../causes/complaint.ts";
import { causeOf, failureOf, failureOnStderr, type Program } from "../../causes/failures.ts";
import type { Row } from "../../causes/rows.ts";
import { answered } from "../../permissions/decision.ts";
import { Messages, OPENING_BRACE } from "../messages.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";
import { ClaudeLimits, retryLine } from "./claude-limits.ts";
import { permissionFor, progressLine } from "./claude-tools.ts";
import { ClaudeUsage } from "./claude-usage.ts";
import type { DialectTurn, Port, Reader, ReadOutput } from "./dialect.ts";
import { askingAnswer } from "./questions.ts";

/** What only Claude Code says. */
const ROWS: readonly Row[] = [
  { cause: "flag", words: /unknown option|--json-schema is not|argument '.*' is invalid|cannot be used with root/ },
];

const HINTS: NonNullable<Program["hints"]> = {
  login: "Start claude as the user who runs Bosun and use /login, or set ANTHROPIC_API_KEY. Then release the role.",
  requests: "Give it smaller tasks, or add --max-turns=N to the role's cli_command.",
};

/** Reads the stream of one Claude Code process. Unknown events are kept in the raw output only. */
export class ClaudeReader implements Reader {
  readonly #turn: DialectTurn;
  readonly #converses: boolean;
  readonly #messages: Messages;
  readonly #usage = new ClaudeUsage();
  readonly #limits = new ClaudeLimits();
  #port: Port | undefined;
  #conversation: string | undefined;
  #result: JsonObject | undefined;
  /** Claude Code's own name for the server's last failure. */
  #error: Json | undefined;
  /** The last retry that Claude Code told. */
  #retry: string | undefined;
  /** The text of the conversation's last message, which arrives in a block for each event. */
  #last = { id: "", text: "" };
  /** The ids of notes that Claude Code has not read yet. */
  readonly #unread = new Set<string>();

  constructor(turn: DialectTurn, converses: boolean) {
    this.#turn = turn;
    this.#converses = converses;
    this.#messages = new Messages(turn.request, turn.emit, turn.check);
  }

  connect(port: Port): void {
    this.#port = port;
    if (!this.#converses) return;
    port.hear((note) => {
      const uuid = randomUUID();
      this.#unread.add(uuid);
      port.say(userLine(note, uuid));
    });
  }

  read(line: Buffer, cut: boolean): ReturnType<Reader["read"]> {
    if (line[0] !== OPENING_BRACE) return "console";
    const parsed = cut ? undefined : parseLine(line);
    return parsed?.ok === true ? this.#take(parsed.value) : "message";
  }

  end(end: RunEnd, stderr_tail: string): ReadOutput {
    const { answer, refused } = this.#messages;
    const { request, prompts } = this.#turn;
    const id = this.#conversation;
    const before = this.#turn.repair?.conversation ?? request.conversation;
    const total = this.#usage.total() ?? before?.total;
    const told = {
      refused,
      usage: this.#usage.used(before?.total),
      conversation: id === undefined ? undefined : { id, ...this.#usage.context(), ...(total ? { total } : {}) },
      quota: this.#limits.quota(),
    };
    if (answer !== undefined) return { ...told, answer };
    const failure = this.#failure(end, stderr_tail);
    const last = refused.at(-1);
    const repair = failure === undefined && last !== undefined ? prompts.repair(last) : undefined;
    return { ...told, failure, last_error: this.#retry, repair, gone: this.#lostConversation() };
  }

  /** Why the process gave no answer. Undefined if its exit code is enough, or if it succeeded and its answer was refused. */
  #failure(end: RunEnd, stderr_tail: string): Failure | undefined {
    const program: Program = { who: nameOf(this.#turn.request), now: this.#turn.now(), rows: ROWS, hints: HINTS };
    if (this.#result !== undefined) {
      return this.#result.is_error === true ? failureOf(this.#complaint(this.#result), program) : undefined;
    }
    if (end.exit?.code !== 0) return failureOnStderr(stderr_tail, program);
    return failure("no_answer", `${program.who} exited with code 0 and gave no result.`, {
      hint: "The file events.ndjson of the turn holds everything that it said.",
    });
  }

  /** Claude Code's message if the conversation to continue does not exist or is full, so that the turn needs a new one. */
  #lostConversation(): string | undefined {
    if (this.#result?.is_error !== true) return undefined;
    const complaint = this.#complaint(this.#result);
    const [words = ""] = complaint.words;
    return words.startsWith("No conversation found") || causeOf(complaint) === "context" ? `${words}.` : undefined;
  }

  #complaint(result: JsonObject): Complaint {
    const now = this.#turn.now();
    const { subtype, terminal_reason, stop_reason, api_error, api_error_status, errors } = result;
    const said = textOf(listOf(errors)[0]) || (textOf(result.result).trimStart().split("\n", 1)[0] ?? "");
    const kinds = [this.#error, api_error, subtype, terminal_reason, stop_reason].map((kind) => ({ kind }));
    const complaint = complaintIn([...kinds, { api_error_status, message: said }], now);
    const { resets_at, wait_ms } = this.#limits.told();
    const wait = wait_ms === undefined || !complaint.numbers.includes(429) ? undefined : now + wait_ms;
    const reset = resets_at === undefined ? undefined : Math.max(now, milliseconds(resets_at));
    return { ...complaint, retry_at: reset ?? complaint.retry_at ?? wait };
  }

  #take(event: JsonObject): "message" | "answer" | "over" {
    switch (textOf(event.type)) {
      case "system":
        this.#system(event);
        break;
      case "assistant":
        this.#assistant(event);
        break;
      case "user":
        if (event.isReplay === true) this.#unread.delete(textOf(event.uuid));
        break;
      case "rate_limit_event":
        this.#limits.heard(objectOf(event.rate_limit_info));
        break;
      case "control_request":
        // Without an open stdin, nothing can be replied.
        return this.#converses ? this.#control(event) : "message";
      case "result":
        return this.#end(event);
    }
    return "message";
  }

  #system(event: JsonObject): void {
    const { subtype, session_id } = event;
    if (subtype === "init" && typeof session_id === "string" && this.#conversation !== session_id) {
      this.#conversation = session_id;
      this.#turn.emit({ kind: "conversation", id: session_id });
    }
    if (subtype === "api_retry") {
      this.#limits.retried(event);
      this.#retry = retryLine(event);
      this.#turn.show(this.#retry);
    }
  }

  #assistant(event: JsonObject): void {
    const message = objectOf(event.message);
    const ofConversation = event.parent_tool_use_id == null;
    if (event.error !== undefined) {
      // The failure of a subagent is not the reason why the turn ends.
      if (ofConversation) this.#error = event.error;
      return;
    }
    this.#usage.heard(message, ofConversation);
    if (ofConversation) this.#hear(message);
    for (const block of listOf(message.content)) {
      const line = progressLine(objectOf(block), this.#turn.request.payload.workspace);
      if (line !== undefined) this.#turn.show(line);
    }
  }

  #hear({ id, content }: JsonObject): void {
    const text = listOf(content)
      .map((block) => textOf(objectOf(block).text))
      .join("");
    this.#last = { id: textOf(id), text: this.#last.id === id ? this.#last.text + text : text };
  }

  #end(event: JsonObject): "message" | "answer" | "over" {
    this.#result = event;
    this.#usage.ended(event);
    if (!this.#converses) this.#tellDenied(listOf(event.permission_denials).map(objectOf));
    // A note that came too late for this answer is read next, and the answer to both follows.
    if (this.#unread.size > 0 && event.is_error !== true && this.#messages.answer === undefined) return "message";
    this.#close();
    if (this.#messages.answer !== undefined) return "message";
    if (event.is_error === true) return "over";
    const { structured_output, result } = event;
    // The result is only the last block of the message, and sometimes empty.
    const text = this.#last.text.includes(textOf(result)) ? this.#last.text : textOf(result);
    return this.#messages.read(text, structured_output);
  }

  /** Where it may not ask, it says only at its end what it denied by itself: that is put on record, and told to whoever reviews. */
  #tellDenied(denied: readonly JsonObject[]): void {
    const { request } = this.#turn;
    const port = this.#port;
    if (port === undefined) return;
    for (const { tool_name, tool_input } of denied) {
      const wanted = permissionFor(defined({ tool_name, input: tool_input }), request.payload.workspace);
      void answered(wanted, "claude", request, port.permit);
    }
  }

  /** A question ends the turn; for a permission, the program waits. */
  #control(event: JsonObject): "message" | "answer" {
    const { request_id } = event;
    const asked = objectOf(event.request);
    if (typeof request_id !== "string") return "message";
    if (asked.subtype !== "can_use_tool") {
      this.#respond({ subtype: "error", request_id, error: "Bosun does not do this." });
      return "message";
    }
    const input = objectOf(asked.input);
    const reply = (response: JsonObject) => this.#respond({ subtype: "success", request_id, response });
    if (asked.tool_name === "AskUserQuestion") return this.#question(input, reply);
    const { request } = this.#turn;
    const port = this.#port;
    if (port === undefined) return "message";
    const wanted = permissionFor(asked, request.payload.workspace);
    void answered(wanted, "claude", request, port.permit).then((permission) => reply(decision(permission, input)));
    return "message";
  }

  #question(input: JsonObject, reply: (response: JsonObject) => void): "message" | "answer" {
    const asking = askingAnswer(listOf(input.questions), this.#turn.request.payload.expects);
    if (asking === undefined) {
      reply({ behavior: "deny", message: "Nobody can be asked now. Decide by yourself, and say what you assumed." });
      return "message";
    }
    const taken = this.#messages.take(asking);
    reply({ behavior: "deny", message: "The answer comes with the next prompt.", interrupt: true });
    this.#close();
    return taken;
  }

  #respond(response: JsonObject): void {
    this.#port?.say(`${JSON.stringify({ type: "control_response", response })}\n`);
  }

  /** Ends stdin, so that the program exits. Later replies are dropped, even if a permission is granted. */
  #close(): void {
    this.#port?.close();
    this.#port = undefined;
  }
}

function decision({ granted, notes }: Permission, input: JsonObject): JsonObject {
  if (granted) return { behavior: "allow", updatedInput: input };
  return {
    behavior: "deny",
    message: notes === undefined ? "It was not permitted." : `It was not permitted: ${notes}`,
  };
}

/** A message of the person, on stdin. With an id, its replay has the same. */
export function userLine(text: string, uuid?: string): string {
  const message = { role: "user", content: [{ type: "text", text }] };
  return `${JSON.stringify({ type: "user", message, ...defined({ uuid }) })}\n`;
}
