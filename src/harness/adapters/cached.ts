import { type ChatRequest, type ChatResponse, chunksOf, type ProviderAdapter, streamOf } from "../provider.ts";
import { requestKey } from "./request-key.ts";

/** Where answers are kept: a `Map`, or something of the host's that lasts. */
export interface AnswerCache {
  get(key: string): ChatResponse | undefined | Promise<ChatResponse | undefined>;
  set(key: string, response: ChatResponse): unknown;
}

/** Asks another adapter once for each request. An answer from the cache used no tokens. Only whole answers are kept. */
export function cachedAdapter(inner: ProviderAdapter, cache: AnswerCache = new Map()): ProviderAdapter {
  const known = async (request: ChatRequest): Promise<ChatResponse | undefined> => {
    request.signal?.throwIfAborted();
    const response = await cache.get(requestKey(inner.id, request));
    return response && { ...response, usage: { inputTokens: 0, outputTokens: 0 } };
  };
  const keep = async (request: ChatRequest, response: ChatResponse) => {
    const isWhole = response.finishReason === "stop" || response.finishReason === "toolCalls";
    if (isWhole) await cache.set(requestKey(inner.id, request), response);
  };
  return {
    id: inner.id,
    async sendChat(request) {
      const before = await known(request);
      if (before) return before;
      const response = await inner.sendChat(request);
      await keep(request, response);
      return response;
    },
    async *streamChat(request) {
      const before = await known(request);
      for await (const chunk of before ? chunksOf(before) : streamOf(inner, request)) {
        request.signal?.throwIfAborted();
        if (chunk.type === "finish" && !before) await keep(request, chunk.response);
        yield chunk;
      }
    },
  };
}
