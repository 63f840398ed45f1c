import { ok, type Result } from "../../lib/result.ts";
import { scheduleMode } from "../../modes/schedule/mode.ts";
import type { Failure } from "../../protocol/failure.ts";
import { createSession } from "../../runtime/create.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { CommandContext } from "../context/command.ts";
import { actorHere } from "../context/program.ts";
import type { RunOptions } from "../options/run-options.ts";
import type { RunInput } from "../options/run-input.ts";
import { keepPlaybook, withPlaybook } from "./playbook.ts";
import { driveSession } from "./drive.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";
import type { Patience } from "./patience.ts";

/** Begins a schedule session and runs it, here or in a process of its own. */
export async function begin(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  session_id: string,
  input: RunInput,
  runOptions: RunOptions,
  patience?: Patience,
): Promise<Result<number, Failure>> {
  if (runOptions.scheduler !== "here") {
    const { handOver } = await import("./hand-over.ts");
    return handOver(context, runtime, { do: "begin", session_id, input, runOptions });
  }
  const { folder } = sessionPaths(runtime.home, session_id);
  const opened = await createSession(runtime, scheduleMode, {
    ...input.session,
    roles: withPlaybook(input.session.roles, folder, input.playbook),
    session_id,
    started_by: actorHere(),
    prepare: () => (input.playbook === undefined ? ok(undefined) : keepPlaybook(folder, input.playbook)),
  });
  if (!opened.ok) return opened;
  const { kill_grace_s } = input.session.config;
  const known = { resumed: false, kill_grace_s };
  return driveSession(context, runtime, opened.value, runOptions, known, patience);
}
