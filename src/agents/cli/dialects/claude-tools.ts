import { isAbsolute, relative } from "node:path";
import { type Json, type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { cut } from "../../../protocol/refusal.ts";
import { type AskedPermission, extrasIn } from "../../permissions/decision.ts";

const LINE_CHARACTERS = 200;

/** A short line that describes a part of a message. Undefined if there is nothing to show. */
export function progressLine(block: JsonObject, workspace: string): string | undefined {
  if (block.type === "text") return firstLine(block.text);
  if (block.type !== "tool_use" || typeof block.name !== "string" || block.name === "StructuredOutput")
    return undefined;
  const input = objectOf(block.input);
  return firstLine(toolWords(block.name, input, workspace));
}

/** What a tool does: `$ npm test`, `edit src/limit.ts`. */
function toolWords(name: string, input: JsonObject, workspace: string): string {
  const path = pathIn(input, workspace);
  switch (name) {
    case "Bash":
      return `$ ${textOf(input.command)}`;
    case "Edit":
    case "NotebookEdit":
      return `edit ${path}`;
    case "Write":
      return `write ${path}`;
    case "Read":
      return `read ${path}`;
    case "Glob":
    case "Grep":
      return `search ${textOf(input.pattern)}`;
    case "WebFetch":
      return `fetch ${textOf(input.url)}`;
    case "WebSearch":
      return `search the web: ${textOf(input.query)}`;
    case "Agent":
    case "Task":
      return `subagent: ${textOf(input.description)}`;
    case "AskUserQuestion":
      return "asks a question";
    default:
      return name;
  }
}

/** The members of a tool's input that its line or its details show, or that change nothing. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  Bash: ["command", "description", "timeout"],
  Read: ["file_path", "offset", "limit", "pages"],
  Write: ["file_path", "content"],
  WebFetch: ["url", "prompt"],
  WebSearch: ["query"],
};

/** What a tool asks to do. Claude Code has granted what the role's permissions allow, so a person decides the rest. */
export function permissionFor(asked: JsonObject, workspace: string): AskedPermission {
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

/** The file that a tool works on, relative to the workspace if it is inside. */
function pathIn(input: JsonObject, workspace: string): string {
  const path = textOf(input.file_path ?? input.notebook_path);
  if (!isAbsolute(path)) return path;
  const inside = relative(workspace, path);
  return inside.startsWith("..") ? path : inside;
}

function firstLine(text: Json | undefined): string | undefined {
  const [line = "", ...rest] = textOf(text).trim().split("\n");
  if (line === "") return undefined;
  return cut(rest.length > 0 ? `${line} …` : line, LINE_CHARACTERS);
}
