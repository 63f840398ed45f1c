import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { instant } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import { crew, criterion, instructed, report, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, withWorker } from "./roles.ts";
import { begin, DONE, logOf, recordOf, reportOf, resume, run, say, told } from "./sessions.ts";
import { living } from "../processes.ts";

/** Workers in sh that wait until somebody puts a file named `go` into the workspace. */
const WAITING = `while [ ! -e go ]; do sleep 0.02; done\n${REPORT}`;

const STOP = { payload_type: "user_command", payload: { command: "stop", reason: "Enough." } };
const BEA = { user: "bea", host: "elsewhere", via: "test" };

/** A wall clock that is this far from the one that words are put by. */
function shifted(ms: number): Clock {
  return { ...systemClock, now: () => instant(Date.now() + ms) };
}

describe("a stopped session", () => {
  it("by a person's message ends like by a signal and names the person", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const session = await begin(rig, { roles: withWorker(WAITING), agentFor });
    const working = told(session, ({ kind, ...event }) => kind === "turn_started" && "subject" in event);
    const ended = run(session);
    await working;
    await rig.store.inbox.put(session.session_id, STOP, BEA);
    const message = "stopped by bea on elsewhere: Enough.";
    expect(await ended).toEqual({ kind: "stopped", reason: "signal", message });
    expect(living(session.session_id)).toEqual([]);
    const types = logOf(rig, session.session_id).map(({ payload_type }) => payload_type);
    expect(types.slice(-2)).toEqual(["user_command", "session_stopped"]);
    const again = await run(await resume(rig, session.session_id, { agentFor: crew([instructed("a")]) }));
    expect(again).toEqual(DONE);
    expect(reportOf(rig, session.session_id)).toMatchObject({ recoveries: 0, tickets: [{ attempts: 1 }] });
  });

  it("goes on after a resume and refuses the earlier stop message", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")]);
    const session = await begin(rig, { agentFor });
    const ended = session.run({ waitForPeople: false });
    session.stop("signal", "told to by a test");
    await ended;
    await rig.store.inbox.put(session.session_id, STOP, BEA);
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toMatchObject({ outcome: "done" });
    const refused = logOf(rig, session.session_id, "error");
    expect(refused).toMatchObject([
      { payload: { code: "not_permitted" }, record: { disposition: "refused", actor: BEA } },
    ]);
    expect(rig.store.inbox.pending(session.session_id)).toEqual([]);
  });

  it("by a person's message ends though the wall clock was set back", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const session = await begin(rig, {
      roles: withWorker(WAITING),
      agentFor,
      clock: shifted(3_600_000),
    });
    const working = told(session, ({ kind, ...event }) => kind === "turn_started" && "subject" in event);
    const ended = run(session);
    await working;
    await rig.store.inbox.put(session.session_id, STOP, BEA);
    const heard = await Promise.race([ended, told(session, recordOf("error"))]);
    // Whatever became of the word, the workers may end.
    await writeFile(join(rig.workspace, "go"), "");
    await ended;
    expect(heard).toMatchObject({ kind: "stopped", reason: "signal" });
  });

  it("refuses the earlier stop message though the wall clock was set back", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")]);
    const session = await begin(rig, { agentFor });
    const ended = session.run({ waitForPeople: false });
    session.stop("signal", "told to by a test");
    await ended;
    await rig.store.inbox.put(session.session_id, STOP, BEA);
    const resumed = await resume(rig, session.session_id, { agentFor, clock: shifted(-3_600_000) });
    expect(await run(resumed)).toMatchObject({ outcome: "done" });
  });

  it("ends its workers and repeats their turns after a resume", async () => {
    const rig = newRig();
    const tasks = ["a", "b", "c"].map((id) => instructed(id));
    const agentFor = crew(tasks, {}, { hand: cli() });
    const session = await begin(rig, {
      roles: withWorker(WAITING),
      config: { max_workers: 2 },
      agentFor,
    });
    const workers: unknown[] = [];
    const two = told(session, (event) => {
      if (event.kind === "turn_started" && "subject" in event) workers.push(event.pid);
      return workers.length === 2;
    });
    const ended = run(session);
    await two;
    // A program that is only just beginning has, for a moment, no environment that another could read.
    await expect.poll(() => living(session.session_id)).toEqual(expect.arrayContaining(workers));
    session.stop("signal", "told to by a test");
    session.stop("signal", "told again");
    expect(await ended).toEqual({ kind: "stopped", reason: "signal", message: "told to by a test" });
    expect(living(session.session_id)).toEqual([]);
    expect(logOf(rig, session.session_id, "session_stopped")).toHaveLength(1);
    expect(existsSync(join(rig.home, "sessions", session.session_id, "final_report.json"))).toBe(false);

    const resumed = await resume(rig, session.session_id, { agentFor: crew(tasks) });
    const repeated = [...resumed.ledger.turns.values()].map(
      ({ run: number, attempt }) => `run ${number}, attempt ${attempt}`,
    );
    expect(repeated.toSorted()).toEqual(["run 1, attempt 1", "run 2, attempt 1", "run 2, attempt 1"]);
    expect(await run(resumed)).toEqual(DONE);
    expect(reportOf(rig, session.session_id)).toMatchObject({
      recoveries: 0,
      tickets: [{ attempts: 1 }, { attempts: 1 }, { attempts: 1 }],
    });
    const again = logOf(rig, session.session_id, "turn_request").filter(({ record }) => record.run === 2);
    expect(again).toHaveLength(2);
    for (const { payload } of again) expect(JSON.stringify(payload["context"])).toContain("interrupted");
  });

  it("ends a running check and repeats it after a resume", async () => {
    const rig = newRig();
    const slow = criterion("sh", "-c", "echo run >>checks; while [ ! -e go ]; do sleep 0.02; done");
    const agentFor = crew([instructed("a", [], { acceptance_criteria: [slow] })]);
    const session = await begin(rig, { agentFor });
    const ended = run(session);
    await expect.poll(() => readFileSync(join(rig.workspace, "checks"), "utf8")).toBe("run\n");
    session.stop("signal", "enough");
    expect(await ended).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(living(session.session_id)).toEqual([]);
    expect(logOf(rig, session.session_id, "check_result")).toEqual([]);

    const resumed = await resume(rig, session.session_id, { agentFor });
    // However long it takes until it is run: nothing is concluded from that.
    await writeFile(join(rig.workspace, "go"), "");
    expect(await run(resumed)).toEqual(DONE);
    expect(readFileSync(join(rig.workspace, "checks"), "utf8")).toBe("run\nrun\n");
  });

  it("starts no checks of a late answer until it is resumed", async () => {
    const rig = newRig();
    const tasks = [instructed("a", [], { acceptance_criteria: [criterion("sh", "-c", "echo run >>checks")] })];
    const answering = `last_words() { ${REPORT}; exit 0; }\ntrap last_words TERM\necho ready; while :; do sleep 0.02; done`;
    const session = await begin(rig, {
      roles: withWorker(answering),
      agentFor: crew(tasks, {}, { hand: cli() }),
    });
    const ready = told(session, ({ kind }) => kind === "console");
    const ended = run(session);
    await ready;
    session.stop("signal", "enough");
    expect(await ended).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(existsSync(join(rig.workspace, "checks"))).toBe(false);
    expect(
      logOf(rig, session.session_id)
        .slice(-2)
        .map(({ payload_type }) => payload_type),
    ).toEqual(["report", "session_stopped"]);

    const resumed = await resume(rig, session.session_id, { agentFor: crew(tasks) });
    expect(await run(resumed)).toEqual(DONE);
    expect(readFileSync(join(rig.workspace, "checks"), "utf8")).toBe("run\n");
  });

  it("does not start a turn that is being committed", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const store = {
      ...rig.store,
      commit: async (...given: Parameters<typeof rig.store.commit>) => {
        const done = await rig.store.commit(...given);
        if (
          given[1].records.some(
            ({ payload_type, line }) => payload_type === "turn_request" && line.includes('"role_id":"hand"'),
          )
        ) {
          session.stop("signal", "now");
        }
        await delay(0);
        return done;
      },
    };
    const session = await begin(rig, { roles: withWorker(WAITING), agentFor, store });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(living(session.session_id)).toEqual([]);
  });
});

