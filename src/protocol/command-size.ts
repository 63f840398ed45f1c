import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import type { Finding } from "./document/problem.ts";

/** What a system takes for the start of a program, in bytes: Linux for one argument, and every supported one for all of them, with room for the environment. */
const MAX_ARGUMENT_BYTES = 131_071;
const MAX_ARGUMENTS_BYTES = 900_000;

/** The first command, shell text or environment in a value that no program can be started with. Schemas count characters, systems bytes. */
export function tooLongToStart(value: Json | undefined): Finding | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const key of Object.keys(value)) {
    const inner = (value as JsonObject)[key];
    if (typeof inner !== "object" && key !== "shell") continue;
    const wrong = wrongSize(argumentsIn(key, inner)) ?? tooLongToStart(inner);
    if (wrong) return { ...wrong, pointer: pointerTo("", key) + wrong.pointer };
  }
  return undefined;
}

/** The texts that are handed to a program, each with its pointer in the value. */
function argumentsIn(key: string, value: Json | undefined): [pointer: string, text: string][] {
  if (key === "shell" && typeof value === "string") return [["", value]];
  const isCommand = (key === "command" || key === "cli_command") && Array.isArray(value);
  if (!isCommand && !(key === "env" && isJsonObject(value))) return [];
  return Object.entries(value).map(([name, text]) => [
    pointerTo("", name),
    isCommand ? String(text) : `${name}=${String(text)}`,
  ]);
}

function wrongSize(given: readonly [pointer: string, text: string][]): Finding | undefined {
  let total = 0;
  for (const [pointer, text] of given) {
    const bytes = Buffer.byteLength(text);
    total += bytes + 1;
    if (bytes > MAX_ARGUMENT_BYTES) return finding(pointer, "this is an argument of", bytes, MAX_ARGUMENT_BYTES);
  }
  return total > MAX_ARGUMENTS_BYTES ? finding("", "its arguments have", total, MAX_ARGUMENTS_BYTES) : undefined;
}

function finding(pointer: string, what: string, bytes: number, most: number): Finding {
  const expected = `at most ${most.toLocaleString("en")} bytes, as a program can be started with; put the long part into a file`;
  return { pointer, what: `${what} ${bytes.toLocaleString("en")} bytes`, expected };
}
