import { type CallToolResult, ResourceNotFoundError, Server } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { catchStorage } from "../../store/storage-error.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { programVersion } from "../context/program.ts";
import { damageBehind } from "../lookup/damage.ts";
import { listResources, readResource, RESOURCE_TEMPLATES } from "./resources.ts";
import { callTool, inputSchemaOf, type McpTool } from "./tool.ts";

/** A message may hold a plan. */
const MESSAGE_BYTES = 16 * 1024 * 1024;

const INSTRUCTIONS =
  "Bosun schedules crews of agents. A session carries out a requirement or a plan; session_status says what it needs from a person. By the other tools agents and people decide together.";

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
      { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler("tools/list", () => ({ tools: tools.map(listedTool) }));
    server.setRequestHandler("tools/call", async ({ params }) => {
      const given = (params.arguments ?? {}) as JsonObject;
      const done = await inOrder(() => callTool(tools, context, params.name, given));
      return done.ok ? resultOf(done.value) : refusalOf(done.error, context);
    });
    server.setRequestHandler("resources/list", async () => {
      const listed = await inOrder(() => listResources(context));
      return { resources: listed.ok ? listed.value : [] };
    });
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [...RESOURCE_TEMPLATES] }));
    server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
      const read = await inOrder(() => readResource(context, uri));
      if (read.ok) return { contents: [read.value] };
      throw new ResourceNotFoundError(uri, inWords(read.error, context));
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
  const { name, description, kind } = tool;
  // Codex asks before it calls what is destructive.
  const destructiveHint = kind === "runs" || kind === "decides";
  const annotations = { readOnlyHint: kind === "shows", destructiveHint, openWorldHint: false };
  return { name, description, inputSchema: inputSchemaOf(tool), annotations };
}

function resultOf(value: object): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: { ...value } };
}

/** A refusal is a result for the model, and no error of the protocol. */
function refusalOf(failure: Failure, context: CommandContext): CallToolResult {
  const { code, message, hint } = failure;
  return {
    content: [{ type: "text", text: inWords(failure, context) }],
    structuredContent: { error: { code, message, ...defined({ hint: hint && localize(context.terminal.err, hint) }) } },
    isError: true,
  };
}

function inWords({ message, hint }: Failure, { terminal: { err } }: CommandContext): string {
  return hint === undefined ? message : `${message}\n${localize(err, hint)}`;
}
