import { err, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../protocol/payload.ts";
import { resumeSession } from "../../runtime/resume.ts";
import type { SessionRow } from "../../store/store.ts";
import type { CommandContext } from "../call/command.ts";
import { actorHere } from "../call/program.ts";
import type { Manner } from "../input/manner.ts";
import { lostWorkspace } from "../input/reach.ts";
import { missingSandbox } from "../input/sandboxes.ts";
import type { Word } from "../person/word.ts";
import { loadMode, unknownMode } from "../session/modes.ts";
import { openedWith } from "../session/state.ts";
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
  if ((row.state !== "closed" || change.reopen !== undefined) && change.ends !== true) {
    const missing = lostWorkspace(row) ?? (await missingSandboxes(context, place, row));
    if (missing) return err(missing);
  }
  const { kill_grace_s } = configOf(place, row);
  if (manner.scheduler !== "here" && (row.state !== "closed" || change.reopen !== undefined)) {
    const { handOver } = await import("./hand-over.ts");
    const { session_id } = row;
    return handOver(context, place, { do: "take_up", session_id, change, manner: { ...manner, kill_grace_s } });
  }
  const { facts = [], ...rest } = change;
  const session = await resumeSession(place, mode, row, rest);
  if (!session.ok) return session;
  if (session.value.ledger.figures.closed) return showClosed(context, place, session.value, manner);
  if (session.value.ledger.figures.paused) say({ payload_type: "user_command", payload: { command: "resume" } });
  for (const fact of facts) say(fact);
  return driveSession(context, place, session.value, { ...manner, kill_grace_s }, true, watchers);

  function say(fact: Word): void {
    if (session.ok) session.value.submitFromPerson({ ...fact, source: "user", actor: actorHere() });
  }
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

/** The settings that a session was opened with; the defaults for one that was never begun. */
export function configOf(
  { store }: Pick<Place, "store">,
  row: SessionRow,
): Pick<ResolvedConfiguration, "kill_grace_s"> {
  return openedWith(store, row.session_id)?.config ?? CONFIGURATION_DEFAULTS;
}
