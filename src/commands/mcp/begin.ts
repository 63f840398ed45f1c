import { Readable } from "node:stream";
import type { JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { bufferedOutput } from "../../ui/terminal.ts";
import type { CommandContext } from "../context/command.ts";
import { beginDetached, type BeginOptions } from "../driver/begin.ts";
import type { RunInput } from "../options/run-input.ts";
import type { RunOptions } from "../options/run-options.ts";

/** Begins a session that goes on without this process. `input` is read in place of stdin, which has the client's messages. */
export async function beginBy(
  context: CommandContext,
  options: BeginOptions,
  input: JsonObject | undefined,
  read: (context: CommandContext, runOptions: RunOptions) => Promise<Fallible<RunInput>>,
): Promise<Fallible<object>> {
  const warnings = bufferedOutput(context.terminal.err);
  const content = Readable.from(input === undefined ? [] : [Buffer.from(JSON.stringify(input))]);
  const streams = { err: warnings, out: warnings, input: content as unknown as NodeJS.ReadStream };
  const told = { ...context, terminal: { ...context.terminal, ...streams } };
  const begun = await beginDetached(told, options, (runOptions) => read(told, runOptions));
  if (!begun.ok) return begun;
  return ok({ ...begun.value, resource: `bosun://sessions/${begun.value.session_id}`, warnings: warnings.lines });
}
