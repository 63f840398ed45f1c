import type { IncomingHttpHeaders } from "node:http";
import type { Json, JsonObject } from "../../src/lib/json.ts";

export type ProtocolName = "anthropic" | "responses" | "chat" | "gemini";

/** A request to a model, whatever the protocol. */
export interface Conversation {
  readonly protocol: ProtocolName;
  /** The client's name for the conversation, or a digest of its first message. Requests of one process share it. */
  readonly id: string;
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** The schema of the answer, if the client asks for one in the request. */
  readonly schema?: JsonObject;
  readonly headers: IncomingHttpHeaders;
}

export type Message =
  | { readonly from: "user"; readonly text: string }
  | { readonly from: "model"; readonly text: string; readonly calls: readonly Call[] }
  | { readonly from: "tool"; readonly call_id: string; readonly text: string; readonly failed: boolean };

export interface Tool {
  readonly name: string;
  readonly schema: JsonObject;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The text of the input, if it is not its JSON: models write less, or half of it. */
  readonly written?: string;
}

/** What a tool is asked for, in words that `actions.ts` puts into each program's own. */
export type Action =
  | { readonly write: string; readonly content: string }
  /** Replaces whole lines. */
  | { readonly edit: string; readonly old: string; readonly new: string }
  | { readonly run: string }
  | { readonly ask: string; readonly options: readonly string[] }
  /** A tool by its own name. */
  | { readonly tool: string; readonly input: JsonObject; readonly namespace?: string };

/**
 * What a model does next:
 *
 * - `text`, `act`: says something, calls tools.
 * - `answer`: gives the structured answer, in the way that the client asks for.
 * - `status`: replies with an HTTP error.
 * - `refuse`: refuses, in the protocol's own form.
 * - `cut_off`: has no room for the rest of its answer.
 * - `drop`: closes the connection after part of the stream.
 * - `stream_error`: breaks off with an error in the stream.
 * - `hang`: never replies.
 */
export type Step = { readonly headers?: Readonly<Record<string, string>>; readonly usage?: Partial<TokenCount> } & (
  | { readonly text?: string; readonly act?: readonly Action[]; readonly reasoning?: string }
  | { readonly text?: string; readonly answer: Json }
  | { readonly status: number; readonly message?: string; readonly code?: string; readonly retry_after_s?: number }
  | { readonly refuse: string }
  | { readonly cut_off: string }
  | { readonly drop: string }
  | { readonly stream_error: string }
  | { readonly hang: true }
);

/** A brain: decides from the conversation so far. One that waits keeps its client waiting. */
export type Model = (conversation: Conversation) => Step | Promise<Step>;

/** `input` counts all that was sent, `cached` what the server had seen before in the same conversation. */
export interface TokenCount {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** One message of a model, before a protocol writes it. */
export interface Said {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly (Call & { readonly namespace?: string })[];
  readonly stop: "end" | "calls" | "refusal" | "length";
  readonly usage: TokenCount;
}

/** One event of a stream of server-sent events. */
export interface Chunk {
  readonly event?: string;
  readonly data: JsonObject | "[DONE]";
}

/** A path and a body in, a stream or one JSON object out. */
export interface Protocol {
  readonly name: ProtocolName;
  readonly path: RegExp;
  /** What a request says. */
  read(body: JsonObject, headers: IncomingHttpHeaders, path: string): Omit<Conversation, "protocol" | "headers">;
  /** Whether the client wants events. */
  streams(body: JsonObject, path: string): boolean;
  events(said: Said): readonly Chunk[];
  whole(said: Said): JsonObject;
  /** The body of an HTTP error. */
  error(status: number, message: string, code: string | undefined): JsonObject;
  /** The events of an error in the middle of a stream. */
  streamError(message: string): readonly Chunk[];
}
