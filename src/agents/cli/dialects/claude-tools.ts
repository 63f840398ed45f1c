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
  const tool = TOOLS.get(block.name);
  return firstLine(
    tool === undefined ? block.name : `${tool.does} ${subjectOf(tool, objectOf(block.input), workspace)}`,
  );
}

interface Tool {
  /** What it does, before what it is about: `edit src/limit.ts`. */
  readonly does: string;
  /** The member of its input that it is about; without one, its file. */
  readonly about?: string;
  /** The kind of permission that it asks for; without one, `other`. */
  readonly kind?: AskedPermission["kind"];
  /** The member that a person sees whole. */
  readonly whole?: string;
  /** The members that its line or its details show, or that change nothing; without them, all. */
  readonly shown?: readonly string[];
}

const TOOLS: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  [
    "Bash",
    { does: "$", about: "command", kind: "run", whole: "command", shown: ["command", "description", "timeout"] },
  ],
  ["Edit", { does: "edit", kind: "write" }],
  ["NotebookEdit", { does: "edit", kind: "write" }],
  ["Write", { does: "write", kind: "write", whole: "content", shown: ["file_path", "content"] }],
  ["Read", { does: "read", kind: "read", shown: ["file_path", "offset", "limit", "pages"] }],
  ["Glob", { does: "search", about: "pattern" }],
  ["Grep", { does: "search", about: "pattern" }],
  ["WebFetch", { does: "fetch", about: "url", kind: "fetch", shown: ["url", "prompt"] }],
  ["WebSearch", { does: "search the web:", about: "query", kind: "fetch", shown: ["query"] }],
  ["Agent", { does: "subagent:", about: "description" }],
  ["Task", { does: "subagent:", about: "description" }],
  ["AskUserQuestion", { does: "asks a question" }],
]);

/** What a tool asks to do. Claude Code has granted what the role's permissions allow, so a person decides the rest. */
export function permissionFor(asked: JsonObject, workspace: string): AskedPermission {
  const input = objectOf(asked.input);
  const name = textOf(asked.tool_name);
  const tool: Tool = TOOLS.get(name) ?? { does: "use" };
  const { does, kind = "other", whole, shown = Object.keys(input) } = tool;
  const path = pathIn(input, workspace);
  const all = kind === "write" ? JSON.stringify(input, null, 2) : "";
  return {
    kind,
    action:
      kind === "other"
        ? `use: ${name} ${JSON.stringify(input)}`
        : `${does.endsWith(":") ? does : `${kind}:`} ${subjectOf(tool, input, workspace)}`,
    whole: whole === undefined ? all : textOf(input[whole]),
    why: textOf(input.description) || textOf(asked.decision_reason),
    places: path === "" ? [] : [path],
    extras: extrasIn(input, shown, workspace),
  };
}

function subjectOf({ about }: Tool, input: JsonObject, workspace: string): string {
  return about === undefined ? pathIn(input, workspace) : textOf(input[about]);
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
