import { relative } from "node:path";
import { type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";
import { cut } from "../../../protocol/refusal.ts";

const LINE_CHARACTERS = 200;

/** One line for people that describes an item. Undefined for items that mean nothing to them. Accepts both of codex's protocols. */
export function itemLine(item: JsonObject, workspace: string): string | undefined {
  switch (item["type"]) {
    case "command_execution":
    case "commandExecution":
      return oneLine(`$ ${plainCommand(textOf(item["command"]))}`);
    case "file_change":
    case "fileChange":
      return oneLine(
        changesOf(item, workspace)
          .map(({ verb, path }) => `${verb} ${path}`)
          .join(", "),
      );
    case "reasoning":
      return oneLine(textOf(item["text"]) || listOf(item["summary"]).map(textOf).join(" "));
    case "agent_message":
    case "agentMessage":
      return oneLine(withoutJson(textOf(item["text"])));
    case "mcp_tool_call":
    case "mcpToolCall":
      return oneLine(`${textOf(item["server"])}.${textOf(item["tool"])}`);
    case "web_search":
    case "webSearch":
      return oneLine(`search ${textOf(item["query"])}`);
    default:
      return undefined;
  }
}

export function isCommand({ type }: JsonObject): boolean {
  return type === "command_execution" || type === "commandExecution";
}

/** Whether an item is a tool call, after which codex asks the model again. */
export function isCall({ type }: JsonObject): boolean {
  return /^(?:command_?execution|file_?change|mcp_?tool_?call|web_?search)$/i.test(textOf(type));
}

/** The files that an item changes, relative to the workspace if they are inside. */
export function changesOf(item: JsonObject, workspace: string): { verb: string; path: string; diff: string }[] {
  return listOf(item["changes"]).map((change) => {
    const { path, kind, diff } = objectOf(change);
    const type = textOf(objectOf(kind)["type"]) || textOf(kind);
    const absolute = textOf(path);
    const inside = relative(workspace, absolute);
    const verb = type === "add" || type === "delete" ? type : "edit";
    return { verb, path: inside === "" || inside.startsWith("..") ? absolute : inside, diff: textOf(diff) };
  });
}

/** A command without the shell that codex wraps it in. A shell at another path can be any program: it is kept, so that no rule matches it. */
export function plainCommand(command: string): string {
  const inner = /^(?:\/usr)?\/bin\/(?:ba|z|)sh -l?c ([\s\S]+)$/.exec(command)?.[1];
  if (inner === undefined) return command;
  if (/^'[^']*'$/.test(inner)) return inner.slice(1, -1);
  if (/^"(?:[^"\\]|\\.)*"$/s.test(inner)) return inner.slice(1, -1).replace(/\\(["\\$`])/g, "$1");
  return inner.replaceAll(
    /'((?:[^'])*)'|"([^"]*)"/g,
    (_, single: string | undefined, double: string) => single ?? double,
  );
}

/** Drops answers in JSON, which are not for people. */
function withoutJson(text: string): string {
  return /^\s*(?:```\w*\s*)?\{/.test(text) ? "" : text;
}

function oneLine(text: string): string | undefined {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line === "" ? undefined : cut(line, LINE_CHARACTERS);
}
