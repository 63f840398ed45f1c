import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { DURATION_FORM } from "../lib/durations.ts";
import { err, ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { recordedEnd } from "../runtime/exit.ts";
import type { StoreReader } from "../store/store.ts";
import { jsonReporter } from "../ui/json.ts";
import { silentReporter } from "../ui/silent.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { vanished } from "./driver/scheduler-process.ts";
import { unsettled } from "./lookup/kept.ts";
import { type Found, readHomeOf, withSession } from "./lookup/homes.ts";
import { ANY_SESSION, SHOW } from "./lookup/resolve.ts";
import { neededOf } from "./lookup/view.ts";
import { durationOf } from "./options/limits.ts";
import { oneOf } from "./options/run-options.ts";
import { buildEnding, storedSnapshot, waitingChildren } from "./presenters/ending.ts";

/** What to wait for: the end of the session, or its end or a need for a person. */
const AIMS = ["end", "input"] as const;

interface WaitOptions {
  readonly timeout?: string;
  readonly until: string;
  readonly json?: boolean;
}

/** How often the session is polled for changes, in ms; a poll costs one pragma. */
const LOOK_EVERY_MS = 100;

/** `bosun wait`, for scripts: shows nothing until the session has ended, and exits with the session's code. */
export function register(command: Command): Action<WaitOptions> {
  command
    .argument(...ANY_SESSION)
    .option("--timeout <duration>", `wait so long at most, then exit with 124: ${DURATION_FORM}`)
    .option("--until <what>", "what to wait for: end; or input, which is the end or that a person is needed", "end")
    .option("--json", "one JSON value on stdout: the result");
  return async (context, [named], { timeout, until, json = false }) => {
    const aim = oneOf("--until", until, AIMS);
    if (!aim.ok) return aim;
    const longest = timeout === undefined ? ok(Number.POSITIVE_INFINITY) : durationOf("--timeout", timeout, 0);
    if (!longest.ok) return longest;
    return withSession(readHomeOf, context, named, SHOW, async (found) => {
      const { store, session_id } = found;
      const came = await waitFor(store, session_id, aim.value, performance.now() + longest.value);
      if (came === "timeout")
        return fails("timeout", `${session_id} has not ended within ${timeout}. It continues to run.`, {
          hint: `bosun attach ${session_id}`,
        });
      return tellResult(context, found, { came, json });
    });
  };
}

/** Waits for the end, or for what else was asked for. If the owner is gone, the session has ended or its scheduler has died. */
async function waitFor(
  store: StoreReader,
  session_id: string,
  aim: (typeof AIMS)[number],
  deadline: number,
): Promise<"end" | "input" | "timeout"> {
  let version: number | undefined;
  let isNeeded = false;
  for (;;) {
    if (store.holder(session_id) === undefined) return "end";
    const wasNeeded = isNeeded;
    const now = store.version();
    if (aim === "input" && now !== version) isNeeded = await needsPerson(store, session_id);
    version = now;
    // A question that was answered beforehand is open only for a moment, so look twice.
    if (wasNeeded && isNeeded) return "input";
    const left = deadline - performance.now();
    if (left <= 0) return "timeout";
    await delay(Math.min(LOOK_EVERY_MS, left));
  }
}

/** Whether the session or a child of it needs a person, and no message of theirs settles it. Throws a `StorageError`. */
async function needsPerson(store: StoreReader, session_id: string): Promise<boolean> {
  const needed = await neededOf(store, session_id);
  const own = { waiting: unsettled(needed.waiting), holds: needed.holds };
  // A spent budget is a limit, not a request: other roles may finish the work.
  return [own, ...(await waitingChildren(store, session_id))].some(
    ({ waiting, holds }) => waiting.length > 0 || holds.some(({ limit }) => limit === undefined),
  );
}

/** Says how the session ended if it did not end well, or what it needs. Returns the exit code. */
async function tellResult(
  { terminal }: CommandContext,
  { home, store, session_id }: Found<StoreReader>,
  { came, json }: { readonly came: "end" | "input"; readonly json: boolean },
): Promise<Exit> {
  const left = await storedSnapshot(store, home, session_id);
  if (!left.ok) return left;
  const recorded = recordedEnd(left.value.ledger.figures);
  const end =
    came === "input"
      ? fails("person_needed", `${session_id} needs you.`)
      : recorded
        ? ok(recorded)
        : err(vanished(home, session_id));
  const ending = buildEnding(home, left.value, { end });
  const reporter = json ? jsonReporter(terminal.out) : silentReporter(terminal);
  // The session is running, so attach to it instead of resuming it.
  const next = ending.next.map((command) =>
    command === `bosun resume ${session_id}` ? `bosun attach ${session_id}` : command,
  );
  reporter.end(came === "input" ? { ...ending, next } : ending);
  return ok(ending.exit_code);
}
