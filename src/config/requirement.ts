import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { explain } from "../protocol/document/problem.ts";
import { decodeText } from "../protocol/document/source-text.ts";
import { readText } from "./read-text.ts";

/** Maximum number of characters in a requirement; its schema has the same limit. */
export const MAX_REQUIREMENT_CHARACTERS = 200_000;

/** Maximum size of a requirement, in bytes. More is never valid, and need not be read. */
export const MAX_REQUIREMENT_BYTES = MAX_REQUIREMENT_CHARACTERS * 4;

/** The source of a requirement: words on the command line, a file, or bytes from stdin. */
export type RequirementSource =
  | { readonly words: string }
  | { readonly file: string }
  | { readonly standard_input: Uint8Array };

/** How a command names its requirement. */
export interface AskedOf {
  readonly command: string;
  readonly noun: string;
  /** The imperative for it, such as "Say what you want done". */
  readonly say: string;
}

/** Reads and trims a requirement. An empty, too long, unreadable or non-UTF-8 one fails with `usage`, because the command line named it. */
export function readRequirement(source: RequirementSource, { command, noun, say }: AskedOf): Result<string, Failure> {
  if ("standard_input" in source && source.standard_input.length > MAX_REQUIREMENT_BYTES) {
    return tooLong(noun, `The ${noun} on standard input`, "too many characters");
  }
  const read =
    "words" in source
      ? ok(source.words)
      : "file" in source
        ? readText(source.file, MAX_REQUIREMENT_BYTES)
        : decodeText("standard input", source.standard_input);
  if (!read.ok) return err(failure("usage", `The ${noun} cannot be read.\n${explain(read.error).join("\n")}`));
  const text = read.value.trim();
  const name = "file" in source ? `The ${noun} in ${source.file}` : `The ${noun}`;
  if (text === "") {
    const typed = `bosun ${command}`;
    const hint = `${say}: ${typed} "…", ${typed} --file FILE, or ${typed} --file - to read it from standard input.`;
    return err(failure("usage", `${name} is empty.`, { hint }));
  }
  const characters = Array.from(text).length;
  if (characters > MAX_REQUIREMENT_CHARACTERS)
    return tooLong(noun, name, `${characters.toLocaleString("en")} characters`);
  return ok(text);
}

function tooLong(noun: string, name: string, length: string): Result<never, Failure> {
  const most = MAX_REQUIREMENT_CHARACTERS.toLocaleString("en");
  const hint = `Put the long part into a file of the workspace, and name that file in the ${noun}.`;
  return err(failure("usage", `${name} has ${length}; at most ${most} are allowed.`, { hint }));
}
