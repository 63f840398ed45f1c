import "./mcp/own-stdout.ts";
import type { Command } from "commander";
import { markerOfProcess } from "../agents/process-marker.ts";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { serve } from "./mcp/server.ts";
import { SESSION_TOOLS } from "./mcp/session-tools.ts";

/** `bosun mcp`: serves tools and resources to an editor or an agent, which starts it, over stdin and stdout. */
export function register(_command: Command): Action<object> {
  return mcp;
}

async function mcp(context: CommandContext): Promise<Exit> {
  const { terminal } = context;
  const environment = { ...markOfParent(), ...context.environment };
  // What commands say to people goes to stderr.
  const out = terminal.err;
  await serve(
    { ...context, environment, terminal: { ...terminal, out, hasPerson: false, canRedraw: false } },
    SESSION_TOOLS,
  );
  return ok(EXIT_DONE);
}

/** What tells an agent's turn. Codex gives its servers few variables, and not these. */
function markOfParent(): Readonly<Record<string, string>> {
  return Object.fromEntries(markerOfProcess(process.ppid));
}
