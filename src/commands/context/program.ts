import { readFileSync } from "node:fs";
import os from "node:os";
import { shipped } from "../../config/installation.ts";
import type { Actor } from "../../protocol/record.ts";

/** The version of this program, as its package says. */
export function programVersion(): string {
  return (JSON.parse(readFileSync(shipped("package.json"), "utf8")) as { version: string }).version;
}

/** Who types: the user of this process, on this machine, by the command line. */
export function actorHere(): Actor {
  return { user: userName(), host: os.hostname(), via: "cli" };
}

/** A user without an entry in the system's list has no name, which is common in containers. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
