import type { PermissionOption } from "@agentclientprotocol/sdk";
import { type Json, objectOf, textOf } from "../../lib/json.ts";
import { type AskedPermission, extrasIn } from "../permissions/decision.ts";
import { areWithin, isWorkspace } from "../permissions/places.ts";
import { commandOf, type ToolCall } from "./updates.ts";

/** Without a place, these read the workspace, or nothing. */
const READS_HERE: ReadonlySet<string> = new Set(["search", "think"]);
const WRITES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

/** What Gemini says beside a command, of which it tells no input. */
const HERE = /^\[(?:current working directory|in) (.*?)\](?: \([^[\]]*\))?$/s;

/** Members that name paths. The pattern of a search can be a path, too. */
const PLACE = /(?:path|file|dir|directory|folder|root|cwd|uri|glob|pattern)s?$/i;

/** Members that hold contents of files, or words for a reader: code may begin with a slash. */
const CONTENTS =
  /^(?:contents?|(?:old|new)_?(?:str|string|text|source|content)|(?:file_?|insert_?)?text|description|instructions?|prompt|explanation|reason|message|activeForm)$/i;

/** Where a further path may begin within one line: in a list, braces or quotes. */
const NEXT = /[\s,;{}()|"'`=](?=[~/]|\.\.(?:\/|$))/;

/** The paths among several lines: those that a patch names, and lines that are an absolute path. */
const LINES =
  /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+|rename to|copy to) (?!\/dev\/null(?:\t|$))|[ \t]*(?=(?:~|\.\.)?\/[\w.]\S*$))([^\t\n]+)/gm;

export function askedIn(call: ToolCall, workspace: string): AskedPermission {
  const { title, kind, input } = call;
  const why = textOf(input.description);
  const command = commandOf(call);
  const diffs = call.content.map(objectOf).filter(({ type }) => type === "diff");
  const located = [...call.locations.map(objectOf), ...diffs].map(({ path }) => textOf(path)).filter(Boolean);
  if (command !== undefined) {
    const harmless = ["description", "timeout", ...(typeof input.command === "string" ? ["command"] : [])];
    const told = call.content.map((part) => textOf(objectOf(objectOf(part).content).text));
    const elsewhere = [
      ...told.filter((text) => text.startsWith("[") && !isWorkspace(HERE.exec(text)?.[1] ?? "~", workspace)),
      ...located.filter((path) => !areWithin([path], [workspace], workspace)),
    ];
    const extras = extrasIn({ ...input, ...(elsewhere.length === 0 ? {} : { elsewhere }) }, harmless, workspace);
    return { kind: "run", action: `run: ${command}`, whole: command, why, command, extras };
  }
  const texts = textsIn(input);
  const named = [...new Set([...located, ...texts.flatMap(([name, text]) => (PLACE.test(name) ? [text] : []))])];
  const places = [...new Set([...located, ...texts.flatMap(([name, text]) => pathsIn(name, text))])];
  const isWrite = WRITES.has(kind) && named.length > 0;
  const isRead = READS_HERE.has(kind) || (kind === "read" && named.length > 0);
  // Some agents report the input only as content to show, such as a patch.
  const told = Object.keys(input).length > 0 ? [input] : call.content;
  return {
    kind: isWrite ? "write" : isRead ? "read" : kind === "fetch" ? "fetch" : "other",
    action: isWrite ? `write: ${named.join(", ")}` : `use: ${title}`,
    whole: told.map((part) => JSON.stringify(part, undefined, 2)).join("\n"),
    why,
    places,
    extras: isWrite || located.length === 0 ? {} : { locations: located },
  };
}

/** The option to answer with. Permission is granted only once each time, so that the role's permissions do not change. */
export function optionFor(granted: boolean, options: readonly PermissionOption[]): string | undefined {
  const kinds = granted ? ["allow_once"] : ["reject_once", "reject_always"];
  return kinds.flatMap((kind) => options.find((option) => option.kind === kind)?.optionId ?? [])[0];
}

/** All texts of an input with the names of their members. Names are texts, too: `{ "/etc/hosts": "…" }`. */
function textsIn(value: Json | undefined, name = ""): [name: string, text: string][] {
  if (typeof value === "string") return [[name, value]];
  if (Array.isArray(value)) return value.flatMap((one: Json) => textsIn(one, name));
  return Object.entries(objectOf(value)).flatMap(([key, inner]) => [...textsIn(key), ...textsIn(inner, key)]);
}

function pathsIn(name: string, text: string): string[] {
  if (CONTENTS.test(name)) return [];
  if (!text.includes("\n")) return [text, ...text.split(NEXT)];
  return [...text.matchAll(LINES)].map(([, path = ""]) => path);
}
