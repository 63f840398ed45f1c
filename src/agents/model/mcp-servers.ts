import type { Client } from "@modelcontextprotocol/client";
import { mcpTools } from "../../harness/mcp.ts";
import type { Tools } from "../../harness/tools.ts";
import { type JsonObject, parsedObject } from "../../lib/json.ts";
import type { Role } from "../../protocol/roles.ts";
import type { RunListener, SupervisedRun } from "../cli/process.ts";
import { type ProgramTurn, startProgram } from "./programs.ts";

type McpServer = NonNullable<Role["mcp_servers"]>[string];
type Transport = Parameters<Client["connect"]>[0];
type Message = Parameters<Transport["send"]>[0];

/** Until a server has told its tools. */
const START_MS = 10_000;
/** A line of stdout holds a message, one of stderr words. */
const MESSAGE_BYTES = 16 * 1024 * 1024;
const WORDS_BYTES = 64 * 1024;

/** The MCP servers of a turn. They are gone when `close` resolves. */
export interface McpServers {
  readonly tools: readonly Tools[];
  /** Why a server has no tools in this turn, for the model and for people. */
  readonly troubles: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts the MCP servers of a role, all at once. One that fails, hangs or says nothing in time has no tools, and the turn goes on. `keep` gets what
 * they print that is no message.
 */
export async function startMcpServers(turn: ProgramTurn, keep: (line: string) => void): Promise<McpServers> {
  const stopped = new AbortController();
  const signal = AbortSignal.any([turn.context.signal, stopped.signal]);
  const runs: SupervisedRun[] = [];
  const troubles: string[] = [];
  const start = async ([name, server]: [string, McpServer]): Promise<Tools[]> => {
    const transport = new Pipes((line) => keep(`${name}: ${line}`));
    try {
      const { Client } = await import("@modelcontextprotocol/client");
      const started = await startProgram(turn, server, transport, { converses: true, signal });
      if (!started.ok) throw new Error(started.error.message);
      runs.push(started.value);
      const client = new Client({ name: "bosun", version: "1" });
      await client.connect(transport.of(started.value), { timeout: START_MS });
      return [only(name, server.tools, await mcpTools(name, client, { startTimeoutMs: START_MS }))];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      troubles.push(`The MCP server ${name} has no tools in this turn: ${why}${transport.lastWords}`);
      return [];
    }
  };
  const tools = await Promise.all(Object.entries(turn.request.role.mcp_servers ?? {}).map(start));
  return {
    tools: tools.flat(),
    troubles,
    async close() {
      stopped.abort();
      await Promise.all(runs.map((run) => run.ended));
    },
  };
}

/** The tools that the role names. Throws if the server lacks one. */
function only(server: string, names: readonly string[] | undefined, { definitions, execute }: Tools): Tools {
  if (names === undefined) return { definitions, execute };
  const chosen = definitions.filter(({ name }) => names.some((one) => name === `${server}__${one}`));
  const missing = names.find((one) => !chosen.some(({ name }) => name === `${server}__${one}`));
  if (missing !== undefined) throw new Error(`It has no tool ${JSON.stringify(missing)}.`);
  return { definitions: chosen, execute };
}

/** Messages to and from a supervised process, one in a line. What else it prints is kept. */
class Pipes implements Transport, RunListener {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  readonly #keep: (line: string) => void;
  #run: SupervisedRun | undefined;
  #lastWords = "";

  constructor(keep: (line: string) => void) {
    this.#keep = keep;
  }

  /** What it last said that is no message, to follow a sentence. */
  get lastWords(): string {
    return this.#lastWords === "" ? "" : ` It last said: ${this.#lastWords.slice(0, 500)}`;
  }

  of(run: SupervisedRun): this {
    this.#run = run;
    void run.ended.then(() => this.onclose?.());
    return this;
  }

  capOf(stream: "stdout" | "stderr"): number {
    return stream === "stdout" ? MESSAGE_BYTES : WORDS_BYTES;
  }

  line(stream: "stdout" | "stderr", bytes: Buffer): undefined {
    const text = bytes.toString("utf8");
    const message = stream === "stdout" ? messageIn(text) : undefined;
    if (message) this.onmessage?.(message as unknown as Message);
    if (message || text.trim() === "") return;
    this.#lastWords = text.trim();
    this.#keep(text);
  }

  async start(): Promise<void> {}

  async send(message: Message): Promise<void> {
    this.#run?.say(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#run?.stop("cancelled");
    await this.#run?.ended;
  }
}

function messageIn(line: string): JsonObject | undefined {
  const value = parsedObject(line);
  return value?.["jsonrpc"] === "2.0" ? value : undefined;
}
