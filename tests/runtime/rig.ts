import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cliAgent, type CliSettings } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Result } from "../../src/lib/result.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import type { Failure } from "../../src/protocol/failure.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { SessionEnd, SessionEvent } from "../../src/runtime/bus.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import type { FactInput } from "../../src/runtime/facts.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { childSessions } from "../../src/runtime/children/child-sessions.ts";
import { createSession } from "../../src/runtime/create.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import type { NotificationHook } from "../../src/runtime/notifications.ts";
import { type Proof, verifySession } from "../../src/runtime/proof.ts";
import type { Session } from "../../src/runtime/session.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { value } from "../results.ts";
import { living } from "../processes.ts";
import { recordsIn } from "../log-files.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples/agents");
const modes = new Map([
  ["schedule", scheduleMode as Mode<unknown>],
  ["debate", debateMode as Mode<unknown>],
]);

/** The product's, and those that a test has brought. */
export const MODES: ReadonlyMap<string, Mode<unknown>> = modes;

/** Long enough for a busy machine; a run that waits for it is broken anyhow. */
const GRACE_MS = 5_000;

export function cli(settings: Partial<CliSettings> = {}): Agent {
  return cliAgent({
    launcher: embeddedLauncher(),
    settings: {
      kill_grace_ms: GRACE_MS,
      answer_grace_ms: GRACE_MS,
      max_line_bytes: 8_388_608,
      max_output_bytes: 67_108_864,
      environment: { PATH: process.env["PATH"] },
      redact: (text) => text,
      ...settings,
    },
  });
}

function configuration(more: Partial<ResolvedConfiguration> = {}): ResolvedConfiguration {
  const base = { ...CONFIGURATION_DEFAULTS, plan_approval: "never", retry_backoff_ms: 1, kill_grace_s: 1 };
  return { ...base, workspace: "", ...more } as ResolvedConfiguration;
}

/** A home and a workspace of their own, and every session that was made in it. */
export interface Rig {
  readonly home: string;
  readonly workspace: string;
  store: Store;
}

const rigs: Rig[] = [];
const directories: string[] = [];
const stores = new Set<Store>();
let made = 0;

/** Collections of which a closed session has nothing. */
const OPEN = new Set(["turn", "timer", "ask", "check", "child", "hold", "process"]);

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-runtime-"));
  directories.push(directory);
  return directory;
}

export function newRig(): Rig {
  const rig = { home: temporaryDirectory(), workspace: temporaryDirectory(), store: undefined as unknown as Store };
  rigs.push(rig);
  reopen(rig);
  return rig;
}

/** The store as another process would open it; the one before is closed. */
function reopen(rig: Rig): void {
  shut(rig);
  rig.store = value(openStore(rig.home));
  stores.add(rig.store);
}

function shut(rig: Rig): void {
  if (stores.delete(rig.store)) rig.store.close();
}

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
  /** The rules of its child sessions, if they are none of the product's. */
  readonly childMode?: Mode<unknown>;
}

export const CREW: readonly Role[] = [
  { role_id: "boss", type: "manager", cli_command: ["unused"] },
  { role_id: "hand", type: "worker", cli_command: ["unused"], supports_multiple_instances: true },
];

/** The same, of which one role has something else. */
export function withRole(role_id: string, more: Partial<Role>): Role[] {
  return CREW.map((role) => (role.role_id === role_id ? { ...role, ...more } : role));
}

/** The same, whose worker is a program in sh. */
export function withWorker(script: string): Role[] {
  return withRole("hand", { cli_command: shell(script) });
}

/** The crew of `examples/agents`, each seat in the language that is asked for. */
export function foreignCrew(
  manager: "sh" | "py",
  worker: "sh" | "py",
  env: { boss?: Role["env"]; hand?: Role["env"] } = {},
): Role[] {
  const program = (name: string, language: "sh" | "py") =>
    [language === "sh" ? "sh" : "python3", join(EXAMPLES, `${name}.${language}`)] as Role["cli_command"];
  return [
    {
      role_id: "boss",
      type: "manager",
      cli_command: program("manager", manager),
      ...(env.boss ? { env: env.boss } : {}),
    },
    {
      role_id: "hand",
      type: "worker",
      cli_command: program("worker", worker),
      supports_multiple_instances: true,
      ...(env.hand ? { env: env.hand } : {}),
    },
  ] as Role[];
}

const PRELUDE = `
IFS= read -r request || exit 0
say() {
  printf '{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"%s","version":"1.0","payload":%s}\\n' \\
    "$BOSUN_SESSION_ID" "\${AS-$BOSUN_ROLE_ID}" "$1" "$2"
}
`;

