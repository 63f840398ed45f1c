import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import type { CommandContext } from "../../../src/commands/context/command.ts";
import { driveSession } from "../../../src/commands/driver/drive.ts";
import { withHome } from "../../../src/commands/context/home.ts";
import type { RunOptions } from "../../../src/commands/options/run-options.ts";
import { err, ok } from "../../../src/lib/result.ts";
import type { ScheduleState } from "../../../src/modes/schedule/state.ts";
import { failure } from "../../../src/protocol/failure.ts";
import type { Session } from "../../../src/runtime/session.ts";
import { instant } from "../../../src/protocol/timestamp.ts";
import { isLocked, lockPath } from "../../../src/store/lock.ts";
import type { Store } from "../../../src/store/store.ts";
import { outputOn, type Terminal } from "../../../src/ui/terminal.ts";
import { crew, instructed, report, task } from "../../runtime/crew.ts";
import { newRig } from "../../runtime/rig.ts";
import { withRole } from "../../runtime/roles.ts";
import { begin, logOf, recordOf, resume, type Rig, surroundings, told } from "../../runtime/sessions.ts";

const SILENTLY: RunOptions = {
  answers: [],
  unanswered: "stop",
  approve_plans: false,
  plan_only: false,
  reporter: "silent",
  ask: true,
  scheduler: "here",
};

const QUESTION = { question_id: "who", text: "Who reads it?" };

/** Runs a session with a person at its terminal: `shown` gives what was written to stdout there, `written` to stderr, and not given yet. */
function drivenHere(
  rig: Rig,
  session: Session<ScheduleState>,
  {
    EDITOR = "false",
    bosun = "bosun",
    resumed = false,
    ...more
  }: Partial<RunOptions> & { EDITOR?: string; bosun?: string; resumed?: boolean },
) {
  const input = new PassThrough();
  const out = outputOn(new PassThrough() as unknown as NodeJS.WriteStream);
  const err = outputOn(new PassThrough() as unknown as NodeJS.WriteStream);
  err.program = bosun;
  const context: CommandContext = {
    terminal: {
      out,
      err,
      input: input as unknown as NodeJS.ReadStream,
      hasPerson: true,
      isDumb: false,
      isRemote: false,
      canRedraw: false,
    },
    home: rig.home,
    directory: rig.workspace,
    environment: { EDITOR },
    leave: () => {},
  };
  const place = { ...surroundings(rig, {}), store: rig.store, killAll: () => {} };
  const driven = driveSession(context, place, session, { ...SILENTLY, ...more }, { resumed, kill_grace_s: 1 });
  return {
    driven,
    input,
    written: () => unread(err.stream as unknown as PassThrough),
    shown: () => unread(out.stream as unknown as PassThrough),
  };
}

/** A read may give one of the chunks that were written, or all of them: that differs between versions of Node. */
function unread(stream: PassThrough): string {
  let text = "";
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk === null) return text;
    text += chunk.toString("utf8");
  }
}

it("releases a session whose row cannot be read", async () => {
  const rig = newRig();
  const session = await begin(rig);
  const lock = lockPath(rig.home, session.session_id);
  expect(isLocked(lock)).toBe(true);
  const lost = err(failure("storage", "The database cannot be used."));
  const store = { ...rig.store, session: () => lost };
  const place = { ...surroundings(rig, {}), store, killAll: () => {} };
  const runOptions: RunOptions = { ...SILENTLY, ask: false };
  // Nothing is said before the row is read.
  const terminal = { out: {}, err: {} } as Terminal;
  const context = { terminal, home: rig.home, directory: "/", environment: {}, leave: () => {} };
  const home = ok({ home: rig.home, store });
  expect(
    await withHome(home, () => driveSession(context, place, session, runOptions, { resumed: false, kill_grace_s: 1 })),
  ).toEqual(lost);
  expect(isLocked(lock)).toBe(false);
});

