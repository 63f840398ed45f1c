import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stateOf } from "../../../src/commands/lookup/modes.ts";
import { readerOf } from "../../../src/modes/index.ts";
import type { SessionEvent } from "../../../src/runtime/bus.ts";
import type { SessionFeed } from "../../../src/runtime/feed/feed.ts";
import { liveFeed } from "../../../src/runtime/feed/live.ts";
import { StoredFeed } from "../../../src/runtime/feed/stored.ts";
import type { ScheduleState } from "../../../src/modes/schedule/state.ts";
import type { Session } from "../../../src/runtime/session.ts";
import { openReader } from "../../../src/store/sqlite-store.ts";
import { value } from "../../results.ts";
import { criterion, crew, instructed, report, task } from "../crew.ts";
import { newRig } from "../rig.ts";
import { cli, REPORT, withRole, withWorker } from "../roles.ts";
import { begin, countsIn, DONE, logOf, type Rig, say } from "../sessions.ts";

/** A feed, and what it has told so far. */
interface Watched {
  readonly feed: SessionFeed;
  readonly events: readonly SessionEvent[];
  /** Settles when everything is told. */
  readonly over: Promise<unknown>;
}

type Source = (rig: Rig, session: Session<ScheduleState>, ended: Promise<unknown>) => Promise<Watched>;

function watch(feed: SessionFeed, over: Promise<unknown>): Watched {
  const events: SessionEvent[] = [];
  feed.subscribe((event) => void events.push(event));
  return { feed, events, over };
}

const live: Source = async (_rig, session, ended) => watch(liveFeed(session), ended);

const stored: Source = async (rig, session, ended) => {
  const reader = value(openReader(rig.home));
  onTestFinished(() => reader.close());
  const { session_id } = session;
  const output = join(rig.home, "logs", session_id, "output");
  const feed = await StoredFeed.open({ store: reader, session_id, output, first: 1, joins: false, readerOf, stateOf });
  const watched = watch(feed, ended);
  let isOver = false;
  void ended.then(() => (isOver = true));
  return { ...watched, over: feed.follow(() => isOver) };
};

/** Begins a session under watch and runs it; a person is there. */
async function watched(source: Source, rig: Rig, choices: Parameters<typeof begin>[1]) {
  const session = await begin(rig, choices);
  const ended = Promise.withResolvers<unknown>();
  const seen = await source(rig, session, ended.promise);
  void session.run({ waitForPeople: true }).then(ended.resolve, ended.reject);
  return { session, ...seen };
}

const kinds = (events: readonly SessionEvent[]) => events.map(({ kind }) => kind);

function ofKind<K extends SessionEvent["kind"]>(events: readonly SessionEvent[], kind: K) {
  return events.filter((event): event is Extract<SessionEvent, { kind: K }> => event.kind === kind);
}

/** What happened in the first turn of a role, in order: its begin and end, what it printed to stdout, and its records. */
function firstTurnOf(events: readonly SessionEvent[], role: string): string[] {
  const turn_id = ofKind(events, "turn_started").find(({ role_id }) => role_id === role)?.turn_id;
  return events.flatMap((event) => {
    if (event.kind === "record") return event.record.record.turn_id === turn_id ? [event.record.payload_type] : [];
    if (!("turn_id" in event) || event.turn_id !== turn_id) return [];
    if (event.kind === "console") return event.stream === "stdout" ? [event.text] : [];
    return [`${event.kind} ${event.run}`];
  });
}

