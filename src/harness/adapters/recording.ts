import { untilAborted } from "../../lib/time-limit.ts";
import type {
  ChatRequest,
  ChatResponse,
  ProviderAdapter,
  ProviderErrorDetails,
  ProviderErrorKind,
} from "../provider.ts";
import { ProviderError, responseOf, streamOf } from "../provider.ts";
import { requestKey } from "./request-key.ts";

/** One request and what came of it. Survives a round trip through JSON. */
export interface Exchange {
  readonly key: string;
  readonly request: Omit<ChatRequest, "signal">;
  readonly response?: ChatResponse;
  readonly error?: {
    readonly kind: ProviderErrorKind;
    readonly message: string;
    readonly details: ProviderErrorDetails;
  };
}

/** Asks another adapter and hands over each exchange, which the host keeps where it likes. What was aborted is no exchange. */
export function recordingAdapter(inner: ProviderAdapter, keep: (exchange: Exchange) => void): ProviderAdapter {
  const record = (asked: ChatRequest, came: Pick<Exchange, "response" | "error">) => {
    const { signal: _, ...request } = asked;
    keep(structuredClone({ key: requestKey(inner.id, request), request, ...came }));
  };
  async function* streamChat(request: ChatRequest) {
    try {
      for await (const chunk of streamOf(inner, request)) {
        if (chunk.type === "finish") record(request, { response: chunk.response });
        yield chunk;
      }
    } catch (error) {
      if (error instanceof ProviderError) {
        const { kind, message, details } = error;
        record(request, { error: { kind, message, details } });
      }
      throw error;
    }
  }
  return { id: inner.id, streamChat, sendChat: (request) => responseOf(streamChat(request)) };
}

/** Answers as the adapter with this id did: equal requests in the order in which they were recorded, and no other. */
export function playingAdapter(id: string, exchanges: Iterable<Exchange>): ProviderAdapter {
  const left = new Map<string, Exchange[]>();
  for (const exchange of exchanges) left.set(exchange.key, [...(left.get(exchange.key) ?? []), exchange]);
  const answerTo = async (request: ChatRequest): Promise<ChatResponse> => {
    const found = left.get(requestKey(id, request))?.shift();
    if (found?.error) throw new ProviderError(found.error.kind, found.error.message, found.error.details);
    if (found?.response) return found.response;
    throw new Error(`This request to ${request.model} was not recorded, or not this often: ${lastOf(request)}`);
  };
  return {
    id,
    sendChat: (request) => (request.signal ? untilAborted(request.signal, () => answerTo(request)) : answerTo(request)),
  };
}

function lastOf({ messages }: ChatRequest): string {
  return JSON.stringify(messages.at(-1) ?? null).slice(0, 200);
}
