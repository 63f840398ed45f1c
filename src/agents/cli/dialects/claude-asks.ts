import type { PermissionRequest } from "../../../kernel/agent.ts";
import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { pathIn } from "./claude-lines.ts";

/** What a person is asked when a tool needs a permission. */
export function permissionFor(asked: JsonObject, workspace: string): PermissionRequest {
  const input = objectOf(asked.input);
  const action = actionOf(textOf(asked.tool_name), input, workspace);
  const details = detailsOf(textOf(asked.tool_name), input);
  const why = textOf(input.description) || textOf(asked.decision_reason);
  return { action, ...(details === undefined ? {} : { details }), ...(why === "" ? {} : { why }) };
}

function actionOf(tool: string, input: JsonObject, workspace: string): string {
  switch (tool) {
    case "Bash":
      // A line end separates commands, as a semicolon does.
      return `run: ${textOf(input.command)
        .trim()
        .replaceAll(/\s*\n\s*/g, "; ")}`;
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

/** What the action leaves out. */
function detailsOf(tool: string, input: JsonObject): string | undefined {
  const command = textOf(input.command);
  if (tool === "Bash") return command.includes("\n") ? command : undefined;
  if (tool === "Write") return textOf(input.content);
  return tool === "Edit" || tool === "NotebookEdit" ? JSON.stringify(input, null, 2) : undefined;
}