describe("a cancelled session", () => {
  const cancel = { source: "user", payload_type: "user_command", payload: { command: "cancel" } } as const;

  it("ends its workers and records nothing after its close", async () => {
    const rig = newRig();
    // Told to end, it answers: too late for a session that is closed.
    const stubborn = `last_words() { ${REPORT}; exit 0; }
trap last_words TERM\nwhile :; do say report '{"status":"progress","summary":"Still here."}'; sleep 0.02; done`;
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const session = await begin(rig, { roles: withWorker(stubborn), agentFor });
    const spoken = told(session, recordOf("report", "a"));
    const ended = run(session);
    await spoken;
    session.submit(cancel);
    expect(await ended).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
    expect(logOf(rig, session.session_id).at(-1)).toMatchObject({
      payload_type: "session_closed",
      payload: { exit_code: 1 },
    });
    expect(reportOf(rig, session.session_id)).toMatchObject({
      outcome: "cancelled",
      tickets: [{ status: "error", reason: "cancelled" }],
    });
  });

  it("closes while it is paused", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: crew([instructed("a")]) });
    session.submit({ ...cancel, payload: { command: "pause" } });
    session.submit(cancel);
    expect(await run(session)).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
    expect(rig.store.sessions()).toMatchObject([{ state: "closed", outcome: "cancelled" }]);
  });

  it("ends a running check", async () => {
    const rig = newRig();
    const endless = criterion("sh", "-c", "touch running; sleep 3600");
    const session = await begin(rig, { agentFor: crew([instructed("a", [], { acceptance_criteria: [endless] })]) });
    const ended = run(session);
    await expect.poll(() => existsSync(join(rig.workspace, "running"))).toBe(true);
    session.submit(cancel);
    expect(await ended).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
  });
});

