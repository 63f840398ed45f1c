import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { inheritedReplaced } from "../../agents/inherited-descriptors.ts";
import { idsAt } from "../../kernel/kit/input.ts";
import { err, ok } from "../../lib/result.ts";
import { DESCRIPTORS } from "../../modes/index.ts";
import { type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import { SCHEDULER_NODE_ARGUMENTS } from "../../runtime/memory.ts";
import type { ResumeTerms } from "../../runtime/resume.ts";
import type { Store } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { ownArguments } from "../context/program.ts";
import type { OpenHome } from "../context/home.ts";
import type { PersonMessage } from "../interaction/put.ts";
import type { RunInput } from "../options/run-input.ts";
import type { RunOptions } from "../options/run-options.ts";
import { dirname, join } from "node:path";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { attempt } from "../../log/attempt.ts";
import { sessionPaths } from "../../runtime/paths.ts";

/**
 * How long a scheduler in its own process waits for a person when only a person can move its session, in ms: long enough to notice and
 * answer, too short to be forgotten.
 */
export const PATIENCE_MS = 15 * 60_000;

/** What changes when a command resumes a session. */
export interface TakeUp extends Omit<ResumeTerms, "roles"> {
  /** Messages that it takes before it continues. */
  readonly facts?: readonly PersonMessage[];
}

/** What a scheduler in its own process has to do. The process that gives the order has checked everything, so the scheduler asks nothing. */
export type Order = { readonly session_id: string; readonly runOptions: RunOptions } & (
  | { readonly do: "begin"; readonly input: RunInput }
  | { readonly do: "take_up"; readonly change: TakeUp }
);

/**
 * From the launching process to its scheduler: the order, with how long to wait for a person when only a person can move the session, in ms;
 * `left` when the person who launched it leaves a question open.
 */
export type LauncherMessage =
  | { readonly kind: "order"; readonly order: Order; readonly patience_ms: number }
  | { readonly kind: "left" };

/** The scheduler's only reply: the session is on record, or why it is not. */
export type SchedulerMessage = { readonly kind: "begun" } | { readonly kind: "failed"; readonly failure: Failure };

/** A scheduler in its own process, as its launcher sees it. */
export interface Scheduler {
  readonly child: ChildProcess;
  /** Its reply to the order; undefined if it exited without one. */
  readonly answer: Promise<SchedulerMessage | undefined>;
  /** Its exit code; undefined if a signal ended it. */
  readonly exited: Promise<number | undefined>;
  readonly say: (word: LauncherMessage) => void;
}

/** A session that goes on in a process of its own. */
export interface LeftRunning {
  readonly session_id: string;
  readonly pid: number | undefined;
  /** What its scheduler says. */
  readonly log: string;
  /** Of a session that anybody can take part in: who is a role here, and who joins from outside. */
  readonly roles?: readonly string[];
  readonly outside?: readonly string[];
}

/** Runs a session in its own process and leaves it there as soon as it is on record. Failures are the scheduler's own, and those of `startScheduler`. */
export async function leaveRunning(
  context: CommandContext,
  opened: OpenHome<Store>,
  order: Order,
): Promise<Fallible<LeftRunning>> {
  const started = startScheduler(context, opened.home, order, PATIENCE_MS);
  if (!started.ok) return started;
  const { child, answer } = started.value;
  const said = await answer;
  const why = said?.kind === "begun" ? undefined : whyNeverBegan(opened, order, said);
  return why ? err(why) : ok(letGo(child, opened.home, order));
}

/** Why the scheduler did not begin; undefined if the session exists all the same. */
export function whyNeverBegan(
  { home, store }: OpenHome<Store>,
  { session_id }: Order,
  answer: SchedulerMessage | undefined,
): Failure | undefined {
  if (answer?.kind === "failed") return answer.failure;
  const row = store.session(session_id);
  if (row.ok) return undefined;
  if (row.error.code !== "not_found") return row.error;
  const what = `The scheduler of ${session_id} ended before the session began${lastWords(home, session_id)}`;
  return failure("internal", what, { hint: "Run it in this process to see more: --foreground." });
}

/** Lets a scheduler go on without this process. */
export function letGo(scheduler: ChildProcess, home: string, order: Order): LeftRunning {
  const { session_id } = order;
  // Else this process could not exit before it.
  if (scheduler.connected) scheduler.disconnect();
  scheduler.unref();
  const seated = order.do === "begin" ? seatedIn(order.input) : {};
  return { session_id, pid: scheduler.pid, log: schedulerLog(home, session_id), ...seated };
}

/** Who is a role in the seats that stand open to others. */
function seatedIn({ mode, session: { input = {}, roles } }: RunInput): Pick<LeftRunning, "roles" | "outside"> {
  const seats = DESCRIPTORS.find(({ name }) => name === mode)?.seats.filter(({ open }) => open) ?? [];
  const ids = [...new Set(seats.flatMap((seat) => idsAt(input, seat).map(({ role_id }) => role_id)))];
  const isRole = (id: string) => roles.some(({ role_id }) => role_id === id);
  return seats.length === 0 ? {} : { roles: ids.filter(isRole), outside: ids.filter((id) => !isRole(id)) };
}

/**
 * Starts a scheduler in a new process session and gives it its order. Fails with `storage` or `storage_full` if its log cannot be opened. If
 * the process cannot be started, the failure is its answer.
 */
export function startScheduler(
  context: CommandContext,
  home: string,
  order: Order,
  patience_ms: number,
): Fallible<Scheduler> {
  const { session_id } = order;
  const file = schedulerLog(home, session_id);
  const open = () => {
    makeDirectory(dirname(file));
    return ok(openSync(file, "a", OWN.mode));
  };
  const opened = attempt(dirname(file), open, "The scheduler's log");
  if (!opened.ok) return opened;
  const log = opened.value;
  const words = ["--home", home, "scheduler", session_id];
  // Not execa, because its IPC has its own protocol and its promise would keep this process from exiting first.
  const child = spawn(process.execPath, ownArguments(words, SCHEDULER_NODE_ARGUMENTS), {
    cwd: context.directory,
    env: context.environment,
    // In a new process session (setsid), so that the hang-up of a terminal does not reach it.
    detached: true,
    stdio: ["ignore", log, log, "ipc", ...inheritedReplaced().slice(1)],
  });
  closeSync(log);
  const exited = new Promise<number | undefined>((resolve) => {
    child.once("exit", (code) => resolve(code ?? undefined));
  });
  const say = (word: LauncherMessage) => void (child.connected && child.send(word, () => {}));
  say({ kind: "order", order, patience_ms });
  return ok({ child, answer: answerOf(child, exited), exited, say });
}

function answerOf(child: ChildProcess, exited: Promise<unknown>): Promise<SchedulerMessage | undefined> {
  return new Promise((resolve) => {
    child.once("message", (word: SchedulerMessage) => resolve(word));
    child.once("error", (error) =>
      resolve({
        kind: "failed",
        failure: failure("environment", `The scheduler cannot be started: ${error.message}.`, {
          hint: "Run the session in this process: --foreground.",
        }),
      }),
    );
    // The last message may arrive after the exit. The channel disconnects once everything in it was read.
    void exited.then(() => (child.connected ? child.once("disconnect", () => resolve(undefined)) : resolve(undefined)));
  });
}

/** Maximum length of the part of the file that is shown, in characters. */
const WORDS_SHOWN = 4_000;

/** Matches the first line of each scheduler. */
const FIRST_LINE = /^\S+Z process \d+ .*$/gm;

/** The log file of a session's schedulers that run in their own processes. */
function schedulerLog(home: string, session_id: string): string {
  return join(sessionPaths(home, session_id).folder, "scheduler.log");
}

/** Separates the messages of a scheduler from those of earlier ones. */
export function firstLine(at: string, session_id: string): string {
  return `${at} process ${process.pid} runs ${session_id}`;
}

/** The end of a sentence about the exit of the last scheduler: its messages, or a full stop if there are none. */
function lastWords(home: string, session_id: string): string {
  let text = "";
  try {
    text = readFileSync(schedulerLog(home, session_id), "utf8");
  } catch {
    // No file means no messages.
  }
  const words = (text.split(FIRST_LINE).at(-1) ?? "").slice(-WORDS_SHOWN).trim();
  return words === "" ? "." : `, saying:\n${words}`;
}

/** Why a session has neither an owner nor a recorded end. */
export function vanished(home: string, session_id: string): Failure {
  const what = `The scheduler of ${session_id} exited unexpectedly${lastWords(home, session_id)}`;
  return failure("internal", what, { hint: "Everything recorded so far is safe." });
}
