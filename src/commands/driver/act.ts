import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { err, ok } from "../../lib/result.ts";
import { type Failure, failure, fails, type Fallible } from "../../protocol/failure.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import type { Actor } from "../../protocol/record.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { takeLock } from "../../store/lock.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import { safeJson } from "../../ui/display.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import { outcomeOf, type PersonMessage, type Put, putMessage, tellPut } from "../interaction/put.ts";
import { openHomeOf, withSession } from "../lookup/homes.ts";
import { CHANGE } from "../lookup/resolve.ts";
import { DESCRIPTORS } from "../../modes/index.ts";
import type { RunOptions } from "../options/run-options.ts";
import { PATIENCE_MS, startScheduler } from "./scheduler-process.ts";

/** The variable that holds a token, so that it stands in no list of processes. */
export const TOKEN_VARIABLE = "BOSUN_MEETING_TOKEN";

/** Who acts, as typed. */
export interface ActingOptions {
  readonly as?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** How a scheduler runs that nobody watches. */
const UNWATCHED: RunOptions = {
  reporter: "silent",
  ask: false,
  plan_only: false,
  scheduler: "here",
  answers: [],
  unanswered: "stop",
  approve_plans: false,
};

/** How long an act may take, with a scheduler that starts for it, and how often the lock for that is tried, in ms. */
const ACTED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

/** A new token of somebody: its id, a full stop, and what nobody can guess. */
export function newToken(id: string): string {
  return `${id}.${randomBytes(24).toString("base64url")}`;
}

/** What is recorded of a token. */
export function digestOf(token: string): string {
  return `sha256:${createHash("sha256").update(token).digest("hex")}`;
}

/**
 * Puts what somebody does from outside to a session, and waits for what becomes of it; a session without a scheduler gets one. `shown` is printed
 * if it was accepted. Fails with the session's refusal, `not_permitted` for an agent that shows no token, or `usage` for a session that nobody
 * takes part in from outside.
 */
export async function actOn(
  context: CommandContext,
  named: string,
  message: PersonMessage,
  options: ActingOptions,
  shown: { readonly lines?: readonly string[]; readonly json?: object; readonly open?: true } = {},
): Promise<Exit> {
  const { environment, terminal } = context;
  const actor = actorOf(options, environment[TOKEN_VARIABLE]);
  const refused =
    actor.participant !== undefined || shown.open ? undefined : onlyForPeople(`meeting … ${named}`, environment);
  if (refused) return err({ ...refused, hint: `Show who you are: --token TOKEN, or ${TOKEN_VARIABLE}.` });
  return withSession(openHomeOf, context, named, CHANGE, async (found) => {
    const unfit = whyUnfit(found.row, message);
    if (unfit) return err(unfit);
    const put = await putAndAttend(context, found, found.row, message, actor);
    if (!put.ok) return put;
    const { session_id } = found;
    const record = put.value.took === "taken" ? put.value.record : undefined;
    if (options.json === true) {
      const known = { meeting_id: session_id, message_id: record && `m${sequenceOf(put.value)}` };
      terminal.out.line(safeJson({ ...known, ...shown.json }));
      return ok(EXIT_DONE);
    }
    tellPut(context, put.value, shown.lines?.[0]);
    for (const line of shown.lines?.slice(1) ?? []) terminal.out.line(line);
    return ok(EXIT_DONE);
  });
}

function sequenceOf(put: Put): number | undefined {
  return put.took === "taken" ? put.sequence : undefined;
}

/** The sender, as its channel knows it. A token says whose it is. */
function actorOf({ as, token }: ActingOptions, variable: string | undefined): Actor {
  const shown = token ?? variable;
  if (shown === undefined || shown === "") return { ...actorHere(), ...(as === undefined ? {} : { participant: as }) };
  return { ...actorHere(), participant: as ?? shown.slice(0, shown.lastIndexOf(".")), key: digestOf(shown) };
}

function whyUnfit({ session_id, mode }: SessionRow, { payload_type }: PersonMessage): Failure | undefined {
  const { outsiders } = DESCRIPTORS.find(({ name }) => name === mode) ?? {};
  if (outsiders?.includes(payload_type)) return undefined;
  return failure("usage", `${session_id} is a ${mode}, in which nobody takes part from outside.`, {
    hint: "bosun meeting list shows those in which somebody can.",
  });
}

/** Puts a message, and starts a scheduler for it if the session has none. */
async function putAndAttend(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  message: PersonMessage,
  actor: Actor,
): Promise<Fallible<Put>> {
  const over = AbortSignal.timeout(ACTED_WITHIN_MS);
  const put = await putMessage(home.store, row, message, actor);
  if (!put.ok || put.value.took !== "waits") return put;
  const { inbox_id } = put.value;
  for (;;) {
    const attended = await attend(context, home, row);
    if (!attended.ok) return attended;
    const outcome = await outcomeOf(home.store, row, inbox_id, over);
    if (!outcome.ok) return outcome;
    if (outcome.value.took !== "waits") return ok({ ...put.value, ...outcome.value });
    if (over.aborted) return fails("timeout", `${row.session_id} has no scheduler that takes it.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Starts a scheduler, unless another command does so at this moment. */
async function attend(
  context: CommandContext,
  { home }: OpenHome<Store>,
  { session_id }: SessionRow,
): Promise<Fallible<void>> {
  const lock = takeLock(join(sessionPaths(home, session_id).folder, "starting.lock"));
  if (!lock.ok || lock.value === null) return lock.ok ? ok(undefined) : lock;
  try {
    const order = { do: "take_up", session_id, change: {}, runOptions: UNWATCHED } as const;
    const scheduler = startScheduler(context, home, order, PATIENCE_MS);
    if (!scheduler.ok) return scheduler;
    const answer = await scheduler.value.answer;
    const { child } = scheduler.value;
    if (child.connected) child.disconnect();
    child.unref();
    return answer?.kind === "failed" && answer.failure.code !== "busy" ? err(answer.failure) : ok(undefined);
  } finally {
    lock.value.release();
  }
}
