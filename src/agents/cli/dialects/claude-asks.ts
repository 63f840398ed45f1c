import type { PermissionRequest } from "../../../kernel/agent.ts";
import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { permissionRequest } from "../../permission-request.ts";
import { pathIn } from "./claude-lines.ts";

/** What to ask a person when a tool needs permission. */
export function permissionFor(asked: JsonObject, workspace: string): PermissionRequest {
  const input = objectOf(asked.input);
  const tool = textOf(asked.tool_name);
  const why = textOf(input.description) || textOf(asked.decision_reason);
  return permissionRequest(actionOf(tool, input, workspace), detailsOf(tool, input), why);
}

function actionOf(tool: string, input: JsonObject, workspace: string): string {
  switch (tool) {
    case "Bash":
      return `run: ${textOf(input.command)}`;
    case "Edit":
    case "NotebookEdit":
    case "Write":
      return `write: ${pathIn(input, workspace)}`;
    case "Read":
      return `read: ${pathIn(input, workspace)}`;
    case "WebFetch":
      return `fetch: ${textOf(input.url)}`;
    case "WebSearch":
      return `search the web: ${textOf(input.query)}`;
    default:
      return `use: ${tool} ${JSON.stringify(input)}`;
  }
}

/** What the call does, in full, where the action may leave something out. */
function detailsOf(tool: string, input: JsonObject): string {
  switch (tool) {
    case "Bash":
      // This differs from the same command within claude's own sandbox.
      return input.dangerouslyDisableSandbox === true ? JSON.stringify(input, null, 2) : textOf(input.command);
    case "Write":
      return textOf(input.content);
    case "Edit":
    case "NotebookEdit":
      return JSON.stringify(input, null, 2);
    default:
      return "";
  }
}
