import { err } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { resumeSession } from "../../runtime/resume.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import type { RunOptions } from "../options/run-options.ts";
import { lostWorkspace } from "../examination/workspace.ts";
import { missingSandbox } from "../examination/sandbox.ts";
import { GO_ON } from "../interaction/person-message.ts";
import { loadMode, unknownMode } from "../lookup/modes.ts";
import { killGraceOf, openedWith } from "../lookup/state.ts";
import { driveSession, type Patience } from "./drive.ts";
import type { TakeUp } from "./scheduler-process.ts";
import { runtimeEnvironment } from "./runtime-environment.ts";

/** Resumes a session and runs it, here or in a process of its own. A closed one is only shown, unless it is reopened. */
export async function takeUp(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  runOptions: RunOptions,
  change: TakeUp,
  patience?: Patience,
): Promise<Exit> {
  const mode = await loadMode(row.mode);
  if (mode === undefined) return err(unknownMode(row));
  const isRun = row.state !== "closed" || change.reopen !== undefined;
  if (isRun && change.ends !== true) {
    const missing = lostWorkspace(row) ?? (await missingSandboxes(context, home.store, row));
    if (missing) return err(missing);
  }
  if (isRun && runOptions.scheduler !== "here") {
    const { handOver } = await import("./hand-over.ts");
    return handOver(context, home, { do: "take_up", session_id: row.session_id, change, runOptions });
  }
  const runtime = runtimeEnvironment(home, context);
  const { facts = [], ...rest } = change;
  const resumed = await resumeSession(runtime, mode, row, rest);
  if (!resumed.ok) return resumed;
  const session = resumed.value;
  const { closed, paused } = session.ledger.figures;
  if (!closed) {
    for (const message of paused === true ? [GO_ON, ...facts] : facts)
      session.submitFromPerson({ ...message, source: "user", actor: actorHere() });
  }
  const known = { resumed: true, kill_grace_s: killGraceOf(home.store, row.session_id) };
  return driveSession(context, runtime, session, runOptions, known, patience);
}

/** Checks the sandboxes again, because the session may have begun on another machine. */
async function missingSandboxes(
  { environment }: CommandContext,
  store: Store,
  row: SessionRow,
): Promise<Failure | undefined> {
  const roles = openedWith(store, row.session_id)?.roles ?? [];
  const missing = await Promise.all(roles.map((role) => missingSandbox(role, environment.PATH)));
  return missing.find((one) => one !== undefined);
}
