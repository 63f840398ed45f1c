import type { Agent, Answer, TurnContext, TurnRequest, TurnResult } from "../kernel/agent.ts";
import { failure } from "../protocol/failure.ts";

/** Plays a scripted agent: returns its answer, or a whole result for a failure, a refusal or a bad exit. */
export type ScriptedHandler = (
  request: TurnRequest,
  context: TurnContext,
) => Answer | TurnResult | Promise<Answer | TurnResult>;

/**
 * An agent inside this process, for tests, simulation and benchmarks. Cancelling and `timeout_ms` end its turns; a handler that throws gives
 * `agent_failed`. There is no process to start, so `started` is not called.
 */
export function scriptedAgent(handler: ScriptedHandler): Agent {
  return { turn: (request, context) => play(handler, request, context) };
}

async function play(handler: ScriptedHandler, request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  const { signal } = context;
  const { role_id } = request.role;
  if (signal.aborted) return cancelled(role_id);
  const interrupted = Promise.withResolvers<TurnResult>();
  const cancel = () => interrupted.resolve(cancelled(role_id));
  signal.addEventListener("abort", cancel);
  const timer =
    request.timeout_ms > 0 ? setTimeout(() => interrupted.resolve(timedOut(request)), request.timeout_ms) : undefined;
  try {
    return await Promise.race([answer(handler, request, context), interrupted.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}

async function answer(handler: ScriptedHandler, request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  try {
    const result = await handler(request, context);
    return "payload_type" in result ? { answer: result, refused: [] } : result;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      failure: failure("agent_failed", `The script of role ${request.role.role_id} failed: ${reason}`, {
        hint: "Correct the script.",
      }),
      refused: [],
    };
  }
}

function cancelled(role_id: string): TurnResult {
  return { failure: failure("cancelled", `The turn of role ${role_id} was cancelled.`), refused: [] };
}

function timedOut({ role, timeout_ms }: TurnRequest): TurnResult {
  return {
    failure: failure("timeout", `The script of role ${role.role_id} did not finish within ${timeout_ms / 1_000} s.`, {
      hint: "Raise timeout_s of the role.",
    }),
    refused: [],
  };
}
