import { isAbsolute, relative } from "node:path";
import { type Json, type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { cut } from "../../../protocol/refusal.ts";

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

/** The line for a request to the model that is retried. */
export function retryLine({ attempt, max_retries, retry_delay_ms, error_status }: JsonObject): string {
  const wait = typeof retry_delay_ms === "number" ? `${Math.ceil(retry_delay_ms / 1_000)} s` : "a moment";
  const why = typeof error_status === "number" ? `the server answered ${error_status}` : "the server did not answer";
  return `${why}; tries again in ${wait} (${Number(attempt)} of ${Number(max_retries)})`;
}

/** The file that a tool works on, relative to the workspace if it is inside. */
export function pathIn(input: JsonObject, workspace: string): string {
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
