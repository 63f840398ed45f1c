import { ok, type Result } from "../../lib/result.ts";
import { scheduleMode } from "../../modes/schedule/mode.ts";
import type { Failure } from "../../protocol/failure.ts";
import { createSession } from "../../runtime/create.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { CommandContext } from "../call/command.ts";
import { actorHere } from "../call/program.ts";
import type { Manner } from "../input/manner.ts";
import type { RunInput } from "../input/run-input.ts";
import { keepPlaybook, withPlaybook } from "../plans/playbook.ts";
import { driveSession } from "./drive.ts";
import type { Place } from "./place.ts";
import type { Watchers } from "./watchers.ts";

/** Begins a session and runs it, here or in a process of its own. */
export async function begin(
  context: CommandContext,
  place: Place,
  session_id: string,
  input: RunInput,
  manner: Manner,
  watchers?: Watchers,
): Promise<Result<number, Failure>> {
  if (manner.scheduler !== "here") {
    const { handOver } = await import("./hand-over.ts");
    return handOver(context, place, { do: "begin", session_id, input, manner });
  }
  const { folder } = sessionPaths(place.home, session_id);
  const opened = await createSession(place, scheduleMode, {
    ...input.session,
    roles: withPlaybook(input.session.roles, folder, input.playbook),
    session_id,
    started_by: actorHere(),
    prepare: () => (input.playbook === undefined ? ok(undefined) : keepPlaybook(folder, input.playbook)),
  });
  if (!opened.ok) return opened;
  const { kill_grace_s } = input.session.config;
  const told = { resumed: false, kill_grace_s, bundled_worker: input.bundled_worker };
  return driveSession(context, place, opened.value, manner, told, watchers);
}