/** The command of a program in sh that has read its request, and says envelopes with \`say TYPE PAYLOAD\`. */
export function shell(script: string, ...parameters: string[]): NonNullable<Role["cli_command"]> {
  return ["sh", "-c", PRELUDE + script, "sh", ...parameters];
}

/** What a worker in sh says when all went well. */
export const REPORT = `say report '{"status":"completed","summary":"It is done."}'`;

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

export function tryBegin(rig: Rig, choices: Choices): Promise<Result<Session<ScheduleState>, Failure>> {
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

/** Runs it as far as it goes without a person; `answer` gives what a person would say to each thing asked. */
export async function run(
  session: Session<ScheduleState>,
  answer?: (ask: Extract<SessionEvent, { kind: "ask" }>["ask"]) => Pick<FactInput, "payload_type" | "payload">,
): Promise<SessionEnd> {
  if (answer) {
    session.bus.subscribe((event) => {
      if (event.kind === "ask") session.submit({ source: "user", ...answer(event.ask) });
    });
  }
  return value(await session.run({ waitForPeople: answer !== undefined }));
}

/** Gives a session a person's command. */
export function say(session: Session<unknown>, command: string, more: JsonObject = {}) {
  return session.submit({ source: "user", payload_type: "user_command", payload: { command, ...more } });
}

/** Answers every question with its default, as a person does who is in a hurry. */
export function defaults(rig: Rig, session: Session<ScheduleState>) {
  return (ask: { record: number }): Pick<FactInput, "payload_type" | "payload"> => {
    const { payload } = JSON.parse(rig.store.record(session.session_id, ask.record) ?? "") as LogRecord;
    const questions = payload["questions"] as { question_id: string; default?: string }[];
    const answers = questions.map(({ question_id, default: text }) => ({ question_id, text: text ?? "yes" }));
    return { payload_type: "clarification_response", payload: { status: "answered", answers } };
  };
}

/** Waits until the session tells of something that fits. */
export function told(session: Session<ScheduleState>, fits: (event: SessionEvent) => boolean): Promise<SessionEvent> {
  const heard = Promise.withResolvers<SessionEvent>();
  const leave = session.bus.subscribe((event) => {
    if (!fits(event)) return;
    leave();
    heard.resolve(event);
  });
  return heard.promise;
}

/** Fits a record of a type, about a ticket if one is named. */
export function recordOf(payload_type: string, ticket?: string): (event: SessionEvent) => boolean {
  return (event) =>
    event.kind === "record" &&
    event.record.payload_type === payload_type &&
    (ticket === undefined || event.record.record.ticket_id === ticket);
}

export function logFolder(rig: Rig, session_id: string): string {
  return join(rig.home, "logs", session_id);
}

/** Everything that stands in the session's log folder, in order. */
export function logOf(rig: Rig, session_id: string, payload_type?: string): LogRecord[] {
  return recordsIn(logFolder(rig, session_id)).filter(
    (record) => payload_type === undefined || record.payload_type === payload_type,
  );
}

export function reportOf(rig: Rig, session_id: string): JsonObject {
  return JSON.parse(readFileSync(join(rig.home, "sessions", session_id, "final_report.json"), "utf8")) as JsonObject;
}

function proofOf(rig: Rig, session_id: string): Proof {
  return value(verifySession(logFolder(rig, session_id), MODES));
}

/** What a session that is over must not have left, in words; nothing if all is well. */
async function leftBy(rig: Rig, session_id: string): Promise<string[]> {
  const stored = value(await rig.store.load(session_id));
  const row = stored.session;
  const proof = proofOf(rig, session_id);
  const faults = [
    ...living(session_id).map((pid) => `process ${pid} lives`),
    ...proof.problems.map(({ sequence, what }) => `record ${sequence}: ${what}`),
    ...(proof.decisions === "ok" ? [] : [`decisions: ${proof.decisions}`]),
    ...(proof.records === row.last_sequence ? [] : [`${proof.records} files for ${row.last_sequence} records`]),
  ];
  if (row.outcome === null) return faults;
  const open = [...stored.rows()].filter(({ collection }) => OPEN.has(collection));
  return [
    ...faults,
    ...(proof.ok ? [] : [`closed, but its log is ${proof.completeness}`]),
    ...open.map(({ collection, id }) => `${collection} ${id} is left`),
  ];
}

/** For `afterEach`: every session that the test made proves itself, and nothing stays behind. */
export async function cleanUp(): Promise<void> {
  const faults: string[] = [];
  try {
    for (const rig of rigs.splice(0)) {
      reopen(rig);
      for (const { session_id, last_sequence } of rig.store.sessions()) {
        if (last_sequence === 0) continue;
        for (const fault of await leftBy(rig, session_id)) faults.push(`${session_id}: ${fault}`);
      }
    }
  } finally {
    for (const store of stores) store.close();
    stores.clear();
    for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
