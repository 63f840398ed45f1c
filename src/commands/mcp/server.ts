import { type CallToolResult, Server } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { JsonObject } from "../../lib/json.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { catchStorage } from "../../store/storage-error.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { programVersion } from "../context/program.ts";
import { damageBehind } from "../lookup/damage.ts";
import { callTool, inputSchemaOf, type McpTool } from "./tool.ts";

/** A message may hold a plan. */
const MESSAGE_BYTES = 16 * 1024 * 1024;

const INSTRUCTIONS =
  "Bosun schedules crews of agents. A session carries out a requirement or a plan; session_status says what it needs from a person.";

/**
 * Serves tools and resources over stdin and stdout until stdin ends, one call after another. Resolves when the last call is done, even if its
 * client is gone.
 */
export async function serve(context: CommandContext, tools: readonly McpTool[]): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(work: () => Promise<Fallible<T>>): Promise<Fallible<T>> => {
    const done = last.then(() => catchStorage(work).catch((error: unknown) => damageBehind(context, error)));
    last = done.catch(() => {});
    return done;
  };
  const newServer = () => {
    const server = new Server(
      { name: "bosun", version: programVersion() },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler("tools/list", () => ({ tools: tools.map(listedTool) }));
    server.setRequestHandler("tools/call", async ({ params }) => {
      const given = (params.arguments ?? {}) as JsonObject;
      const done = await inOrder(() => callTool(tools, context, params.name, given));
      return done.ok ? resultOf(done.value) : refusalOf(context, done.error);
    });
    return server;
  };
  const wire = new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: MESSAGE_BYTES });
  const ended = new Promise<void>((resolve) => {
    context.terminal.input.once("end", resolve).once("close", resolve);
    process.stdout.once("error", () => resolve());
  });
  const told = ({ message }: Error) => context.terminal.err.line(`mcp: ${message}`);
  serveStdio(newServer, { transport: wire, onerror: told });
  await ended;
  await last;
}

function listedTool(tool: McpTool) {
  const { name, title, description, kind } = tool;
  const annotations = { readOnlyHint: kind === "shows", destructiveHint: kind === "decides", openWorldHint: false };
  return { name, title, description, inputSchema: inputSchemaOf(tool), annotations };
}

function resultOf(value: object): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: { ...value } };
}

/** A refusal is a result for the model, and no error of the protocol. */
function refusalOf({ terminal }: CommandContext, { code, message, hint }: Failure): CallToolResult {
  const next = hint === undefined ? undefined : localize(terminal.err, hint);
  const text = next === undefined ? message : `${message}\n${next}`;
  return {
    content: [{ type: "text", text }],
    structuredContent: { error: { code, message, hint: next } },
    isError: true,
  };
}
