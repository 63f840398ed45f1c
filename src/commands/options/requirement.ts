import { readText } from "../../config/read-text.ts";
import { ok, type Result } from "../../lib/result.ts";
import { explain, type Problem } from "../../protocol/document/problem.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { Terminal } from "../../ui/terminal.ts";

/** The requirement of a new session, from the command line or `--file`; either may be `-`, stdin. Failures as `checkedRequirement`. */
export async function typedRequirement(
  terminal: Terminal,
  { words, file }: { readonly words: string | undefined; readonly file: string | undefined },
  asked: AskedOf,
): Promise<Fallible<string>> {
  if (words !== undefined && file !== undefined) {
    const what = `There are two ${asked.noun}s: the words on the command line, and --file.`;
    return fails("usage", what, { hint: "Give one of them." });
  }
  if ((file ?? words) === "-")
    return checkedRequirement(await standardInput(terminal, asked.noun, MAX_REQUIREMENT_BYTES), asked);
  return checkedRequirement(file === undefined ? ok(words ?? "") : readText(file, MAX_REQUIREMENT_BYTES), asked, file);
}

/** The text on stdin, of at most `most` bytes; prompts for it at a terminal. Fails like `readText`. */
export async function standardInput(
  { input, err: messages }: Terminal,
  noun: string,
  most: number,
): Promise<Result<string, Problem>> {
  if (input.isTTY) messages.line(`Type the ${noun}, then Ctrl-D:`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) break;
  }
  return readText({ path: "-", bytes: Buffer.concat(chunks) }, most);
}

/** Maximum number of characters in a requirement; its schema has the same limit. */
export const MAX_REQUIREMENT_CHARACTERS = 200_000;

/** Maximum size of a requirement, in bytes. More is never valid, and need not be read. */
export const MAX_REQUIREMENT_BYTES = MAX_REQUIREMENT_CHARACTERS * 4;

/** How a command names its requirement. */
export interface AskedOf {
  /** The words that begin it, without the program. */
  readonly command: string;
  /** The option that takes its text, in place of words. */
  readonly option?: string;
  readonly noun: string;
  /** The imperative for it, such as "Say what you want done". */
  readonly say: string;
}

/**
 * Checks and trims the text of a requirement, from `file` if it came from one. An empty, too long, unreadable or non-UTF-8 one fails with `usage`,
 * because the command line named it.
 */
export function checkedRequirement(
  read: Result<string, Problem>,
  { command, option, noun, say }: AskedOf,
  file?: string,
): Fallible<string> {
  if (!read.ok) return fails("usage", `The ${noun} cannot be read.\n${explain(read.error).join("\n")}`);
  const text = read.value.trim();
  const name = file === undefined ? `The ${noun}` : `The ${noun} in ${file}`;
  if (text === "") {
    const typed = `bosun ${command}`;
    const words = option === undefined ? typed : `${typed} ${option}`;
    const hint = `${say}: ${words} "…", ${typed} --file FILE, or ${typed} --file - to read it from standard input.`;
    return fails("usage", `${name} is empty.`, { hint });
  }
  const characters = Array.from(text).length;
  if (characters <= MAX_REQUIREMENT_CHARACTERS) return ok(text);
  const [length, most] = [characters, MAX_REQUIREMENT_CHARACTERS].map((count) => count.toLocaleString("en"));
  const hint = `Put the long part into a file of the workspace, and name that file in the ${noun}.`;
  return fails("usage", `${name} has ${length} characters; at most ${most} are allowed.`, { hint });
}
