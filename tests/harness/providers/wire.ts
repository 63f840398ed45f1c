import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { providerAdapter } from "../../../src/harness/provider-adapter.ts";
import type { ProviderAdapter } from "../../../src/harness/provider.ts";
import { type ModelAddress, type ProviderName, PROVIDERS } from "../../../src/harness/providers.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { anthropic } from "../../model-servers/anthropic.ts";
import { parsedObject } from "../../model-servers/bodies.ts";
import { chat } from "../../model-servers/chat.ts";
import type { Chunk, Protocol, Said } from "../../model-servers/conversation.ts";
import { gemini } from "../../model-servers/gemini.ts";
import { responses } from "../../model-servers/responses.ts";
import { line } from "../../model-servers/server.ts";

/** All providers, for tables of cases. */
export const ALL = Object.keys(PROVIDERS) as ProviderName[];

/** The protocol that each provider speaks. */
const PROTOCOL: Readonly<Record<ProviderName, Protocol>> = {
  anthropic,
  openai: responses,
  xai: responses,
  gemini,
  "openai-compatible": chat,
};

/** What a server does with a request, down to the bytes. */
export type Reply =
  /** A message. `end` says how its stream ends: `broken` and `closed` leave out its last events, `error` puts one in their place. */
  | { readonly said: Partial<Said>; readonly end?: "whole" | "broken" | "closed" | "error" }
  | {
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Status 200, whatever was asked. */
  | { readonly body: string; readonly type: string }
  /** Nothing. */
  | { readonly hang: (closed: Promise<void>) => void };

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
}

/** A server of one protocol on loopback. */
export interface Wire {
  readonly url: string;
  readonly asked: Asked[];
  adapter(more?: Partial<ModelAddress>): Promise<ProviderAdapter>;
}

export const KEY = "sk-secret-0123456789";

/** Answers each request with the next reply, or always with the only one. */
export async function wire(provider: ProviderName, ...replies: readonly Reply[]): Promise<Wire> {
  const protocol = PROTOCOL[provider];
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ path: request.url ?? "", headers: request.headers, body: parsedObject(body) });
      const reply = replies[Math.min(asked.length, replies.length) - 1];
      if (reply) send(protocol, reply, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${provider === "gemini" ? "/v1beta" : "/v1"}`;
  const address = { provider, model: "model-1", apiKey: KEY, baseURL: url };
  return { url, asked, adapter: (more) => providerAdapter({ ...address, ...more }) };
}

/** The events of a message, each as its bytes. */
export function eventsFor(provider: ProviderName, more: Partial<Said>): string[] {
  return eventsOf(PROTOCOL[provider], said(more)).map(line);
}

function said(more: Partial<Said> = {}): Said {
  const usage = { input: 12, cached: 0, output: 5 };
  const stop = (more.calls ?? []).length > 0 ? "calls" : "end";
  return { id: "1", model: "model-1", text: "", reasoning: "", calls: [], stop, usage, ...more };
}

/** The program of Gemini gets one event; the API sends several. */
function eventsOf(protocol: Protocol, whole: Said): readonly Chunk[] {
  if (protocol !== gemini) return protocol.events(whole);
  const begin = gemini.whole({ ...whole, calls: [], stop: "end" });
  const [{ finishReason: _, ...candidate } = {}] = begin.candidates as JsonObject[];
  const sign: Chunk = { data: { ...begin, candidates: [] } };
  return [{ data: { ...begin, candidates: [candidate] } }, sign, sign, ...gemini.events({ ...whole, text: "" })];
}

function send(protocol: Protocol, reply: Reply, response: ServerResponse): void {
  if ("hang" in reply) {
    reply.hang(new Promise((resolve) => response.once("close", resolve)));
    return;
  }
  if ("status" in reply) {
    const { status, message = "No.", code, headers } = reply;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(protocol.error(status, message, code)));
    return;
  }
  if ("body" in reply) {
    response.writeHead(200, { "content-type": reply.type }).end(reply.body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = eventsOf(protocol, said(reply.said));
  const { end = "whole" } = reply;
  if (end === "whole") response.end(events.map(line).join(""));
  else if (end === "error")
    response.end([...events.slice(0, -3), ...protocol.streamError("Broken.")].map(line).join(""));
  else {
    response.write(events.slice(0, -3).map(line).join(""), () =>
      end === "closed" ? response.end() : response.destroy(),
    );
  }
}
