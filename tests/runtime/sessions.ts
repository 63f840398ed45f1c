import { readFileSync } from "node:fs";
import { join } from "node:path";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { loadModes } from "../../src/modes/index.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import type { Fallible } from "../../src/protocol/failure.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import type { SessionEnd, SessionEvent } from "../../src/runtime/bus.ts";
import { childSessions } from "../../src/runtime/children/child-sessions.ts";
import { liveFeed, type LiveSession } from "../../src/runtime/feed/live.ts";
import type { ToldAsk } from "../../src/protocol/telling.ts";
import { createSession } from "../../src/runtime/create.ts";
import type { FactInput } from "../../src/runtime/facts.ts";
import type { NotificationHook } from "../../src/runtime/notifications.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import type { Session } from "../../src/runtime/session.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { recordsIn } from "../log-files.ts";
import { value } from "../results.ts";
import { cli, CREW } from "./roles.ts";

const modes = await loadModes();

/** The product's modes, and those that tests add. */
export const MODES: ReadonlyMap<string, Mode<unknown>> = modes;

/** How a successful session ends. */
export const DONE = { kind: "closed", outcome: "done" } as const;

/** A home and a workspace for sessions. */
export interface Rig {
  readonly home: string;
  readonly workspace: string;
  readonly store: Store;
}

/** Number of a session's subjects in each status. */
export function countsIn(session: Session<unknown>): Record<string, number> {
  return Object.fromEntries(session.state(() => "").counts);
}

let made = 0;

export function sessionId(): string {
  made += 1;
  return `s-${process.pid}-${made}`;
}

export interface Choices {
  readonly session_id?: string;
  readonly roles?: readonly Role[];
  readonly config?: Partial<ResolvedConfiguration>;
  readonly facts?: readonly Pick<FactInput, "payload_type" | "payload">[];
  readonly agentFor?: (role: Role) => Agent;
  readonly input?: JsonObject;
  readonly store?: Store;
  readonly clock?: Clock;
  readonly notify?: NotificationHook;
  /** A mode for child sessions that the product does not have. */
  readonly childMode?: Mode<unknown>;
}

function configuration(more: Partial<ResolvedConfiguration> = {}): ResolvedConfiguration {
  const base = { ...CONFIGURATION_DEFAULTS, plan_approval: "never", retry_backoff_ms: 1, kill_grace_s: 1 };
  return { ...base, workspace: "", ...more } as ResolvedConfiguration;
}

export function surroundings(rig: Rig, choices: Choices): Surroundings {
  const command = cli();
  if (choices.childMode) modes.set(choices.childMode.name, choices.childMode);
  return {
    home: rig.home,
    store: choices.store ?? rig.store,
    clock: choices.clock ?? systemClock,
    launcher: embeddedLauncher(),
    version: "0.1.0",
    agentFor: choices.agentFor ?? (() => command),
    files: true,
    childrenOf: childSessions(async (name) => MODES.get(name)),
    ...(choices.notify ? { notify: choices.notify } : {}),
  };
}

export async function begin(rig: Rig, choices: Choices = {}): Promise<Session<ScheduleState>> {
  return value(await tryBegin(rig, choices));
}

export function tryBegin(rig: Rig, choices: Choices): Promise<Fallible<Session<ScheduleState>>> {
  return createSession(surroundings(rig, choices), scheduleMode, {
    session_id: choices.session_id ?? sessionId(),
    requirement: "Do the thing",
    config: configuration({ workspace: rig.workspace, ...choices.config }),
    roles: choices.roles ?? CREW,
    workspace: rig.workspace,
    started_by: { user: "ada", host: "here", via: "test" },
    facts: choices.facts ?? [{ payload_type: "requirement", payload: { text: "Do the thing" } }],
    ...(choices.input ? { input: choices.input } : {}),
  });
}

export async function resume(
  rig: Rig,
  session_id: string,
  choices: Choices = {},
  change: { readonly limits?: JsonObject; readonly reopen?: string } = {},
): Promise<Session<ScheduleState>> {
  const row = value(rig.store.session(session_id));
  return value(await resumeSession(surroundings(rig, choices), scheduleMode, row, change));
}

/** Runs a session as far as it goes without a person; `answer` answers for one. */
export async function run(
  session: Session<ScheduleState>,
  answer?: (ask: ToldAsk) => Pick<FactInput, "payload_type" | "payload">,
): Promise<SessionEnd> {
  if (answer) onAsk(session, (ask) => void session.submit({ source: "user", ...answer(ask) }));
  return value(await session.run({ waitForPeople: answer !== undefined }));
}

/** Calls back with everything that waits for a person from now on. */
export function onAsk(session: LiveSession, listener: (ask: ToldAsk) => void): void {
  liveFeed(session).subscribe((event) => {
    if (event.kind === "ask") listener(event.ask);
  });
}

/** Settles when something waits for a person. */
export function isAsked(session: LiveSession): Promise<ToldAsk> {
  return new Promise((resolve) => onAsk(session, resolve));
}

/** Submits a command as a person. */
export function say(session: Session<unknown>, command: string, more: JsonObject = {}) {
  return session.submit({ source: "user", payload_type: "user_command", payload: { command, ...more } });
}

/** Answers every question with its default, or "yes". */
export function defaults(rig: Rig, session: Session<ScheduleState>) {
  return (ask: { record: number }): Pick<FactInput, "payload_type" | "payload"> => {
    const { payload } = JSON.parse(rig.store.record(session.session_id, ask.record) ?? "") as LogRecord;
    const questions = payload["questions"] as { question_id: string; default?: string }[];
    const answers = questions.map(({ question_id, default: text }) => ({ question_id, text: text ?? "yes" }));
    return { payload_type: "clarification_response", payload: { status: "answered", answers } };
  };
}

/** Waits for the first event that fits. */
export function told(session: Session<ScheduleState>, fits: (event: SessionEvent) => boolean): Promise<SessionEvent> {
  const heard = Promise.withResolvers<SessionEvent>();
  const leave = session.bus.subscribe((event) => {
    if (!fits(event)) return;
    leave();
    heard.resolve(event);
  });
  return heard.promise;
}

/** Matches the event of a record of this type, about this ticket if one is named. */
export function recordOf(payload_type: string, ticket?: string): (event: SessionEvent) => boolean {
  return (event) =>
    event.kind === "record" &&
    event.record.payload_type === payload_type &&
    (ticket === undefined || event.record.record.ticket_id === ticket);
}

export function logFolder(rig: Rig, session_id: string): string {
  return join(rig.home, "logs", session_id);
}

/** The records in the session's log folder, in order. */
export function logOf(rig: Rig, session_id: string, payload_type?: string): LogRecord[] {
  return recordsIn(logFolder(rig, session_id)).filter(
    (record) => payload_type === undefined || record.payload_type === payload_type,
  );
}

export function reportOf(rig: Rig, session_id: string): JsonObject {
  return JSON.parse(readFileSync(join(rig.home, "sessions", session_id, "final_report.json"), "utf8")) as JsonObject;
}
