import type {
  AnyMessage,
  ClientContext,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";

/** What the agent sends unasked. */
export interface Handlers {
  readonly update: (update: JsonObject) => void;
  readonly permission: (request: RequestPermissionRequest) => Promise<RequestPermissionResponse>;
}

/**
 * Connects the ACP library to an agent whose lines arrive one by one. The library only gets well-formed requests, and responses to its own requests;
 * it would print others on the terminal. Updates bypass it, so that those before a response are handled before it.
 */
export class Connection {
  readonly #handlers: Handlers;
  readonly #say: (line: string) => void;
  /** The ids of requests without a response so far. */
  readonly #open = new Set<Json>();
  readonly #readable: ReadableStream<AnyMessage>;
  #incoming: ReadableStreamDefaultController<AnyMessage> | undefined;

  constructor(say: (line: string) => void, handlers: Handlers) {
    this.#say = say;
    this.#handlers = handlers;
    this.#readable = new ReadableStream({ start: (controller) => void (this.#incoming = controller) });
  }

  /** Runs `conversation` with the agent. Rejects with what it throws, or if the connection closes first. */
  async with<T>(conversation: (agent: ClientContext) => Promise<T>): Promise<T> {
    // Loaded on first use, because loading takes a tenth of a second.
    const { client } = await import("@agentclientprotocol/sdk");
    const writable = new WritableStream<AnyMessage>({ write: (message) => this.#send(message) });
    const connected = client({ name: "bosun" })
      .onRequest("session/request_permission", ({ params }) => this.#handlers.permission(params))
      .connectWith({ readable: this.#readable, writable }, conversation);
    return connected.finally(() => {
      this.#incoming = undefined;
    });
  }

  /** Takes a parsed line. Returns false if it is not a message. */
  take(message: unknown): boolean {
    if (!isJsonObject(message) || message.jsonrpc !== "2.0") return false;
    const { id, method } = message;
    if (method === "session/update") {
      this.#handlers.update(objectOf(objectOf(message.params).update));
      return true;
    }
    if (id === undefined || (typeof method === "string" ? !isId(id) : !this.#open.delete(id))) return true;
    this.#incoming?.enqueue(message as unknown as AnyMessage);
    return true;
  }

  /** Call when the agent's output has ended. */
  close(): void {
    this.#incoming?.close();
    this.#incoming = undefined;
  }

  #send(message: AnyMessage): void {
    if ("method" in message && "id" in message) this.#open.add(message.id ?? null);
    this.#say(`${JSON.stringify(message)}\n`);
  }
}

function isId(id: Json): boolean {
  return typeof id === "string" || typeof id === "number" || id === null;
}
