import { isAbsolute, join } from "node:path";
import { textIn } from "../lib/files.ts";
import { isJsonObject, type JsonObject } from "../lib/json.ts";
import type { Environment } from "./found.ts";

/** A path below the home directory of the environment. */
export function home(environment: Environment, ...segments: string[]): string {
  return join(environment.HOME !== undefined && isAbsolute(environment.HOME) ? environment.HOME : "/", ...segments);
}

/** The value of a key in lines of TOML: `key = "value"`, also within an inline table. */
export function tomlText(text: string, key: string): string | undefined {
  return new RegExp(`(?:^|[{,\\s.])${key}\\s*=\\s*["']?([^"',}\\s]+)`, "m").exec(text)?.[1];
}

/** The lines of a TOML table. */
export function tableOf(text: string, name: string): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.trim().replaceAll(/["']/g, "") === `[${name}]`);
  if (start === -1) return "";
  const end = lines.findIndex((line, index) => index > start && line.trim().startsWith("["));
  return lines.slice(start + 1, end === -1 ? undefined : end).join("\n");
}

/** The object in a JSON file; undefined without one. */
export function jsonIn(file: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(textIn(file) ?? "");
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
