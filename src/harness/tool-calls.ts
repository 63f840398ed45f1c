import { untilAborted } from "../lib/time-limit.ts";
import type { ToolCall, ToolResult } from "./messages.ts";
import type { ChatResponse } from "./provider.ts";
import type { ToolExecutor } from "./tools.ts";
import type { Trace } from "./trace.ts";
import type { ToolInvocationRecord } from "./transcript.ts";

export interface ToolHandling {
  /** Calls that are carried out at once, 4 if absent. */
  readonly toolConcurrency?: number;
  /** Whether an error of a tool is told to the model, which is the default, or ends the turn. */
  readonly onToolError?: "feedback" | "throw";
  readonly trace?: Trace;
}

interface Place extends ToolHandling {
  readonly participant: string;
  readonly step: number;
  readonly signal: AbortSignal | undefined;
}

/** The calls to carry out, each with an id of its own. What was cut off or refused is not carried out. */
export function callsIn({ message, finishReason }: ChatResponse): ToolCall[] {
  if (finishReason === "length" || finishReason === "refusal") return [];
  const ids = new Set<string>();
  return (message.toolCalls ?? []).map((call, index) => {
    const id = call.id === "" || ids.has(call.id) ? `${call.id}#${index}` : call.id;
    ids.add(id);
    return { ...call, id };
  });
}

/** Carries out calls, several at once. The records are in the order of the calls. */
export async function carriedOut(
  calls: readonly ToolCall[],
  execute: ToolExecutor,
  { toolConcurrency = 4, onToolError = "feedback", trace, participant, step, signal: given }: Place,
): Promise<ToolInvocationRecord[]> {
  const failed = new AbortController();
  const signal = given ? AbortSignal.any([given, failed.signal]) : failed.signal;
  const outcomeOf = async ({ id, name, arguments: args, malformed }: ToolCall) => {
    try {
      if (malformed !== undefined) throw new Error(`The arguments must be a JSON object, and are: ${malformed}`);
      return { result: await untilAborted(signal, async () => execute(name, args, { toolCallId: id, signal })) };
    } catch (error) {
      signal.throwIfAborted();
      if (onToolError === "throw") throw error;
      return { error: error instanceof Error ? error.message : String(error) };
    }
  };
  const records: ToolInvocationRecord[] = [];
  const queue = calls.entries();
  const worker = async () => {
    for (const [index, call] of queue) {
      const start = performance.now();
      trace?.({ type: "toolCall", participant, step, toolCall: call });
      const record = { id: call.id, name: call.name, arguments: call.arguments, ...(await outcomeOf(call)) };
      trace?.({ type: "toolResult", participant, step, record, ms: performance.now() - start });
      records[index] = record;
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.max(1, toolConcurrency) }, worker));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  return records;
}

export function resultOf({ id, name, result = null, error }: ToolInvocationRecord): ToolResult {
  return error === undefined
    ? { toolCallId: id, name, value: result }
    : { toolCallId: id, name, value: error, isError: true };
}
