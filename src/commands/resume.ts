import type { Command } from "commander";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { Holder, SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { collect, type CommandContext, type Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { actorHere } from "./context/program.ts";
import { type LimitOptions, readLimits } from "./options/limits.ts";
import { addRunOptions, beside, type RunFlags, readRunOptions } from "./options/run-options.ts";
import { lostWorkspace } from "./options/reach.ts";
import { ignoredWhileRunning, ignoredWhenClosed } from "./options/ignored-options.ts";
import { putToOwner } from "./interaction/put.ts";
import { checkRelease } from "./interaction/release.ts";
import { tellingUnused } from "./interaction/unused-answers.ts";
import { commandMessage, GO_ON, type PersonMessage } from "./interaction/person-message.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { endHolder } from "./driver/take-over.ts";
import { takeUp } from "./driver/take-up.ts";
import { OPEN_SESSION, resolveSession, RESUME } from "./lookup/resolve.ts";
import { killGraceOf } from "./lookup/state.ts";

interface ResumeOptions extends RunFlags, LimitOptions {
  readonly release?: readonly string[];
  readonly takeOver?: boolean;
}

/** `bosun resume`: a session goes on where it was left. */
export function register(command: Command, run: Run): void {
  command
    .argument(...OPEN_SESSION)
    .option("--budget-turns <n>", "raise the limit to so many turns in all")
    .option("--budget-tokens <n>", "raise the limit to so many tokens in all, and accept what nobody told so far")
    .option("--budget-usd <n>", "raise the limit to so much money in all, and accept what nobody told so far")
    .option("--deadline <duration>", "stop so long from now, sleep of the machine not counted: 15m, 4h")
    .option("--release <role>", "let a role take turns again that is held (again for more)", collect)
    .option("--take-over", "end the process that holds it, be it frozen, and go on with it here");
  addRunOptions(command);
  command.action((named: string | undefined, options: ResumeOptions) =>
    run((context) => resume(context, named, options)),
  );
}

async function resume(
  context: CommandContext,
  named: string | undefined,
  options: ResumeOptions,
): Promise<Result<number, Failure>> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const wanted = readLimits(options);
  if (!wanted.ok) return wanted;
  return withHome(openExistingHome(context), async (home) => {
    const { store } = home;
    const chosen = resolveSession(store, named, RESUME);
    if (!chosen.ok) return chosen;
    const unheeded = ignoredWhenClosed(chosen.value, options);
    if (unheeded !== undefined) context.terminal.err.line(unheeded);
    const { release = [] } = options;
    for (const role_id of chosen.value.state === "closed" ? [] : release) {
      const held = await checkRelease(store, chosen.value, role_id);
      if (!held.ok) return held;
    }
    const lost = isTakenUp(store, chosen.value, options) ? lostWorkspace(chosen.value) : undefined;
    if (lost) return err(lost);
    if (options.takeOver === true) {
      const { session_id } = chosen.value;
      const ended = await endHolder(home, session_id, killGraceOf(store, session_id));
      if (!ended.ok) return ended;
    }
    const limits = wanted.value;
    const stood = store.session(chosen.value.session_id);
    if (!stood.ok) return stood;
    const isTold = !limits && options.deadline === undefined && options.takeOver !== true;
    const told = beside(context, runOptions.value);
    const releases = release.map(released);
    if (isTold && isWaitingChild(store, stood.value)) {
      const words: Said[] = releases.length > 0 ? releases : [[GO_ON, "It goes on."]];
      return putAll(told, store, stood.value, words, options);
    }
    const owner = await ofParent(store, stood.value, releases, limits);
    if (!owner.ok) return owner;
    const row = owner.value;
    const holder = row.state === "closed" ? undefined : store.holder(row.session_id);
    if (holder !== undefined) return tellOwner(told, store, { row, holder }, releases, options, limits);
    const facts = row.session_id === chosen.value.session_id ? releases.map(([word]) => word) : [];
    const change = { ...(limits ? { limits } : {}), facts };
    const left = takeUp(context, runtimeEnvironment(home, context), row, runOptions.value, change);
    return tellingUnused(context, store, row.session_id, runOptions.value, left);
  });
}

/** What is put to a session, and what holds from then on. */
type Said = readonly [word: PersonMessage, holds: string];

function released(role_id: string): Said {
  return [commandMessage({ command: "release", role_id }), `The role ${safeLine(role_id)} takes turns again.`];
}

/** Puts all of it to whoever runs the session, unless something was typed beside it that only who takes it up could heed. */
async function putAll(
  context: CommandContext,
  store: Store,
  row: SessionRow,
  words: readonly Said[],
  options: ResumeOptions,
): Promise<Result<number, Failure>> {
  const unheeded = ignoredWhileRunning(store, row, options);
  if (unheeded) return err(unheeded);
  for (const [word, holds] of words) {
    const put = await putToOwner(context, store, row, word, holds);
    if (!put.ok) return put;
  }
  return ok(EXIT_DONE);
}

/** Whether this process is to run it, or have it run: nothing may be ended or said for that before it is known to be possible. */
function isTakenUp(store: Store, { session_id, state }: SessionRow, { takeOver }: ResumeOptions): boolean {
  return state !== "closed" && (takeOver === true || store.holder(session_id) === undefined);
}

/**
 * The session itself, or the parent of a child that nobody runs: those are taken up together. What the child is told waits for
 * it in its inbox.
 */
async function ofParent(
  store: Store,
  stood: SessionRow,
  releases: readonly Said[],
  limits: JsonObject | undefined,
): Promise<Result<SessionRow, Failure>> {
  const { session_id, parent, state } = stood;
  if (parent === null || state === "closed") return ok(stood);
  if (limits) {
    return err(
      failure("usage", `${session_id} has its limits of its parent.`, {
        hint: `Raise those: bosun resume ${parent} with the same options.`,
      }),
    );
  }
  if (store.holder(session_id)) return ok(stood);
  for (const [word] of releases) {
    const put = await store.inbox.put(session_id, { ...word }, actorHere());
    if (!put.ok) return put;
  }
  return store.session(parent);
}

/** A child that has stopped while its parent is at work, which takes it up as soon as somebody speaks to it. */
function isWaitingChild(store: Store, { session_id, parent, state }: SessionRow): boolean {
  if (parent === null || state === "closed") return false;
  return store.holder(session_id) === undefined && store.holder(parent) !== undefined;
}

/** Somebody else runs it: all that it is told to do is put to them, and a plain resume has nothing to do. */
async function tellOwner(
  context: CommandContext,
  store: Store,
  { row, holder }: { readonly row: SessionRow; readonly holder: Holder },
  releases: readonly Said[],
  options: ResumeOptions,
  limits: JsonObject | undefined,
): Promise<Result<number, Failure>> {
  const { session_id } = row;
  const words: Said[] = [...releases];
  if (limits) words.unshift([commandMessage({ command: "limits", limits }), "What it may use in all is limited anew."]);
  if (row.state === "paused") words.push([GO_ON, "It was paused, and new turns begin again."]);
  if (words.length > 0) return putAll(context, store, row, words, options);
  return err(
    failure("busy", `The session ${session_id} is held by process ${holder.pid} on ${holder.host}.`, {
      hint: `It goes on there. Watch it with bosun attach ${session_id}, or look how it stands with bosun status ${session_id}.`,
    }),
  );
}
