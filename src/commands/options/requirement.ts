import { readText } from "../../config/read-text.ts";
import { type AskedOf, MAX_REQUIREMENT_BYTES, checkedRequirement } from "../../config/requirement.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Problem } from "../../protocol/document/problem.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Terminal } from "../../ui/terminal.ts";

/** The requirement of a new session, from the command line or `--file`; either may be `-`, stdin. Failures as `checkedRequirement`. */
export async function typedRequirement(
  terminal: Terminal,
  { words, file }: { readonly words: string | undefined; readonly file: string | undefined },
  asked: AskedOf,
): Promise<Result<string, Failure>> {
  if (words !== undefined && file !== undefined) {
    const what = `There are two ${asked.noun}s: the words on the command line, and --file.`;
    return err(failure("usage", what, { hint: "Give one of them." }));
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
