import type { ChatRequest, ChatResponse } from "./provider.ts";
import type { ToolCall } from "./messages.ts";
import type { ConversationTurn, ToolInvocationRecord } from "./transcript.ts";

/** What happens while participants talk, for logs and traces. `step` counts the requests of a turn from 1. */
export type TraceEvent = { readonly participant: string } & (
  | { readonly type: "request"; readonly step: number; readonly request: ChatRequest }
  | { readonly type: "response"; readonly step: number; readonly response: ChatResponse; readonly ms: number }
  | { readonly type: "failure"; readonly step: number; readonly error: unknown; readonly ms: number }
  | { readonly type: "toolCall"; readonly step: number; readonly toolCall: ToolCall }
  | { readonly type: "toolResult"; readonly step: number; readonly record: ToolInvocationRecord; readonly ms: number }
  | { readonly type: "turn"; readonly turn: ConversationTurn }
);

/** Is told every event as it happens. What it throws ends the turn. */
export type Trace = (event: TraceEvent) => void;
