import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { digestOf } from "../../kernel/mailbox.ts";
import { defined } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { type Failure, failure, fails, type Fallible } from "../../protocol/failure.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import type { Actor } from "../../protocol/record.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { takeLock } from "../../store/lock.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import { safeJson, safeLine } from "../../ui/display.ts";
import { tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import { type Outcome, outcomeOf, type PersonMessage, putMessage } from "../interaction/put.ts";
import { openHomeOf, withSession } from "../lookup/homes.ts";
import { CHANGE } from "../lookup/resolve.ts";
import { DESCRIPTORS } from "../../modes/index.ts";
import type { RunOptions } from "../options/run-options.ts";
import { leaveRunning } from "./scheduler-process.ts";

/** The variable that holds a token, so that it stands in no list of processes. */
export const TOKEN_VARIABLE = "BOSUN_MEETING_TOKEN";

/** Who acts, as typed. */
export interface ActingOptions {
  readonly as?: string | undefined;
  readonly token?: string | undefined;
  readonly json?: boolean;
  /** The way of the act, if it is no command. */
  readonly via?: string;
  /** Whether anybody may act so, without a token. */
  readonly open?: boolean;
}

/** What is printed of an act that was accepted: lines, fields of the JSON, and commands for the session. */
interface Shown {
  readonly lines?: readonly string[];
  readonly json?: object;
  readonly next?: readonly string[];
}

interface Acted {
  readonly meeting_id: string;
  readonly message_id: string;
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

/** How long an act may wait, with a scheduler that starts for it, and how often it looks, in ms. */
const TAKEN_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;

/** Does as `taken`, and prints `shown` if the act was accepted. */
export async function actOn(
  context: CommandContext,
  named: string,
  message: PersonMessage,
  options: ActingOptions,
  shown: Shown = {},
): Promise<Exit> {
  const acted = await taken(context, named, message, options);
  if (!acted.ok) return acted;
  const { meeting_id, message_id } = acted.value;
  const { out } = context.terminal;
  if (options.json === true) out.line(safeJson({ meeting_id, message_id, ...shown.json }));
  else {
    for (const line of [`${meeting_id} has it as ${message_id}.`, ...(shown.lines ?? [])]) out.line(safeLine(line));
    tellNext(out, ...(shown.next ?? []).map((command) => `${command} ${meeting_id}`));
  }
  return ok(EXIT_DONE);
}

/**
 * Puts what somebody does from outside to a session, and waits for what becomes of it; a session without a scheduler gets one. Fails with the
 * session's refusal, `not_permitted` for an agent that shows no token, or `usage` for a session that nobody takes part in from outside.
 */
export async function taken(
  context: CommandContext,
  named: string,
  message: PersonMessage,
  options: ActingOptions,
): Promise<Fallible<Acted>> {
  const { environment } = context;
  const actor = actorOf(options, environment[TOKEN_VARIABLE]);
  if (!actor.ok) return actor;
  const isKnown = actor.value.participant !== undefined || options.open;
  const refused = isKnown ? undefined : onlyForPeople("…", environment);
  if (refused) return err({ ...refused, hint: `Show who you are: --token TOKEN, or ${TOKEN_VARIABLE}.` });
  return withSession(openHomeOf, context, named, CHANGE, async (found) => {
    const { session_id, row } = found;
    const unfit = whyUnfit(row, message);
    if (unfit) return err(unfit);
    const sequence = await putAndAttend(context, found, row, message, actor.value);
    return sequence.ok ? ok({ meeting_id: session_id, message_id: `m${sequence.value}` }) : sequence;
  });
}

/** An id of somebody outside, as a record allows it. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** As whom somebody acts: as typed, or as the token says; undefined for the local user. */
export function whoActs({ as, token }: ActingOptions, variable = ""): string | undefined {
  const shown = token ?? variable;
  return as ?? (shown === "" ? undefined : shown.slice(0, shown.lastIndexOf(".")));
}

/** The sender, as its channel knows it. A token says whose it is. */
function actorOf({ as, token, via }: ActingOptions, variable = ""): Fallible<Actor> {
  const here = { ...actorHere(), ...defined({ via }) };
  const shown = token ?? variable;
  const participant = whoActs({ as, token }, variable);
  if (participant === undefined) return ok(here);
  if (!ID.test(participant))
    return fails("usage", `${JSON.stringify(participant)} is no id.`, { hint: "Ids have letters, digits and . _ -." });
  return ok({ ...here, participant, ...(shown === "" ? {} : { key: digestOf(shown) }) });
}

function whyUnfit({ session_id, mode }: SessionRow, { payload_type }: PersonMessage): Failure | undefined {
  const { outsiders } = DESCRIPTORS.find(({ name }) => name === mode) ?? {};
  if (outsiders?.includes(payload_type)) return undefined;
  return failure("usage", `${session_id} is a ${mode}, in which nobody takes part from outside.`, {
    hint: "bosun meeting list shows those in which somebody can.",
  });
}

/** Puts a message, and starts a scheduler for it if the session has none. Gives the sequence of its record; `timeout` if nothing takes it. */
async function putAndAttend(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  message: PersonMessage,
  actor: Actor,
): Promise<Fallible<number>> {
  const { store } = home;
  const over = AbortSignal.timeout(TAKEN_WITHIN_MS);
  const put = await putMessage(store, row, message, actor);
  if (!put.ok) return put;
  for (let outcome: Outcome = put.value; ; ) {
    if (outcome.took === "taken") return ok(outcome.sequence ?? 0);
    if (outcome.took === "waits") {
      const attended = await attend(context, home, row);
      if (!attended.ok) return attended;
    }
    if (over.aborted)
      return fails("timeout", `${row.session_id} keeps it, and has not taken it yet.`, {
        hint: `bosun status ${row.session_id} says why.`,
      });
    await delay(LOOK_EVERY_MS);
    const next = await outcomeOf(store, row, outcome.inbox_id, over);
    if (!next.ok) return next;
    outcome = next.value;
  }
}

/** Starts a scheduler, unless another command does so at this moment. */
async function attend(
  context: CommandContext,
  home: OpenHome<Store>,
  { session_id }: SessionRow,
): Promise<Fallible<void>> {
  const lock = takeLock(join(sessionPaths(home.home, session_id).folder, "starting.lock"));
  if (!lock.ok || lock.value === null) return lock.ok ? ok(undefined) : lock;
  try {
    const order = { do: "take_up", session_id, change: {}, runOptions: UNWATCHED } as const;
    const begun = await leaveRunning(context, home, order);
    return begun.ok || begun.error.code === "busy" ? ok(undefined) : begun;
  } finally {
    lock.value.release();
  }
}
