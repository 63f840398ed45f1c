import { isJsonObject, type Json } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import type { Finding } from "./document/problem.ts";

/** What a system takes for the start of a program, in bytes: Linux for one argument, and every supported one for all of them, with room for the environment. */
const MAX_ARGUMENT_BYTES = 131_071;
const MAX_ARGUMENTS_BYTES = 900_000;

/** The first command, shell text or environment in a value that no program can be started with. Schemas count characters, systems bytes. */
export function tooLongToStart(value: Json | undefined, pointer = ""): Finding | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const at = pointerTo(pointer, key);
    const wrong = wrongSize(argumentsIn(key, inner), at) ?? tooLongToStart(inner, at);
    if (wrong) return wrong;
  }
  return undefined;
}

/** The texts that are handed to a program, each with its key in the value; a key is empty for the value itself. */
function argumentsIn(key: string, value: Json | undefined): [key: string, text: string][] {
  if (key === "shell" && typeof value === "string") return [["", value]];
  const isCommand = (key === "command" || key === "cli_command") && Array.isArray(value);
  if (!isCommand && !(key === "env" && isJsonObject(value))) return [];
  return Object.entries(value).map(([name, text]) => [name, isCommand ? String(text) : `${name}=${String(text)}`]);
}

function wrongSize(given: readonly [key: string, text: string][], pointer: string): Finding | undefined {
  let total = 0;
  for (const [key, text] of given) {
    const bytes = Buffer.byteLength(text);
    total += bytes + 1;
    const at = key === "" ? pointer : pointerTo(pointer, key);
    if (bytes > MAX_ARGUMENT_BYTES) return finding(at, "this is an argument of", bytes, MAX_ARGUMENT_BYTES);
  }
  return total > MAX_ARGUMENTS_BYTES ? finding(pointer, "its arguments have", total, MAX_ARGUMENTS_BYTES) : undefined;
}

function finding(pointer: string, what: string, bytes: number, most: number): Finding {
  const expected = `at most ${most.toLocaleString("en")} bytes, as a program can be started with; put the long part into a file`;
  return { pointer, what: `${what} ${bytes.toLocaleString("en")} bytes`, expected };
}
