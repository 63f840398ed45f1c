import type { Command } from "commander";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { collect, type CommandContext, type Run } from "./call/command.ts";
import { openExistingHome, withHome } from "./call/home.ts";
import { actorHere } from "./call/program.ts";
import { type LimitOptions, readLimits } from "./input/limits.ts";
import { addMannerOptions, beside, type MannerOptions, mannerOf } from "./input/manner.ts";
import { lostWorkspace } from "./input/reach.ts";
import { unheededAtWork, unheededWhenClosed } from "./input/unheeded.ts";
import { ownerOf, putToOwner } from "./person/put.ts";
import { checkRelease } from "./person/release.ts";
import { tellingUnused } from "./person/unused-answers.ts";
import type { Word } from "./person/word.ts";
import { type Place, placeOf } from "./running/place.ts";
import { endHolder } from "./running/take-over.ts";
import { configOf, takeUp } from "./running/take-up.ts";
import { chooseLastSession, OPEN_SESSION } from "./session/choose.ts";

interface ResumeOptions extends MannerOptions, LimitOptions {
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
  addMannerOptions(command);
  command.action((named: string | undefined, options: ResumeOptions) =>
    run((context) => resume(context, named, options)),
  );
}

async function resume(
  context: CommandContext,
  named: string | undefined,
  options: ResumeOptions,
): Promise<Result<number, Failure>> {
  const manner = await mannerOf(context, options);
  if (!manner.ok) return manner;
  const wanted = readLimits(options);
  if (!wanted.ok) return wanted;
  return withHome(openExistingHome(context), async (home) => {
    const { store } = home;
    const chosen = chooseLastSession(store, named);
    if (!chosen.ok) return chosen;
    const unheeded = unheededWhenClosed(chosen.value, options);
    if (unheeded !== undefined) context.terminal.err.line(unheeded);
    const released = options.release ?? [];
    for (const role_id of chosen.value.state === "closed" ? [] : released) {
      const held = await checkRelease(store, chosen.value, role_id);
      if (!held.ok) return held;
    }
    const lost = isTakenUp(store, chosen.value, options) ? lostWorkspace(chosen.value) : undefined;
    if (lost) return err(lost);
    if (options.takeOver === true) {
      const ended = await endHolder(home, chosen.value.session_id, configOf(home, chosen.value).kill_grace_s);
      if (!ended.ok) return ended;
    }
    const limits = wanted.value;
    const stood = store.session(chosen.value.session_id);
    if (!stood.ok) return stood;
    const isTold = !limits && options.deadline === undefined && options.takeOver !== true;
    const told = beside(context, manner.value);
    if (isTold && isWaitingChild(store, stood.value)) return tellChild(told, store, stood.value, options);
    const owner = await ofParent(store, stood.value, options, limits);
    if (!owner.ok) return owner;
    const row = owner.value;
    if (store.holder(row.session_id) !== undefined && row.state !== "closed")
      return tellOwner(told, store, row, options, limits);
    const words = row.session_id === chosen.value.session_id ? released.map(releaseOf) : [];
    const full = { ...manner.value, kill_grace_s: 0 };
    const change = { ...(limits ? { limits } : {}), facts: words };
    const left = takeUp(context, placeOf(home, context), row, full, change);
    return tellingUnused(context, store, row.session_id, full, left);
  });
}

function releaseOf(role_id: string): Word {
  return { payload_type: "user_command", payload: { command: "release", role_id } };
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
  { release = [] }: ResumeOptions,
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
  for (const role_id of release) {
    const put = await store.inbox.put(session_id, { ...releaseOf(role_id) }, actorHere());
    if (!put.ok) return put;
  }
  return store.session(parent);
}

/** A child that has stopped while its parent is at work, which takes it up as soon as somebody speaks to it. */
function isWaitingChild(store: Store, row: SessionRow): boolean {
  return row.state !== "closed" && store.holder(row.session_id) === undefined && ownerOf(store, row) !== undefined;
}

async function tellChild(
  context: CommandContext,
  store: Store,
  child: SessionRow,
  options: ResumeOptions,
): Promise<Result<number, Failure>> {
  const { release: released = [] } = options;
  const unheeded = unheededAtWork(store, child, options);
  if (unheeded) return err(unheeded);
  for (const role_id of released) {
    const put = await putToOwner(context, store, child, releaseOf(role_id), releasedWords(role_id));
    if (!put.ok) return put;
  }
  if (released.length > 0) return ok(EXIT_DONE);
  return putToOwner(
    context,
    store,
    child,
    { payload_type: "user_command", payload: { command: "resume" } },
    "It goes on.",
  );
}

function releasedWords(role_id: string): string {
  return `The role ${safeLine(role_id)} takes turns again.`;
}

/** Somebody else runs it: all that it is told to do is put to them, and a plain resume has nothing to do. */
async function tellOwner(
  context: CommandContext,
  store: Place["store"],
  row: SessionRow,
  options: ResumeOptions,
  limits: JsonObject | undefined,
): Promise<Result<number, Failure>> {
  const { session_id } = row;
  const words: (readonly [payload: JsonObject, holds: string])[] = [];
  if (limits) words.push([{ command: "limits", limits }, "What it may use in all is limited anew."]);
  for (const role_id of options.release ?? []) words.push([releaseOf(role_id).payload, releasedWords(role_id)]);
  if (row.state === "paused") words.push([{ command: "resume" }, "It was paused, and new turns begin again."]);
  const unheeded = words.length > 0 ? unheededAtWork(store, row, options) : undefined;
  if (unheeded) return err(unheeded);
  for (const [payload, holds] of words) {
    const put = await putToOwner(context, store, row, { payload_type: "user_command", payload }, holds);
    if (!put.ok) return put;
  }
  if (words.length > 0) return ok(EXIT_DONE);
  const owner = store.holder(session_id);
  return err(
    failure("busy", `The session ${session_id} is held by process ${owner?.pid ?? "?"} on ${owner?.host ?? "?"}.`, {
      hint: `It goes on there. Watch it with bosun attach ${session_id}, or look how it stands with bosun status ${session_id}.`,
    }),
  );
}