describe.each([
  ["live", live],
  ["stored", stored],
] as const)("the %s feed", (_name, source) => {
  it("tells every record in order, and how the session was left", async () => {
    const rig = newRig();
    const { session, events, over } = await watched(source, rig, {
      agentFor: crew([instructed("a"), task("b", ["a"])]),
    });
    await over;
    const records = ofKind(events, "record");
    expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1));
    expect(records.map(({ record }) => record.payload_type)).toEqual(
      logOf(rig, session.session_id).map(({ payload_type }) => payload_type),
    );
    expect(records[0]?.record).not.toHaveProperty("integrity");
    expect(events.at(-1)).toEqual({ kind: "ended", end: DONE });
  });

  it("tells when a turn begins and ends, and between them what its agent prints", async () => {
    const rig = newRig();
    const roles = withWorker(`echo one; echo "no end" >&2; echo 'zwei: ü'; printf 'last'; echo; ${REPORT}`);
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const { events, over } = await watched(source, rig, { roles, agentFor });
    await over;
    const printed = ["one", "zwei: ü", "last"];
    expect(firstTurnOf(events, "hand")).toEqual([
      "turn_request",
      "turn_started 1",
      ...printed,
      "report",
      "turn_ended 1",
    ]);
    expect(firstTurnOf(events, "boss")).toEqual(["turn_request", "turn_started 1", "plan", "turn_ended 1"]);
    const errors = ofKind(events, "console").filter(({ stream }) => stream === "stderr");
    expect(errors).toMatchObject([{ role_id: "hand", subject: "a", run: 1, text: "no end" }]);
  });

  it("shows a running turn's process id until the turn ends", async () => {
    const rig = newRig();
    const roles = withWorker(`echo ready; until [ -e go ]; do sleep 0.02; done; ${REPORT}`);
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const { session, feed, events, over } = await watched(source, rig, { roles, agentFor });
    await expect.poll(() => ofKind(events, "console").map(({ text }) => text)).toEqual(["ready"]);
    const [begun] = ofKind(events, "turn_started").filter(({ role_id }) => role_id === "hand");
    expect(begun).toMatchObject({ subject: "a", run: 1, pid: expect.any(Number) as number });
    await expect
      .poll(() => feed.standing())
      .toMatchObject({
        state: "running",
        counts: { in_progress: 1 },
        running: [{ turn_id: begun?.turn_id, role_id: "hand", subject: "a", since: expect.any(Number) as number }],
        waiting: 0,
        checking: [],
        held: [],
      });
    say(session, "stop");
    await over;
    expect(kinds(events).filter((kind) => kind === "stopping" || kind === "ended")).toEqual(["stopping", "ended"]);
    expect(ofKind(events, "stopping")).toEqual([{ kind: "stopping", reason: "signal", running: 1 }]);
    expect(ofKind(events, "turn_ended").at(-1)).toMatchObject({ turn_id: begun?.turn_id });
    expect(events.at(-1)).toMatchObject({ kind: "ended", end: { kind: "stopped", reason: "signal" } });
    expect(feed.standing()).toMatchObject({ state: "stopped" });
  });

  it("shows the latest progress report of a running turn", async () => {
    const rig = newRig();
    const progress = (step: number) => `say report '{"status":"progress","summary":"step ${step}"}'`;
    const roles = withWorker(`${progress(1)}; ${progress(2)}; until [ -e go ]; do sleep 0.02; done; ${REPORT}`);
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const { session, feed, over } = await watched(source, rig, { roles, agentFor });
    await expect.poll(() => feed.standing().running[0]?.progress).toBe("step 2");
    say(session, "cancel");
    await over;
  });

  it("tells of a turn whose program cannot be started", async () => {
    const rig = newRig();
    const roles = withRole("hand", { cli_command: ["./not-there"] });
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const { session, events, over } = await watched(source, rig, { roles, agentFor, config: { max_retries: 0 } });
    await expect.poll(() => ofKind(events, "turn_ended").some(({ role_id }) => role_id === "hand")).toBe(true);
    expect(firstTurnOf(events, "hand")).toEqual(["turn_request", "turn_started 1", "turn_failed", "turn_ended 1"]);
    say(session, "cancel");
    await over;
  });

  it("tells at most a thousand lines of a turn, and each cut at 8,192 characters", async () => {
    const rig = newRig();
    const long = `head -c 20000 /dev/zero | tr '\\0' x; echo`;
    const roles = withWorker(`${long}; seq 1 1500; seq 1 1500 >&2; ${REPORT}`);
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const { events, over } = await watched(source, rig, { roles, agentFor });
    await over;
    const lines = ofKind(events, "console");
    expect(lines).toHaveLength(1_000);
    expect(lines.find(({ stream }) => stream === "stdout")?.text).toBe("x".repeat(8_192));
  });

  it("tells what a person is asked after the record that asks, until it is answered", async () => {
    const rig = newRig();
    const question = { question_id: "who", text: "Who reads it?" };
    const requirement = () =>
      ({ payload_type: "clarification", payload: { status: "open", questions: [question] } }) as const;
    const { session, feed, events, over } = await watched(source, rig, {
      agentFor: crew([task("a")], { requirement }),
    });
    await expect.poll(() => feed.asks()).toMatchObject([{ ask_id: "c1", kind: "questions" }]);
    const at = events.findIndex(({ kind }) => kind === "ask");
    const asking = events.findIndex(
      (event) => event.kind === "record" && event.record.payload_type === "clarification",
    );
    expect(asking).toBeGreaterThanOrEqual(0);
    expect(at).toBeGreaterThan(asking);
    expect(feed.standing().waiting).toBe(1);
    const answers = [{ question_id: "c1.who", text: "Ada" }];
    session.submit({
      source: "user",
      payload_type: "clarification_response",
      payload: { status: "answered", answers },
    });
    await over;
    expect(feed.asks()).toEqual([]);
    expect(ofKind(events, "ask")).toHaveLength(1);
  });

  it("warns once of a notification program that fails", async () => {
    const rig = newRig();
    const notify = { command: ["./not-there"] as [string] };
    const terms = { message: () => "{}", timeout_ms: 1_000, environment: {} };
    const { events, over } = await watched(source, rig, {
      agentFor: crew([task("a")]),
      config: { notify },
      notify: terms,
    });
    await over;
    expect(ofKind(events, "warning")).toHaveLength(1);
    expect(ofKind(events, "warning")[0]?.text).toContain("./not-there");
  });

  it("counts subjects, turns and checks as the session does", async () => {
    const rig = newRig();
    const waits = criterion("sh", "-c", "until [ -e go ]; do sleep 0.02; done");
    const tasks = [instructed("a"), instructed("b", ["a"], { acceptance_criteria: [waits] })];
    const { session, feed, over } = await watched(source, rig, {
      agentFor: crew(tasks, { instruction: () => report() }),
    });
    await expect.poll(() => feed.standing().checking).toEqual(["b"]);
    expect(feed.standing().counts).toEqual(countsIn(session));
    expect(feed.standing().turns).toBe(session.ledger.figures.turns);
    say(session, "cancel");
    await over;
  });
});

