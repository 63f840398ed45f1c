import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { withLease } from "../../runtime/assemble.ts";
import { Bus } from "../../runtime/bus.ts";
import { checkOn } from "../../runtime/copies/prepare.ts";
import { type Checked, runCriteria, type Runnable } from "../../runtime/criteria.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { endPrograms } from "../../runtime/resume.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { Store } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import type { CommandContext } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";
import type { FoundCopies } from "../lookup/copies.ts";
import { type RuntimeEnvironment, runtimeEnvironment } from "./runtime-environment.ts";

/** A session that this process holds, and that has no process of its own. */
export interface Held extends FoundCopies<Store> {
  readonly around: RuntimeEnvironment;
}

/** Runs work while no scheduler and no other command can run on the session. Fails with `busy` if one does. */
export async function alone<T>(
  context: CommandContext,
  found: FoundCopies<Store>,
  work: (held: Held) => Promise<Fallible<T>>,
): Promise<Fallible<T>> {
  const { store, session_id, opened } = found;
  const around = runtimeEnvironment(found, context);
  return withLease(around, session_id, async (lease) => {
    const row = store.session(session_id);
    if (!row.ok) return row;
    const ended = await endPrograms(around, { session_id, config: opened.config });
    const done = ended.ok ? await work({ ...found, row: row.value, around }) : ended;
    if (done.ok) await store.release(lease);
    return done;
  });
}

/** Runs the criteria of every merge on a commit. Returns the exit code of the signal that interrupted them. */
export async function checkedMerge(
  context: CommandContext,
  { around, home, session_id, opened, copies }: Held,
  commit: string,
): Promise<Fallible<readonly Checked[] | number>> {
  const { config, roles, workspace } = opened;
  const criteria = (config.checks?.merge ?? []).filter(
    (one): one is Runnable => typeof one === "object" && "command" in one,
  );
  if (criteria.length === 0 && config.worktree?.setup === undefined) return ok([]);
  const bus = new Bus();
  bus.subscribe((event) => {
    if (event.kind === "warning") context.terminal.err.line(safeLine(event.text));
  });
  const session = {
    ...{ session_id, config, roles, workspace, bus },
    paths: sessionPaths(home, session_id),
    launcher: around.launcher,
    clock: around.clock,
    closed: around.closedIn?.({ session_id, config, roles, workspace }),
    // What a killed command leaves is told by its environment.
    keep: () => Promise.resolve(true),
    fail: (error: ConstructorParameters<typeof StorageError>[0]) => {
      throw new StorageError(error);
    },
  };
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const signals = watchSignals({ stop: () => interrupted.abort(), kill: around.killAll }, context.leave);
  const run = (directory: string) => runCriteria(session, { check_id: "merge", directory }, criteria, signal);
  const results = await checkOn(session, copies, { commit }, signal, run);
  signals.restore();
  const code = signals.exitCode();
  if (code !== undefined) return ok(code);
  return results.ok ? ok(results.value ?? []) : results;
}
