import { spawn } from "node:child_process";
import { splitCommand } from "../../config/command-line.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { CommandContext } from "../context/command.ts";

/** Opens a file in `$VISUAL` or `$EDITOR` at this terminal and comes back when the person is done. Failure `environment`. */
export async function openEditor(
  { environment, terminal }: CommandContext,
  file: string,
): Promise<Result<void, Failure>> {
  const named = environment.VISUAL || environment.EDITOR || "vi";
  // An editor that somebody named may open a window of its own; this one draws on whatever it is given.
  if (named === "vi" && !(terminal.input.isTTY && terminal.out.stream.isTTY)) {
    return err(noEditor(named, "there is no terminal"));
  }
  const command = splitCommand(named);
  const [program, ...rest] = command.ok ? command.value : [];
  if (program === undefined) {
    return err(noEditor(named, command.ok ? "it is empty" : command.error));
  }
  const editor = spawn(program, [...rest, file], { stdio: "inherit" });
  return new Promise((resolve) => {
    editor.once("error", (error) => resolve(err(noEditor(named, error.message))));
    editor.once("exit", (code) => resolve(code === 0 ? ok(undefined) : err(noEditor(named, `it ended with ${code}`))));
  });
}

function noEditor(named: string, why: string): Failure {
  return failure("environment", `The editor ${JSON.stringify(named)} cannot be used: ${why}.`, {
    hint: "Set VISUAL or EDITOR to one that works.",
  });
}
