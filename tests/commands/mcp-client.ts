import { existsSync, readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { built } from "../built.ts";
import type { Rig } from "./rig.ts";

/** What a tool answered. */
export interface Answered {
  readonly isError: boolean;
  readonly text: string;
  readonly value: JsonObject;
}

/** A client of `bosun mcp`, started from the workspace. */
export interface Connected {
  readonly client: Client;
  call(name: string, given?: Record<string, unknown>): Promise<Answered>;
  /** Every line that the server wrote to stdout. */
  lines(): string[];
  stderr(): string;
  /** Closes the server's stdin, and resolves when it has exited. */
  close(): Promise<void>;
}

/** Starts `bosun mcp` with these variables, by `starter` if it is given, and connects to it. */
export async function connect(
  here: Rig,
  env: Record<string, string> = {},
  starter: readonly string[] = [],
): Promise<Connected> {
  const copy = here.write(`stdout-${performance.now()}`, "");
  const transport = new StdioClientTransport({
    command: "sh",
    args: ["-c", '"$@" | tee "$0"', copy, ...starter, process.execPath, built("cli.js"), "mcp"],
    env: { ...here.environment, BOSUN_HOME: here.home, ...env },
    cwd: here.workspace,
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (bytes: Buffer) => (stderr += bytes.toString()));
  const client = new Client({ name: "test", version: "1" });
  const errors: Error[] = [];
  client.onerror = (error) => errors.push(error);
  await client.connect(transport, { timeout: 20_000 });
  const close = () => client.close();
  onTestFinished(close);
  return {
    client,
    async call(name, given = {}) {
      const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: given });
      const [first] = content;
      return { isError, text: first?.type === "text" ? first.text : "", value: structuredContent as JsonObject };
    },
    lines: () => (existsSync(copy) ? readFileSync(copy, "utf8").split("\n").slice(0, -1) : []),
    stderr: () => stderr,
    close,
  };
}
