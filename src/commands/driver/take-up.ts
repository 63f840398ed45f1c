import { err, ok } from "../../lib/result.ts";
import { fails, type Failure, type Fallible } from "../../protocol/failure.ts";
import { resumeSession } from "../../runtime/resume.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import { beside, readRunOptions, type RunFlags, type RunOptions } from "../options/run-options.ts";
import { lostWorkspace } from "../examination/workspace.ts";
import { missingSandbox } from "../examination/sandbox.ts";
import { GO_ON, type PersonMessage, type Put, putMessage, tellPut } from "../interaction/put.ts";
import { loadMode } from "../../modes/index.ts";
import { unknownMode } from "../lookup/modes.ts";
import { killGraceOf, openedWith } from "../lookup/state.ts";
import { driveSession, type Patience } from "./drive.ts";
import { type LeftRunning, leaveRunning, type TakeUp } from "./scheduler-process.ts";
import { runtimeEnvironment } from "./runtime-environment.ts";
import { EXIT_DONE, EXIT_INTERRUPTED } from "../../runtime/exit.ts";
import { confirmHere } from "../interaction/confirm.ts";
import { setTimeout as delay } from "node:timers/promises";
import { busy } from "../../store/failures.ts";
import { holderOf, isLocked, lockPath } from "../../store/lock.ts";

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
    const missing = await missingFor(context, home.store, row);
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

/** Resumes an open session in a process of its own, and leaves it there. */
export async function takeUpDetached(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
): Promise<Fallible<LeftRunning>> {
  const { session_id } = row;
  const missing = await missingFor(context, home.store, row);
  if (missing) return err(missing);
  const runOptions = await readRunOptions(context, { detach: true, input: false });
  if (!runOptions.ok) return runOptions;
  return leaveRunning(context, home, { do: "take_up", session_id, change: {}, runOptions: runOptions.value });
}

/** What a session lacks to go on. Its sandboxes are checked again, because it may have begun on another machine. */
async function missingFor(
  { environment }: CommandContext,
  store: Store,
  row: SessionRow,
): Promise<Failure | undefined> {
  const lost = lostWorkspace(row);
  if (lost) return lost;
  const roles = openedWith(store, row.session_id)?.roles ?? [];
  const missing = await Promise.all(roles.map((role) => missingSandbox(role, environment.PATH)));
  return missing.find((one) => one !== undefined);
}

/** The option of commands that can resume a session for their message, with its description. */
export const RESUME_OPTION = ["--resume", "resume the session if it is stopped, without asking"] as const;

/** The options of a command that may resume a session for its message. It may also have options for the run. */
export interface AfterwardsOptions extends Pick<RunFlags, "input"> {
  readonly resume?: boolean;
}

/** Puts messages to a session, reports what became of the last one, and may resume the session for them. */
export async function putAndResume(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  messages: readonly PersonMessage[],
  options: AfterwardsOptions & RunFlags,
): Promise<Exit> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  let last: Put | undefined;
  for (const message of messages) {
    const put = await putMessage(home.store, row, message);
    if (!put.ok) return put;
    last = put.value;
  }
  return last === undefined ? ok(EXIT_DONE) : resumeFor(context, home, row, last, runOptions.value, options.resume);
}

/**
 * Reports what became of a message. A session without a scheduler is resumed here if `resume` is set or the person at this terminal agrees;
 * otherwise the message waits, and the output says so.
 */
export async function resumeFor(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  put: Put,
  runOptions: RunOptions,
  resume = false,
): Promise<Exit> {
  const tell = () => ok(tellPut(beside(context, runOptions), put));
  if (put.took !== "waits") return tell();
  // A child session is resumed with its parent.
  const stopped = home.store.session(row.parent ?? row.session_id);
  if (!stopped.ok) return stopped;
  if (stopped.value.state === "closed") return tell();
  if (!resume) {
    const { session_id } = stopped.value;
    const question = `${session_id} is stopped. Resume it now?`;
    const declined = runOptions.ask ? await confirmHere(context, question, "yes") : EXIT_DONE;
    if (declined !== undefined) {
      const told = tell();
      return declined === EXIT_INTERRUPTED ? ok(declined) : told;
    }
  }
  return takeUp(context, home, stopped.value, runOptions, {});
}

/** How long a scheduler may take to exit, beyond its agents' grace period, in ms. */
const LEAVING_MS = 5_000;

/** How long the system may take to end a killed process, in ms. A process blocked in disk access can outlast it. */
const AFTER_KILL_MS = 5_000;

/** How often to poll whether a session is still held, in ms. */
const LOOK_EVERY_MS = 20;

/**
 * Ends the process that holds a session, if there is one, so that this process can resume it: asks it to stop, wakes it if it is frozen, and
 * kills it if it does not exit within `kill_grace_s` and five seconds. `busy` for a holder that is not found on this machine or cannot be
 * ended.
 */
export async function endHolder(
  { home, store }: OpenHome<Store>,
  session_id: string,
  kill_grace_s: number,
): Promise<Fallible<void>> {
  const lock = lockPath(home, session_id);
  if (!isLocked(lock)) return ok(undefined);
  const pid = holderOf(lock);
  if (pid === undefined) return isLocked(lock) ? err(busy(session_id, store.holder(session_id))) : ok(undefined);
  const asked = signal(pid, "SIGTERM") && signal(pid, "SIGCONT");
  const isHeld = () => isLocked(lock);
  if (asked && (await released(isHeld, kill_grace_s * 1000 + LEAVING_MS))) return ok(undefined);
  // Kill only the process that was asked to stop: the lock may belong to another one by now.
  if (holderOf(lock) === pid && signal(pid, "SIGKILL") && (await released(isHeld, AFTER_KILL_MS))) return ok(undefined);
  if (!isLocked(lock)) return ok(undefined);
  const what = `The session ${session_id} is held by process ${holderOf(lock) ?? pid}, which could not be ended.`;
  const hint = "It may be another user's, or hang in a disk that does not answer. End it by hand, then resume again.";
  return fails("busy", what, { hint, details: { pid } });
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    // It has exited, or belongs to another user.
    return false;
  }
}

/** Whether a session is released within this time, in ms. */
export async function released(isHeld: () => boolean, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  while (isHeld()) {
    if (performance.now() > deadline) return false;
    await delay(LOOK_EVERY_MS);
  }
  return true;
}