describe("a turn withdrawn while it runs", () => {
  it("keeps its seat until its process is gone", async () => {
    const rig = newRig();
    const order = "order";
    // The first does not hear SIGTERM for a while; what runs beside it would be seen in the file.
    const slow = `trap 'sleep 0.3; echo "end $BOSUN_TICKET_ID" >>${order}; exit 0' TERM
echo "start $BOSUN_TICKET_ID" >>${order}
if [ $BOSUN_TICKET_ID = a ]; then while :; do sleep 0.01; done; fi
${REPORT}
echo "end $BOSUN_TICKET_ID" >>${order}`;
    const tasks = [instructed("a"), instructed("b")];
    const session = await begin(rig, {
      roles: withWorker(slow),
      config: { max_workers: 1 },
      agentFor: crew(tasks, {}, { hand: cli() }),
    });
    const ended = run(session);
    await expect.poll(() => readFileSync(join(rig.workspace, order), "utf8")).toBe("start a\n");
    say(session, "cancel", { ticket_id: "a" });
    expect(await ended).toMatchObject({ kind: "closed" });
    expect(readFileSync(join(rig.workspace, order), "utf8")).toBe("start a\nend a\nstart b\nend b\n");
  });

  it("is ended if it was about to start", async () => {
    const rig = newRig();
    const tasks = [instructed("a"), instructed("b")];
    let running = 0;
    let most = 0;
    const agentFor = crew(tasks, {
      instruction: async (_request, { signal }) => {
        running += 1;
        most = Math.max(most, running);
        if (_request.stamp.subject === "a") {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        }
        running -= 1;
        return report();
      },
    });
    const store = {
      ...rig.store,
      commit: async (...given: Parameters<typeof rig.store.commit>) => {
        const done = await rig.store.commit(...given);
        if (given[1].records.some(({ payload_type, subject }) => payload_type === "turn_request" && subject === "a")) {
          say(session, "cancel", { ticket_id: "a" });
        }
        await delay(0);
        return done;
      },
    };
    const session = await begin(rig, { config: { max_workers: 1, timeout_s: 3 }, agentFor, store });
    expect(await run(session)).toMatchObject({ kind: "closed" });
    expect(most).toBe(1);
    expect(
      logOf(rig, session.session_id, "turn_request").filter(({ record }) => record.ticket_id === "a"),
    ).toHaveLength(1);
  });
});

describe("a session that only a person can move", () => {
  const asking = crew([task("a")], {
    requirement: ({ payload }) =>
      payload.context.clarifications?.length
        ? { payload_type: "plan", payload: { tasks: [task("a")] } }
        : {
            payload_type: "clarification",
            payload: { status: "open", questions: [{ question_id: "q", text: "Why?" }] },
          },
  });

  it("stops as waiting, and goes on with the answer", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: asking });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect(rig.store.sessions()[0]).toMatchObject({ state: "waiting", outcome: null });
    const resumed = await resume(rig, session.session_id, { agentFor: asking });
    resumed.submit({
      source: "user",
      payload_type: "clarification_response",
      payload: { status: "answered", answers: [{ question_id: "q", text: "Because." }] },
    });
    expect(await run(resumed)).toEqual(DONE);
  });
});
