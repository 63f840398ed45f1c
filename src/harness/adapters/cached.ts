import type { ChatChunk, ChatRequest, ChatResponse, ProviderAdapter } from "../provider.ts";
import { chunksOf, responseOf, streamOf } from "../provider.ts";
import { requestKey } from "./request-key.ts";

/** Where answers are kept: a `Map`, or something of the host's that lasts. */
export interface AnswerCache {
  get(key: string): ChatResponse | undefined | Promise<ChatResponse | undefined>;
  set(key: string, response: ChatResponse): unknown;
}

/** Asks another adapter once for each request. An answer from the cache used no tokens. Only whole answers are kept. */
export function cachedAdapter(inner: ProviderAdapter, cache: AnswerCache = new Map()): ProviderAdapter {
  async function* streamChat(request: ChatRequest): AsyncGenerator<ChatChunk, void> {
    request.signal?.throwIfAborted();
    const key = requestKey(inner.id, request);
    const known = await cache.get(key);
    if (known) return yield* chunksOf({ ...known, usage: { inputTokens: 0, outputTokens: 0 } });
    for await (const chunk of streamOf(inner, request)) {
      if (chunk.type === "finish" && ["stop", "toolCalls"].includes(chunk.response.finishReason))
        await cache.set(key, chunk.response);
      yield chunk;
    }
  }
  return { id: inner.id, streamChat, sendChat: (request) => responseOf(streamChat(request)) };
}
