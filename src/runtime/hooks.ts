import { isOver } from "../kernel/presentation.ts";
import type { SubjectState } from "../kernel/state.ts";
import { defined, type JsonObject, textOf } from "../lib/json.ts";
import { tellingOf } from "../protocol/telling.ts";
import type { SessionEvent } from "./bus.ts";
import type { SessionContext } from "./context.ts";
import type { LiveSession } from "./feed/live.ts";
import { FollowedState } from "./feed/standing.ts";
import { type ReadableSession, runWithMessage } from "./notifications.ts";

/** A turn of an agent. `subject` is the id of the ticket, debater or step that it is about. */
export interface HookTurn {
  readonly turn_id: string;
  readonly run: number;
  readonly subject?: string;
}

/** A subject for which no more happens by itself: its work is done, or has failed. */
export type HookStep = Pick<SubjectState, "id" | "title" | "status" | "attempt" | "owner" | "reason">;

/** Callbacks of a host (seed 2). They are called one after another; what they throw is a warning of the session, and changes nothing. */
export interface Hooks {
  on_agent_start?(agent: string, turn: HookTurn): unknown;
  on_agent_finish?(agent: string, result: HookTurn & { payload_type: string; payload: JsonObject }): unknown;
  /** `statuses` counts the subjects in each status. */
  on_step_complete?(step: HookStep, state: { state: string; statuses: Record<string, number> }): unknown;
  on_error?(agent: string, error: HookTurn & { code: string; message: string }): unknown;
}

type HookCall = { [E in keyof Hooks]-?: readonly [event: E, ...args: Parameters<NonNullable<Hooks[E]>>] }[keyof Hooks];

/** What a command gets on stdin: the arguments under these names. */
const NAMES: Readonly<Record<keyof Hooks, readonly [string, string]>> = {
  on_agent_start: ["agent", "task"],
  on_agent_finish: ["agent", "result"],
  on_step_complete: ["step", "state"],
  on_error: ["agent", "error"],
};

/** The timeout of a command, in ms, and the key of its stored process. */
const COMMAND_MS = 30_000;
const ID = "hook";

type HookedSession = LiveSession & Pick<ReadableSession, "resolve">;

/** Makes a call. Gives, or throws, why it failed. */
type MakeCall = (call: HookCall, signal: AbortSignal) => Promise<string | undefined>;

/** Calls hooks for what happens in a session from now on, in order and one at a time. */
export class HookCalls {
  readonly #session: HookedSession;
  readonly #make: MakeCall;
  readonly #made: () => void;
  readonly #followed: FollowedState;
  readonly #abort = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #open = 0;

  /** `made` is called after each call. */
  constructor(session: HookedSession, make: MakeCall, made: () => void = () => {}) {
    this.#session = session;
    this.#make = make;
    this.#made = made;
    this.#followed = new FollowedState(session.state((title) => textOf(session.resolve({ title }).title)));
    session.bus.subscribe((event) => this.#callsFor(event).forEach((call) => this.#queue(call)));
  }

  get isBusy(): boolean {
    return this.#open > 0;
  }

  /** Ends the call, and makes no further one. */
  abort(): void {
    this.#abort.abort();
  }

  idle(): Promise<void> {
    return this.#last;
  }

  #queue(call: HookCall): void {
    const { signal } = this.#abort;
    this.#open += 1;
    this.#last = this.#last
      .then(() => (signal.aborted ? undefined : this.#make(call, signal)))
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      .then((trouble) => {
        this.#open -= 1;
        const text = `The hook ${call[0]} failed: ${trouble}. The session goes on without it.`;
        if (trouble !== undefined && !signal.aborted) this.#session.bus.emit({ kind: "warning", text });
        this.#made();
      });
  }

  #callsFor(event: SessionEvent): HookCall[] {
    if (event.kind === "turn_started") return [["on_agent_start", event.role_id, turnOf(event)]];
    if (event.kind !== "record") return [];
    const { record } = event;
    const { ended, moves } = tellingOf(record);
    const over = ended.turns.flatMap((id) => this.#followed.state.turns.get(id) ?? []);
    this.#followed.add(record);
    const { payload_type, payload } = record;
    const isError = payload_type === "turn_failed" || payload_type === "error";
    const told = { code: textOf(payload.code), message: textOf(payload.message) };
    const answers = over.map((turn): HookCall => {
      if (isError) return ["on_error", turn.role_id, { ...turnOf(turn), ...told }];
      return ["on_agent_finish", turn.role_id, { ...turnOf(turn), payload_type, payload }];
    });
    const { subjects, counts, state } = this.#followed.state;
    const steps = moves.flatMap(({ subject: id, to: status }): HookCall[] => {
      const moved = subjects.get(id);
      if (!moved || !isOver(this.#session.presentation, status)) return [];
      const { title, attempt, owner, reason } = moved;
      const step = { id, title, status, attempt, owner, reason };
      return [["on_step_complete", step, { state, statuses: Object.fromEntries(counts) }]];
    });
    return [...answers, ...steps];
  }
}

function turnOf({ turn_id, run, subject }: { turn_id: string; run: number; subject?: string | undefined }): HookTurn {
  return { turn_id, run, ...defined({ subject }) };
}

/** Calls a host's hooks for a session, from now on. Returns a function that ends this. */
export function callHooks(session: HookedSession, hooks: Hooks): () => void {
  const calls = new HookCalls(session, async ([event, ...args]) => {
    await (hooks[event] as ((...all: readonly unknown[]) => unknown) | undefined)?.(...args);
    return undefined;
  });
  return () => calls.abort();
}

/** Runs the commands of the settings as hooks; undefined if there are none. A call that a dead scheduler left is not made again. */
export function hookCommands(context: SessionContext, session: HookedSession): HookCalls | undefined {
  const { hooks } = context.config;
  if (!hooks) return undefined;
  const run: MakeCall = async ([event, ...args], signal) => {
    const command = hooks[event];
    if (!command) return undefined;
    const [first, second] = NAMES[event];
    const told = {
      event,
      session_id: context.session_id,
      [first]: args[0],
      [second]: args[1],
    } as unknown as JsonObject;
    const message = JSON.stringify(context.secrets.json(told));
    const trouble = await runWithMessage(context, { id: ID, event, command, message, timeout_ms: COMMAND_MS }, signal);
    if (!signal.aborted) await context.keep({ drop: "process", id: ID });
    return trouble;
  };
  return new HookCalls(session, run, () => context.schedule());
}
