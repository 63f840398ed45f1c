import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { explain } from "../protocol/document/problem.ts";
import { decodeText } from "../protocol/document/source-text.ts";
import { readText } from "./read-text.ts";

/** Most characters of a requirement; its schema has the same limit. */
export const MAX_REQUIREMENT_CHARACTERS = 200_000;

/** More bytes than this cannot be a requirement that fits, and need not be read. */
export const MAX_REQUIREMENT_BYTES = MAX_REQUIREMENT_CHARACTERS * 4;

/** Where a requirement comes from: the words on the command line, a file, or the bytes that came on standard input. */
export type RequirementSource =
  | { readonly words: string }
  | { readonly file: string }
  | { readonly standard_input: Uint8Array };

/** What a command that begins a session calls its requirement, and how it is typed. */
export interface AskedOf {
  readonly command: string;
  readonly noun: string;
  /** What there is to say in it. */
  readonly say: string;
}

/**
 * A requirement's text, without the blanks around it. Empty, too long, not UTF-8 or not readable fail with `usage`, since it was
 * named on this very command line.
 */
export function readRequirement(source: RequirementSource, { command, noun, say }: AskedOf): Result<string, Failure> {
  if ("standard_input" in source && source.standard_input.length > MAX_REQUIREMENT_BYTES) {
    return tooLong(noun, `The ${noun} on standard input`, "more characters than can be read");
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
