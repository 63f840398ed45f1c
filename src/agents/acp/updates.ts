import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";

const SHOWN_CHARACTERS = 200;

/** What is known about a tool call so far. */
interface ToolCall {
  readonly title: string;
  readonly kind: string;
  readonly input: JsonObject;
  readonly shown: boolean;
}

const NEW_CALL: ToolCall = { title: "", kind: "other", input: {}, shown: false };

/**
 * Reads an agent's updates while it works (`session/update`). Agents send different fields and newer ones send more, so each field is read separately
 * and unknown ones are ignored.
 */
export class Updates {
  /** The agent's text since its last tool call: its answer, in the end. */
  #text = "";
  readonly #calls = new Map<string, ToolCall>();
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
  call(told: JsonObject): Pick<ToolCall, "title" | "kind" | "input"> {
    const id = typeof told.toolCallId === "string" ? told.toolCallId : "";
    const known = this.#calls.get(id);
    if (known === undefined) this.#endOfText();
    const call: ToolCall = {
      title: typeof told.title === "string" && told.title !== "" ? told.title : (known ?? NEW_CALL).title,
      kind: typeof told.kind === "string" ? told.kind : (known ?? NEW_CALL).kind,
      input: hasKeys(told.rawInput) ? told.rawInput : (known ?? NEW_CALL).input,
      shown: known?.shown ?? false,
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

/** The command of a call that runs one. Some agents report it only as the title. */
export function commandOf({ kind, input, title }: Pick<ToolCall, "title" | "kind" | "input">): string | undefined {
  if (kind !== "execute") return undefined;
  return typeof input.command === "string" ? input.command : title;
}

function lineOf(call: ToolCall): string {
  const command = commandOf(call);
  return oneLine(command === undefined ? call.title : `$ ${command}`);
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS - 1)}…`;
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
