import { err, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { resumeSession } from "../../runtime/resume.ts";
import type { SessionRow } from "../../store/store.ts";
import type { CommandContext } from "../call/command.ts";
import { actorHere } from "../call/program.ts";
import type { Manner } from "../input/manner.ts";
import { lostWorkspace } from "../input/reach.ts";
import { missingSandbox } from "../input/sandboxes.ts";
import { GO_ON } from "../person/word.ts";
import { loadMode, unknownMode } from "../session/modes.ts";
import { killGraceOf, openedWith } from "../session/state.ts";
import { driveSession } from "./drive.ts";
import type { TakeUp } from "./order.ts";
import type { Place } from "./place.ts";
import { showClosed } from "./show-closed.ts";
import type { Watchers } from "./watchers.ts";

/** Takes a session up and runs it, here or in a process of its own; one that is closed is only shown, unless it is reopened. */
export async function takeUp(
  context: CommandContext,
  place: Place,
  row: SessionRow,
  manner: Manner,
  change: TakeUp,
  watchers?: Watchers,
): Promise<Result<number, Failure>> {
  const mode = await loadMode(row.mode);
  if (mode === undefined) return err(unknownMode(row));
  const isRun = row.state !== "closed" || change.reopen !== undefined;
  if (isRun && change.ends !== true) {
    const missing = lostWorkspace(row) ?? (await missingSandboxes(context, place, row));
    if (missing) return err(missing);
  }
  if (isRun && manner.scheduler !== "here") {
    const { handOver } = await import("./hand-over.ts");
    return handOver(context, place, { do: "take_up", session_id: row.session_id, change, manner });
  }
  const { facts = [], ...rest } = change;
  const resumed = await resumeSession(place, mode, row, rest);
  if (!resumed.ok) return resumed;
  const session = resumed.value;
  const { closed, paused } = session.ledger.figures;
  if (closed) return showClosed(context, place, session, manner);
  for (const word of paused === true ? [GO_ON, ...facts] : facts)
    session.submitFromPerson({ ...word, source: "user", actor: actorHere() });
  const told = { resumed: true, kill_grace_s: killGraceOf(place.store, row.session_id) };
  return driveSession(context, place, session, manner, told, watchers);
}

/** The machine may not be the one where it was begun. */
async function missingSandboxes(
  { environment }: CommandContext,
  { store }: Place,
  row: SessionRow,
): Promise<Failure | undefined> {
  for (const role of openedWith(store, row.session_id)?.roles ?? []) {
    const missing = await missingSandbox(role, environment.PATH);
    if (missing) return missing;
  }
  return undefined;
}
