import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "../../src/lib/json.ts";
import { anthropic } from "./anthropic.ts";
import { parsedObject } from "./bodies.ts";
import { chat } from "./chat.ts";
import type { Chunk, Conversation, Model, Protocol, Said, Step, TokenCount } from "./conversation.ts";
import { gemini } from "./gemini.ts";
import { responses } from "./responses.ts";
import { saidBy } from "./said.ts";
import { sideAnswer } from "./side.ts";
import { addUp, TokenCounter } from "./tokens.ts";

const PROTOCOLS: readonly Protocol[] = [anthropic, responses, chat, gemini];

/** What was asked and what was replied. */
export interface Exchange {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Where the request was sent to, by its Host header. */
  readonly host: string;
  readonly conversation?: Conversation;
  readonly body: JsonObject;
  readonly step?: Step;
  /** A title or a classification, which the model is not asked for. */
  readonly side: boolean;
  /** What the client was told that it used. */
  readonly usage?: TokenCount;
}

/**
 * A model server on loopback that speaks four protocols: Anthropic's Messages, OpenAI's Responses and Chat Completions, and Google's
 * generateContent. One brain, `model`, answers for all of them.
 */
export class ModelServer {
  readonly url: string;
  /** All exchanges, in the order of their requests. A request without a reply stands without its step. */
  readonly exchanges: Exchange[] = [];
  /** Called when an exchange is known. */
  heard: (exchange: Exchange) => void = () => {};
  model: Model;
  readonly #server: Server;
  readonly #tokens = new TokenCounter();

  /** Answers requests that are not the work. */
  readonly #aside: typeof sideAnswer;

  private constructor(server: Server, model: Model, aside: typeof sideAnswer) {
    this.#server = server;
    this.#aside = aside;
    this.model = model;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The programs ask for other things, too; model seats do not (`aside: () => undefined`). */
  static async start(
    model: Model,
    { port = 0, aside = sideAnswer }: { port?: number; aside?: typeof sideAnswer } = {},
  ): Promise<ModelServer> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
    const started = new ModelServer(server, model, aside);
    server.on("request", (request, response) => void started.#take(request, response).catch(crash));
    return started;
  }

  /** What the clients tell that they used, of all conversations or of those that fit: of side requests, claude tells the titles by ACP. */
  usage(which: (conversation: Conversation) => boolean = () => true): TokenCount {
    const counted = this.exchanges.filter(({ side, conversation, step = {} }) => {
      const isTold = !side || (conversation?.protocol === "anthropic" && "answer" in step);
      return isTold && conversation !== undefined && which(conversation);
    });
    return addUp(counted.flatMap(({ usage }) => usage ?? []));
  }

  /** The conversations in the order of their first requests, each as it was asked last. */
  conversations(): Conversation[] {
    const known = this.exchanges.flatMap(({ side, conversation }) => (side ? [] : (conversation ?? [])));
    return [...new Map(known.map((conversation) => [conversation.id, conversation])).values()];
  }

  /** Refuses connections for a while, then listens at the same port again. */
  async refuse(ms: number): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    await this.close();
    await delay(ms);
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const [path = ""] = (request.url ?? "").split("?");
    // A client that was killed in the middle of its request has nothing to hear.
    const body = await text(request).then(parsedObject, () => undefined);
    if (body === undefined) return;
    const heard = { at: Date.now(), method, path, host: headers.host ?? "", body };
    const protocol = PROTOCOLS.find((known) => known.path.test(path));
    if (protocol === undefined || method !== "POST") {
      this.#note({ ...heard, side: true });
      response.writeHead(method === "HEAD" ? 200 : 404).end();
      return;
    }
    const conversation = { ...protocol.read(body, headers, path), protocol: protocol.name, headers };
    const aside = this.#aside(conversation, protocol.streams(body, path));
    const place = this.exchanges.push({ ...heard, conversation, side: aside !== undefined }) - 1;
    const step = aside ?? (await this.model(conversation));
    const said = saidBy(step, conversation, this.#tokens.count(conversation, body, step, aside !== undefined));
    const usage = said !== undefined && !("drop" in step) ? { usage: said.usage } : {};
    const exchange = { ...heard, conversation, side: aside !== undefined, step, ...usage };
    this.exchanges[place] = exchange;
    this.heard(exchange);
    this.#reply(protocol, step, said, protocol.streams(body, path), response);
  }

  #note(exchange: Exchange): void {
    this.exchanges.push(exchange);
    this.heard(exchange);
  }

  #reply(protocol: Protocol, step: Step, said: Said | undefined, streams: boolean, response: ServerResponse): void {
    for (const [name, value] of Object.entries(step.headers ?? {})) response.setHeader(name, value);
    response.setHeader("request-id", `req_${this.exchanges.length}`);
    if ("hang" in step) return;
    if ("status" in step) {
      const { status, message = `the model server says ${status}`, code, retry_after_s } = step;
      if (retry_after_s !== undefined) response.setHeader("retry-after", String(retry_after_s));
      sendJson(response, status, protocol.error(status, message, code));
      return;
    }
    if (said === undefined) return;
    if (!streams) {
      if ("drop" in step) response.destroy();
      else sendJson(response, 200, protocol.whole(said));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const events = protocol.events(said);
    if ("drop" in step) {
      // All but the last three events: a part of a message, and no end.
      response.write(
        events
          .slice(0, Math.max(1, events.length - 3))
          .map(line)
          .join(""),
        () => response.destroy(),
      );
    } else if ("stream_error" in step) {
      response.end([...events.slice(0, 1), ...protocol.streamError(step.stream_error)].map(line).join(""));
    } else {
      response.end(events.map(line).join(""));
    }
  }
}

export function line({ event, data }: Chunk): string {
  const named = event === undefined ? "" : `event: ${event}\n`;
  return `${named}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A brain that throws is a bug of the test: it ends the process instead of keeping a client waiting. */
function crash(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
