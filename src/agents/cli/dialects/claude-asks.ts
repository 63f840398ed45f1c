import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { type Asked, extrasIn } from "../../permissions/decision.ts";
import { pathIn } from "./claude-lines.ts";

/** The members of a tool's input that its line or its details show, or that change nothing. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  Bash: ["command", "description", "timeout"],
  Read: ["file_path", "offset", "limit", "pages"],
  Write: ["file_path", "content"],
  WebFetch: ["url", "prompt"],
  WebSearch: ["query"],
};

/** What a tool asks to do. Claude Code has granted what the role's permissions allow, so a person decides the rest. */
export function permissionFor(asked: JsonObject, workspace: string): Asked {
  const input = objectOf(asked.input);
  const tool = textOf(asked.tool_name);
  const why = textOf(input.description) || textOf(asked.decision_reason);
  const extras = extrasIn(input, SHOWN[tool] ?? Object.keys(input), workspace);
  const path = pathIn(input, workspace);
  const places = path === "" ? [] : [path];
  const more = { why, places, extras };
  switch (tool) {
    case "Bash":
      return { kind: "run", action: `run: ${textOf(input.command)}`, whole: textOf(input.command), ...more };
    case "Edit":
    case "NotebookEdit":
      return { kind: "write", action: `write: ${path}`, whole: JSON.stringify(input, null, 2), ...more };
    case "Write":
      return { kind: "write", action: `write: ${path}`, whole: textOf(input.content), ...more };
    case "Read":
      return { kind: "read", action: `read: ${path}`, whole: "", ...more };
    case "WebFetch":
      return { kind: "fetch", action: `fetch: ${textOf(input.url)}`, whole: "", ...more };
    case "WebSearch":
      return { kind: "fetch", action: `search the web: ${textOf(input.query)}`, whole: "", ...more };
    default:
      return { kind: "other", action: `use: ${tool} ${JSON.stringify(input)}`, whole: "", ...more };
  }
}
