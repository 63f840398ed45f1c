import { countOf, isCount, type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { oneLine } from "../cli/messages.ts";
import type { Usage } from "../../protocol/payload.ts";
import { sumOf } from "../usage.ts";

/** What is known about a tool call so far. */
export interface ToolCall {
  readonly title: string;
  readonly kind: string;
  readonly input: JsonObject;
  /** What is to be shown of it, such as a patch. */
  readonly content: readonly Json[];
  readonly locations: readonly Json[];
}

const NEW_CALL = { title: "", kind: "other", input: {}, content: [], locations: [], shown: false };

/**
 * Reads an agent's updates while it works (`session/update`). Agents send different fields and newer ones send more, so each field is read separately
 * and unknown ones are ignored.
 */
export class Updates {
  /** The agent's text since its last tool call: its answer, in the end. */
  #text = "";
  readonly #calls = new Map<string, ToolCall & { readonly shown: boolean }>();
  readonly #show: (line: string) => void;
  /** The input of the tool with which claude-agent-acp gives an answer that fits a schema. */
  structured: JsonObject | undefined;
  /** Number of tokens in the conversation. */
  tokens: number | undefined;
  /** Cost of the conversation so far, in US dollars. */
  cost: number | undefined;

  /** Whether a prompt was sent. Updates before it only replay the past. */
  #isBegun = false;

  constructor(show: (line: string) => void) {
    this.#show = (line) => {
      if (this.#isBegun) show(line);
    };
  }

  get text(): string {
    return this.#text;
  }

  /** Call before sending a prompt: forgets earlier text. */
  begin(): void {
    this.#isBegun = true;
    this.#text = "";
    this.structured = undefined;
  }

  take(update: JsonObject): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (!isNotice(update)) this.#text += textOf(update.content);
        return;
      // A loaded conversation is replayed from its beginning.
      case "user_message_chunk":
        this.#text = "";
        return;
      case "tool_call":
      case "tool_call_update":
        this.call(update);
        return;
      case "usage_update":
        this.#usage(update);
        return;
      default:
    }
  }

  /** Takes a report of a tool call, from an update or a permission request. Returns all that is known about the call. */
  call(told: JsonObject): ToolCall {
    const id = typeof told.toolCallId === "string" ? told.toolCallId : "";
    if (!this.#calls.has(id)) this.#endOfText();
    const known = this.#calls.get(id) ?? NEW_CALL;
    const call = {
      title: typeof told.title === "string" && told.title !== "" ? told.title : known.title,
      kind: typeof told.kind === "string" ? told.kind : known.kind,
      input: hasKeys(told.rawInput) ? told.rawInput : known.input,
      content: listOf(told.content ?? known.content),
      locations: listOf(told.locations ?? known.locations),
      shown: known.shown,
    };
    const structured = isStructuredOutput(told) || call.title === "StructuredOutput";
    if (structured && hasKeys(told.rawInput)) this.structured = told.rawInput;
    const isTold = told.status === "in_progress" || told.status === "completed" || told.status === "failed";
    const shown = call.shown || structured || isTold || hasKeys(told.rawInput);
    const line = lineOf(call);
    if (shown && !call.shown && !structured && line !== "") this.#show(line);
    if (told.status === "failed") this.#show(oneLine(`failed: ${listOf(told.content).map(innerText).join(" ")}`));
    this.#calls.set(id, { ...call, shown });
    return call;
  }

  /** Text before a tool call is shown; text after the last one is the answer. */
  #endOfText(): void {
    if (this.#text.trim() !== "") this.#show(this.#text.trim());
    this.#text = "";
  }

  #usage({ used, cost }: JsonObject): void {
    if (typeof used === "number") this.tokens = used;
    const { amount, currency } = objectOf(cost);
    if (typeof amount === "number" && currency === "USD") this.cost = amount;
  }
}

/** The command of a call that runs one, whatever its kind. Some agents report it only as the title. */
export function commandOf({ kind, input: { command }, title }: ToolCall): string | undefined {
  // One word can be the name of an editor's command: `view`.
  const isShell = typeof command === "string" ? /\s/.test(command.trim()) : Array.isArray(command);
  if (kind !== "execute" && !isShell) return undefined;
  return typeof command === "string" ? command : title;
}

function lineOf(call: ToolCall): string {
  const command = commandOf(call);
  return oneLine(command === undefined ? call.title : `$ ${command}`);
}

/** claude-agent-acp sends its own notices among the model's text. */
function isNotice({ _meta }: JsonObject): boolean {
  return objectOf(objectOf(_meta).claudeCode).kind === "informational";
}

function isStructuredOutput({ _meta, name }: JsonObject): boolean {
  return name === "StructuredOutput" || objectOf(objectOf(_meta).claudeCode).toolName === "StructuredOutput";
}

function hasKeys(value: Json | undefined): value is JsonObject {
  return Object.keys(objectOf(value)).length > 0;
}

function innerText(part: Json): string {
  return textOf(objectOf(part).content);
}

function textOf(content: Json | undefined): string {
  const { type, text } = objectOf(content);
  return type === "text" && typeof text === "string" ? text : "";
}

/**
 * The usage of one prompt, from its response. `_meta.quota` counts the requests of all models, of which claude-agent-acp leaves some out of `usage`;
 * gemini reports nothing else.
 */
export function countsOf({ usage, _meta }: JsonObject): Usage | undefined {
  const { model_usage, token_count } = objectOf(objectOf(_meta).quota);
  const byModel = listOf(model_usage).map((model) => countsIn(objectOf(objectOf(model).token_count)));
  const known = byModel.filter((counts) => counts !== undefined);
  if (known.length > 0 && known.length === byModel.length) return sumOf(known);
  return countsIn(objectOf(usage)) ?? countsIn(objectOf(token_count));
}

/** Some agents leave cached tokens out of the input; their total is then the sum of all counts. */
function countsIn(told: JsonObject): Usage | undefined {
  const input = told.inputTokens ?? told.input_tokens;
  const output = told.outputTokens ?? told.output_tokens;
  const read = told.cachedReadTokens ?? told.cachedInputTokens;
  if (!isCount(input) || !isCount(output)) return undefined;
  const cached = countOf(read) + countOf(told.cachedWriteTokens);
  const isLeftOut = isCount(told.totalTokens) && told.totalTokens >= input + output + cached;
  return {
    input_tokens: input + (isLeftOut ? cached : 0),
    output_tokens: output,
    ...(isCount(read) ? { cached_tokens: read } : {}),
  };
}
