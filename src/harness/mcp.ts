import { type Json, type JsonObject, objectOf, textOf } from "../lib/json.ts";
import { inTime, MAX_TIMER_MS } from "../lib/time-limit.ts";
import { cleanToolName } from "./history.ts";
import type { ToolDefinition } from "./messages.ts";
import { limitedTools, type ToolLimits, ToolNotFoundError, type Tools } from "./tools.ts";

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** What is needed of a client of the Model Context Protocol. The `Client` of `@modelcontextprotocol/sdk` has this form. */
export interface McpClient {
  listTools(
    page?: { cursor?: string },
    options?: { signal?: AbortSignal },
  ): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | undefined }>;
  callTool(
    call: { name: string; arguments: Record<string, unknown> },
    resultSchema?: undefined,
    options?: { signal?: AbortSignal; timeout?: number },
  ): Promise<object>;
}

export interface McpToolOptions extends ToolLimits {
  /** Until the server has told its tools: 10 seconds if absent. */
  readonly startTimeoutMs?: number;
}

/** The tools of an MCP server, each called `<server>__<tool>`. Rejects if the server does not tell them in time. */
export async function mcpTools(server: string, client: McpClient, options: McpToolOptions = {}): Promise<Tools> {
  const { startTimeoutMs = 10_000, ...limits } = options;
  const what = `The MCP server ${server} did not tell its tools`;
  const told = await inTime(startTimeoutMs, what, (signal) => allTools(client, signal));
  const names = new Map<string, string>();
  const definitions = told.map(({ name, description = "", inputSchema }): ToolDefinition => {
    const ours = cleanToolName(`${server}__${name}`);
    if (names.has(ours)) throw new Error(`The MCP server ${server} has two tools that would be called ${ours}.`);
    names.set(ours, name);
    return { name: ours, description, parameters: inputSchema as JsonObject };
  });
  const execute: Tools["execute"] = async (ours, given, { signal }) => {
    const name = names.get(ours);
    if (name === undefined) throw new ToolNotFoundError(ours, [...names.keys()]);
    const call = { name, arguments: { ...given } };
    // The SDK has a limit of its own, 60 s, which must not come before ours.
    return valueOf(objectOf((await client.callTool(call, undefined, { signal, timeout: MAX_TIMER_MS })) as Json));
  };
  return limitedTools({ definitions, execute }, limits);
}

async function allTools(client: McpClient, signal: AbortSignal): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor }, { signal });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined && !signal.aborted);
  return tools;
}

/** The text of a result; what is no text is named. Throws what the server calls an error. */
function valueOf({ content, structuredContent, isError }: JsonObject): Json {
  const blocks = Array.isArray(content) ? (content as readonly Json[]).map(objectOf) : [];
  const texts = blocks.map(({ type, text, mimeType }) =>
    type === "text" ? textOf(text) : `[${textOf(type)} ${textOf(mimeType)}: not shown]`,
  );
  if (isError === true) throw new Error(texts.join("\n") || "The MCP server calls this an error, without saying why.");
  return structuredContent ?? texts.join("\n");
}
