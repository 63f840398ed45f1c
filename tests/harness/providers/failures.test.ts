import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { type ChatRequest, ProviderError } from "../../../src/harness/provider.ts";
import { providerAdapter } from "../../../src/harness/provider-adapter.ts";
import type { ProviderName } from "../../../src/harness/providers.ts";
import { ALL, eventsFor, KEY, type Reply, wire } from "./wire.ts";

const PROMPT = "What is the colour of the envelope on my desk?";
const REQUEST: ChatRequest = { model: "model-1", messages: [{ role: "user", content: PROMPT }] };
const LONG = { text: "Red. ".repeat(100) };

async function failureOf(provider: ProviderName, reply: Reply): Promise<ProviderError> {
  const adapter = await (await wire(provider, reply)).adapter();
  const error: unknown = await adapter.sendChat(REQUEST).catch((thrown: unknown) => thrown);
  if (!(error instanceof ProviderError)) throw new Error(`no ProviderError: ${JSON.stringify(error)}`);
  return error;
}

/** A server-sent stream from its bytes. */
function stream(...events: readonly string[]): Reply {
  return { body: events.join(""), type: "text/event-stream" };
}

const ERROR_BODY = '{"error":{"message":"The pool is full.","code":"full","type":"full"}}';

/** The event that says how the answer ends is the last one that comes, and its empty line does not. */
function withoutLastLine(provider: ProviderName): Reply {
  const after = { anthropic: 1, "openai-compatible": 2 }[provider as string] ?? 0;
  const events = eventsFor(provider, LONG);
  return stream(
    events
      .slice(0, events.length - after)
      .join("")
      .trimEnd(),
  );
}

const CASES: readonly (readonly [string, Reply | ((provider: ProviderName) => Reply), object])[] = [
  ["a status 400", { status: 400 }, { kind: "request", details: { status: 400 } }],
  ["a status 403", { status: 403 }, { kind: "authentication", details: { status: 403 } }],
  ["a status 413", { status: 413 }, { kind: "overflow", details: { status: 413 } }],
  [
    "a prompt that is too long",
    { status: 400, message: "This model's maximum context length is 8." },
    { kind: "overflow" },
  ],
  [
    "a key that is called wrong with status 400",
    { status: 400, message: "API key not valid." },
    { kind: "authentication" },
  ],
  ["a status 503", { status: 503 }, { kind: "server", details: { status: 503 } }],
  ["a status 529", { status: 529 }, { kind: "server", details: { status: 529 } }],
  [
    "a 429 that asks for milliseconds",
    { status: 429, headers: { "retry-after-ms": "1500", "retry-after": "9" } },
    { kind: "rateLimited", details: { retryAfterMs: 1500 } },
  ],
  [
    "a 429 that names a time, by the server's clock",
    {
      status: 429,
      headers: { "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", date: "Wed, 21 Oct 2015 07:28:00 GMT" },
    },
    { kind: "rateLimited", details: { retryAfterMs: 30_000 } },
  ],
  ["JSON with an error and status 200", { body: ERROR_BODY, type: "application/json" }, { kind: "server" }],
  ["HTML with status 200", { body: "<html></html>", type: "text/html" }, { kind: "server" }],
  ["an empty body with status 200", stream(), { kind: "server" }],
  ["an error as the first event", stream(`data: ${ERROR_BODY}\n\n`), { kind: "server" }],
  [
    "an error in the middle of a stream",
    { said: LONG, end: "error" },
    { kind: "server", message: expect.stringContaining("Broken.") },
  ],
  ["a connection that is cut in the middle of a stream", { said: LONG, end: "broken" }, { kind: "network" }],
  ["a stream that ends cleanly before its end", { said: LONG, end: "closed" }, { kind: "network" }],
  ["a last event without the empty line that ends it", withoutLastLine, { kind: "network" }],
  [
    "an event that is no JSON",
    (provider) => stream("data: {oops\n\n", ...eventsFor(provider, LONG)),
    { kind: "server" },
  ],
];

describe.each(ALL)("%s fails", (provider) => {
  it.each(CASES)("for %s", async (_, reply, expected) => {
    const error = await failureOf(provider, typeof reply === "function" ? reply(provider) : reply);
    expect(error).toMatchObject(expected);
  });
});

describe.each(ALL)("an error of %s", (provider) => {
  it("has no wait if the server names none", async () => {
    expect((await failureOf(provider, { status: 429 })).details).not.toHaveProperty("retryAfterMs");
  });

  it("holds neither the key nor the prompt, though the server repeats both", async () => {
    const message = `No access with key ${KEY} for: ${PROMPT}`;
    for (const reply of [
      { status: 401, message },
      { body: `data: ${JSON.stringify({ error: { message } })}\n\n`, type: "text/event-stream" },
    ]) {
      const { message, details, cause, stack } = await failureOf(provider, reply);
      const whole = JSON.stringify([message, details, cause, stack]);
      expect(whole).not.toContain(KEY);
      expect(whole).not.toContain(PROMPT);
      expect(cause).toBeUndefined();
    }
  });

  it("names provider, model and address, and is cut if the server says much", async () => {
    const { message } = await failureOf(provider, { status: 500, message: "No room. ".repeat(100) });
    expect(message).toMatch(
      new RegExp(`^${provider} \\(model-1 at http://127\\.0\\.0\\.1:\\d+/v1(beta)?\\): No room\\..*\\(HTTP 500\\)$`),
    );
    expect(message.length).toBeLessThan(500);
  });

  it("is one of the network if nobody listens", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const adapter = await providerAdapter({
      provider,
      model: "m",
      apiKey: KEY,
      baseURL: `http://127.0.0.1:${port}/v1`,
    });
    const error: unknown = await adapter.sendChat(REQUEST).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "network", message: expect.stringContaining("ECONNREFUSED") });
  });
});
