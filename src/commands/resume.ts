import type { Command } from "commander";
import type { LedgerHold } from "../kernel/ledger.ts";
import { DURATION_FORM } from "../lib/durations.ts";
import { didYouMean } from "../lib/nearest.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { valuesOf } from "../runtime/stored-state.ts";
import { busy } from "../store/failures.ts";
import type { SessionRow, Store, StoreReader } from "../store/store.ts";
import { type Action, type CommandContext, type Exit, collect } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { type LimitOptions, readLimits } from "./options/limits.ts";
import { addRunOptions, beside, onlyOnResume, readRunOptions, type RunFlags } from "./options/run-options.ts";
import { lostWorkspace } from "./examination/workspace.ts";
import { commandMessage, GO_ON, ownerOf, type PersonMessage, putMessage, putToOwner } from "./interaction/put.ts";
import { endHolder, takeUp } from "./driver/take-up.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { OPEN_SESSION, resolveSession, RESUME } from "./lookup/resolve.ts";
import { tellUnknownLogs } from "./lookup/log-source.ts";
import { killGraceOf } from "./lookup/state.ts";

interface ResumeOptions extends RunFlags, LimitOptions {
  readonly release?: readonly string[];
  readonly takeOver?: boolean;
}

/** `bosun resume`: continues a session where it stopped. */
export function register(command: Command): Action<ResumeOptions> {
  command
    .argument(...OPEN_SESSION)
    .option("--budget-turns <n>", "raise the limit to this many turns in total")
    .option("--budget-tokens <n>", "raise the limit to this many tokens in total; unreported usage so far is accepted")
    .option("--budget-usd <n>", "raise the limit to this much money in total; unreported cost so far is accepted")
    .option("--deadline <duration>", `stop after this time from now, without the machine's sleep: ${DURATION_FORM}`)
    .option("--release <role>", "let a held role take turns again (repeatable)", collect)
    .option("--take-over", "end the process that runs it, even a frozen one, and continue here");
  addRunOptions(command);
  return resume;
}

async function resume(context: CommandContext, [named]: readonly string[], options: ResumeOptions): Promise<Exit> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const read = await readLimits(options);
  if (!read.ok) return read;
  const limits = read.value;
  return withHome(await openHomeOf(context, named), async (home) => {
    const { store } = home;
    const chosen = resolveSession(store, named, RESUME);
    if (!chosen.ok) tellUnknownLogs(context, home.home, store);
    if (!chosen.ok) return chosen;
    const { release = [] } = options;
    const isClosed = chosen.value.state === "closed";
    // Not a failure, because a command that a crash cut short must work when it is repeated.
    if (isClosed && (limits !== undefined || release.length > 0))
      context.terminal.err.line(`${chosen.value.session_id} is closed: its limits and holds stay as they are.`);
    for (const role_id of isClosed ? [] : release) {
      const held = await checkRelease(store, chosen.value, role_id);
      if (!held.ok) return held;
    }
    // Checked before anything is ended or sent.
    const isTakenUp = options.takeOver === true || store.holder(chosen.value.session_id) === undefined;
    const lost = isTakenUp && !isClosed ? lostWorkspace(chosen.value) : undefined;
    if (lost) return err(lost);
    if (options.takeOver === true) {
      const { session_id } = chosen.value;
      const ended = await endHolder(home, session_id, killGraceOf(store, session_id));
      if (!ended.ok) return ended;
    }
    const current = store.session(chosen.value.session_id);
    if (!current.ok) return current;
    const row = current.value;
    const { session_id, parent, state } = row;
    const ofParent = state === "closed" ? null : parent;
    if (limits && ofParent !== null)
      return fails("usage", `The limits of ${session_id} are those of its parent ${ofParent}.`, {
        hint: `Raise those: bosun resume ${ofParent} with the same options.`,
      });
    const releases = release.map((role_id) => commandMessage({ command: "release", role_id }));
    const owner = state === "closed" ? undefined : ownerOf(store, row);
    if (owner !== undefined) {
      const messages = [...(limits ? [commandMessage({ command: "limits", limits })] : []), ...releases];
      // A stopped child of a running parent continues with the next message.
      const isStopped = store.holder(session_id) === undefined;
      if (state === "paused" || (isStopped && messages.length === 0)) messages.push(GO_ON);
      if (messages.length === 0) return err(busy(session_id, owner));
      return putAll(beside(context, runOptions.value), store, row, messages, options);
    }
    if (ofParent === null) {
      const change = { ...(limits ? { limits } : {}), facts: releases };
      return takeUp(context, home, row, runOptions.value, change);
    }
    // A stopped child is resumed with its parent, and then takes what waits in its inbox.
    for (const message of releases) {
      const put = await putMessage(store, row, message);
      if (!put.ok) return put;
    }
    const above = store.session(ofParent);
    return above.ok ? takeUp(context, home, above.value, runOptions.value, {}) : above;
  });
}

/** Checks that a role is held and can be released. Fails with `usage` if it is not. */
async function checkRelease(reader: StoreReader, { session_id }: SessionRow, role_id: string): Promise<Fallible<void>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  const holds = [...valuesOf<LedgerHold>(stored.value, "hold").values()];
  // A rate limit ends by itself.
  const held = new Set(holds.filter(({ limit }) => limit?.limit !== "turns_per_minute").map((hold) => hold.role_id));
  if (held.has(role_id)) return ok(undefined);
  const hint = held.size === 0 ? "No role is held." : `Held: ${[...held].join(", ")}.`;
  return fails("usage", `${session_id} holds no role ${JSON.stringify(role_id)}.${didYouMean(role_id, held)}`, {
    hint: `${hint} To continue: bosun resume ${session_id}.`,
  });
}

/** Sends the messages to the session's owner. Refuses options that only apply on resume. */
async function putAll(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  messages: readonly PersonMessage[],
  options: ResumeOptions,
): Promise<Exit> {
  const refused = onlyOnResume(store, row, options);
  if (refused) return err(refused);
  for (const message of messages) {
    const put = await putToOwner(context, store, row, message);
    if (!put.ok) return put;
  }
  return ok(EXIT_DONE);
}
