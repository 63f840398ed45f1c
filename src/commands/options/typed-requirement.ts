import {
  type AskedOf,
  MAX_REQUIREMENT_BYTES,
  readRequirement,
  type RequirementSource,
} from "../../config/requirement.ts";
import { err, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Terminal } from "../../ui/terminal.ts";
import { standardInput } from "./standard-input.ts";

/** What stands on a command line for what is wanted: words, or the file that holds them. Either may be `-`, standard input. */
interface TypedSource {
  readonly words: string | undefined;
  readonly file: string | undefined;
}

/** What a person wants of a session that they begin, from where they say that it is. Failures as `readRequirement`. */
export async function typedRequirement(
  terminal: Terminal,
  { words, file }: TypedSource,
  asked: AskedOf,
): Promise<Result<string, Failure>> {
  if (words !== undefined && file !== undefined) {
    return err(
      failure("usage", `There are two ${asked.noun}s: the words on the command line, and --file.`, {
        hint: "Give one of them.",
      }),
    );
  }
  const named = file ?? words;
  const source: RequirementSource =
    named === "-"
      ? { standard_input: await standardInput(terminal, asked.noun, MAX_REQUIREMENT_BYTES) }
      : file === undefined
        ? { words: words ?? "" }
        : { file };
  return readRequirement(source, asked);
}
