import "./mcp/own-stdout.ts";
import type { Command } from "commander";
import { markerOfProcess } from "../agents/process-marker.ts";
import type { Environment } from "../config/found.ts";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { Action } from "./context/command.ts";
import { TOKEN_VARIABLE } from "./driver/act.ts";
import { newToken } from "./lookup/id.ts";
import { MEETING_TOOLS } from "./mcp/meeting-tools.ts";
import { serve } from "./mcp/server.ts";
import { SESSION_TOOLS } from "./mcp/session-tools.ts";

/** `bosun mcp`: serves tools and resources to an editor or an agent, which starts it, over stdin and stdout. */
export function register(_command: Command): Action<object> {
  return async (context) => {
    const { terminal } = context;
    // Codex gives its servers few variables, and not those that mark an agent's turn.
    const marked = { ...Object.fromEntries(markerOfProcess(process.ppid)), ...context.environment };
    const environment = withToken({ ...homeOfTurn(marked), ...marked });
    // What commands say to people goes to stderr.
    const out = terminal.err;
    await serve({ ...context, environment, terminal: { ...terminal, out, hasPerson: false, canRedraw: false } }, [
      ...SESSION_TOOLS,
      ...MEETING_TOOLS,
    ]);
    return ok(EXIT_DONE);
  };
}

/** Gives an agent in its turn a token under its role's id, if it has none. It is known by that once it has joined with it. */
function withToken(environment: Environment): Environment {
  const { BOSUN_MEETING_TOKEN = "", BOSUN_TURN_ID, BOSUN_ROLE_ID } = environment;
  const isAgent = BOSUN_MEETING_TOKEN === "" && BOSUN_TURN_ID !== undefined && BOSUN_ROLE_ID !== undefined;
  return isAgent ? { ...environment, [TOKEN_VARIABLE]: newToken(BOSUN_ROLE_ID) } : environment;
}

/** The home of the session in which an agent has its turn: agents do not see BOSUN_HOME, but are told the folder of their artifacts in it. */
function homeOfTurn({ BOSUN_SESSION_ID, BOSUN_ARTIFACTS_DIR = "" }: Environment): Environment {
  const [home = "", artifacts] = BOSUN_ARTIFACTS_DIR.split(`/sessions/${BOSUN_SESSION_ID}/`);
  return artifacts === undefined ? {} : { BOSUN_HOME: home };
}
