import { readFileSync } from "node:fs";
import os from "node:os";
import { shipped } from "../../lib/files.ts";
import { insideOf } from "../../protocol/inside-turn.ts";
import type { Actor } from "../../protocol/record.ts";

/** The version in package.json. */
export function programVersion(): string {
  return (JSON.parse(readFileSync(shipped("package.json"), "utf8")) as { version: string }).version;
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