it("tells a viewer that comes late of what happens from then on", async () => {
  const rig = newRig();
  const roles = withWorker(`echo early; until [ -e go ]; do sleep 0.02; done; echo late; ${REPORT}`);
  const agentFor = crew([instructed("a")], {}, { hand: cli() });
  const { session, events, over } = await watched(live, rig, { roles, agentFor });
  await expect.poll(() => ofKind(events, "console").map(({ text }) => text)).toEqual(["early"]);
  const reader = value(openReader(rig.home));
  onTestFinished(() => reader.close());
  const { session_id, sequence } = session;
  const output = join(rig.home, "logs", session_id, "output");
  await expect.poll(() => rig.store.session(session_id)).toMatchObject({ value: { last_sequence: sequence } });
  const printed = () => readdirSync(output).map((name) => readFileSync(join(output, name), "utf8"));
  await expect.poll(printed).toEqual(["early\n"]);
  const feed = await StoredFeed.open({
    store: reader,
    session_id,
    output,
    first: sequence,
    joins: true,
    readerOf,
    stateOf,
  });
  const viewer = watch(feed, over);
  expect(feed.standing()).toMatchObject({ counts: { in_progress: 1 }, running: [{ role_id: "hand", subject: "a" }] });
  let isOver = false;
  const followed = feed.follow(() => isOver);
  writeFileSync(join(rig.workspace, "go"), "");
  await over;
  isOver = true;
  await followed;
  expect(ofKind(viewer.events, "console").map(({ text }) => text)).toEqual(["late"]);
  const [begun] = ofKind(events, "turn_started").filter(({ role_id }) => role_id === "hand");
  expect(ofKind(viewer.events, "turn_started").map(({ role_id }) => role_id)).toEqual(["boss"]);
  expect(ofKind(viewer.events, "turn_ended")[0]?.turn_id).toBe(begun?.turn_id);
  expect(ofKind(viewer.events, "record")[0]?.sequence).toBe(sequence);
});

it("tells an ask from the store only if it is still open at the next look", async () => {
  const rig = newRig();
  const question = { question_id: "who", text: "Who reads it?" };
  const requirement = () =>
    ({ payload_type: "clarification", payload: { status: "open", questions: [question] } }) as const;
  const { session, feed, over } = await watched(live, rig, { agentFor: crew([task("a")], { requirement }) });
  await expect.poll(() => feed.asks()).toHaveLength(1);
  const reader = value(openReader(rig.home));
  onTestFinished(() => reader.close());
  const asksAfter = async (looks: number) => {
    const { session_id } = session;
    const later = await StoredFeed.open({
      store: reader,
      session_id,
      output: rig.home,
      first: 1,
      joins: true,
      readerOf,
      stateOf,
    });
    for (let look = 0; look < looks; look += 1) await later.look(false);
    return later.asks().map(({ ask_id }) => ask_id);
  };
  expect(await asksAfter(1)).toEqual([]);
  expect(await asksAfter(2)).toEqual(["c1"]);
  say(session, "cancel");
  await over;
});
