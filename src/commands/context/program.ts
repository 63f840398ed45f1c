import { readFileSync } from "node:fs";
import os from "node:os";
import { shipped } from "../../lib/files.ts";
import { insideOf } from "../../protocol/inside-turn.ts";
import type { Actor } from "../../protocol/record.ts";

export function programVersion(): string {
  return (JSON.parse(readFileSync(shipped("package.json"), "utf8")) as { version: string }).version;
}

/** The arguments with which Node runs this program again: `node_arguments` are for Node, `words` for the program. */
export function ownArguments(words: readonly string[], node_arguments: readonly string[] = []): string[] {
  const [, program = ""] = process.argv;
  return [...process.execArgv, ...node_arguments, program, ...words];
}

/** The user of this process, in the form in which records name the sender of a message. */
export function actorHere(): Actor {
  return { user: userName(), host: os.hostname(), via: insideOf(process.env) === undefined ? "cli" : "agent" };
}

/** Users in containers often have no name. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