it("settles an answer typed here only when it is committed", async () => {
  const rig = newRig();
  let isSlow = false;
  const store: Store = {
    ...rig.store,
    async commit(...given) {
      // Longer than many turns of the event loop.
      const turns = isSlow ? 50 : 0;
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      return rig.store.commit(...given);
    },
  };
  const session = await begin(rig, { store, agentFor: crew([task("a")]), config: { plan_approval: "ask" } });
  const editor = join(rig.workspace, "editor.sh");
  writeFileSync(editor, "sed -i 's/task_id: a/task_id: b/' \"$1\"\n");
  const { driven, written, input } = drivenHere({ ...rig, store }, session, { EDITOR: `sh ${editor}` });
  await expect.poll(written).toContain("Edit in $EDITOR");
  isSlow = true;
  input.write("3\n");
  expect(await driven).toEqual(ok(0));
  expect(readdirSync(join(rig.home, "sessions", session.session_id)).join()).not.toContain("to-edit");
});

it("names the command to continue a refused plan edit as it is typed here", async () => {
  const rig = newRig();
  const session = await begin(rig, { agentFor: crew([task("a")]), config: { plan_approval: "ask" } });
  const editor = join(rig.workspace, "editor.sh");
  writeFileSync(editor, "sed -i 's/task_id: a/nobody: a/' \"$1\"\n");
  const { driven, written, input } = drivenHere(rig, session, { EDITOR: `sh ${editor}`, bosun: "node dist/bin.js" });
  let shown = "";
  await expect.poll(() => (shown += written())).toContain("Edit in $EDITOR");
  input.write("3\n");
  // The prompt that follows discards what was typed before it.
  await expect.poll(() => (shown += written())).toMatch(/What you wrote is kept\.[^]*> /);
  expect(shown).toContain(`To continue from it: node dist/bin.js plan ${session.session_id} --edit`);
  await expect.poll(() => (shown += written()).split("1  Approve")).toHaveLength(3);
  input.write("1\n");
  expect(await driven).toEqual(ok(0));
});

it("asks the person if an answer given beforehand is not valid", async () => {
  const rig = newRig();
  const asks = () => ({ payload_type: "clarification", payload: { status: "open", questions: [QUESTION] } }) as const;
  const session = await begin(rig, { agentFor: crew([task("a")], { requirement: asks }) });
  const answers = [{ question_id: "who", text: "x".repeat(200_001) }];
  const { driven, written, input } = drivenHere(rig, session, { answers });
  let shown = "";
  await expect.poll(() => (shown += written())).toContain("Question 1 of 1");
  expect(shown).toContain("/answers/0/text");
  input.write("Ada\n");
  expect(await driven).toEqual(ok(0));
  const said = logOf(rig, session.session_id).filter(({ payload_type }) => payload_type === "clarification_response");
  expect(said).toMatchObject([{ payload: { answers: [{ question_id: "c1.who", text: "Ada" }] } }]);
});

it("tells when a hold from before the resume ends, with its account", async () => {
  const rig = newRig();
  let isLimited = true;
  const limited = () => ({
    failure: failure("rate_limited", "Slow down.", { details: { retry_at: instant(Date.now() + 100) } }),
    refused: [],
  });
  const agentFor = crew([instructed("a")], { instruction: () => (isLimited ? limited() : report()) });
  const begun = await begin(rig, { agentFor, roles: withRole("hand", { account: "acme" }) });
  const ended = begun.run({ waitForPeople: false });
  await told(begun, recordOf("turn_failed"));
  begun.stop("signal", "for now");
  expect(await ended).toMatchObject({ ok: true, value: { kind: "stopped" } });
  isLimited = false;
  const session = await resume(rig, begun.session_id, { agentFor });
  const { driven, shown } = drivenHere(rig, session, { resumed: true, reporter: "plain", ask: false });
  expect(await driven).toEqual(ok(0));
  expect(shown()).toContain("NO LONGER HELD: hand and all of account acme");
});

it("shows a paused session as paused in the heartbeat", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const rig = newRig();
  const session = await begin(rig, { agentFor: crew([task("a")]) });
  const say = (command: string) =>
    session.submitFromPerson({ source: "user", payload_type: "user_command", payload: { command } });
  const paused = told(session, recordOf("user_command"));
  say("pause");
  const { driven, shown } = drivenHere(rig, session, { reporter: "plain", ask: false });
  await paused;
  vi.advanceTimersByTime(30_000);
  expect(shown()).toContain(" paused: no agent; ");
  say("resume");
  expect(await driven).toEqual(ok(0));
});
