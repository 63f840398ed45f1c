import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { failure } from "../../src/protocol/failure.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { StorageError } from "../../src/store/storage-error.ts";
import { crew, criterion, task } from "../runtime/crew.ts";
import { newRig } from "../runtime/rig.ts";
import { begin, logOf, run, surroundings } from "../runtime/sessions.ts";
import { copied, faultsOfEnd, faultsOfMessage, faultsOfRest, leave, newScene, type Scene } from "./scene.ts";
import { failureOf, value } from "../results.ts";
import { living } from "../processes.ts";

const scenes: Scene[] = [];
afterEach(() => {
  for (const scene of scenes.splice(0)) leave(scene);
});

const WRITES = /^sqlite\.\w+ (BEGIN|COMMIT|INSERT|UPDATE|DELETE)/;

/** The rows of the table of tickets that a command printed. */
const ticketsIn = (stdout: string): string[] => stdout.split("\n").filter((line) => /^[ab] {2,}\w/.test(line));

describe("a commit that fails to sync", () => {
  // The first three make the database, the session's name and its owner.
  it.each([
    [5, "before"],
    [9, "before"],
    [9, "after"],
    [15, "before"],
  ] as const)("as number %i (%s the disk has it) is the last, and the session stops", async (at, how) => {
    const scene = newScene();
    scenes.push(scene);
    const done = await scene.run({ at, of: "COMMIT", as: "broken", how });
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    const names = done.calls.map(({ kind, what }) => `${kind} ${what}`);
    const commits = names.flatMap((name, index) => (name === "sqlite.exec COMMIT" ? [index] : []));
    expect(commits).toHaveLength(at);
    expect(names.slice((commits.at(-1) ?? 0) + 1).filter((name) => WRITES.test(name))).toEqual([]);
    const status = await scene.command(["status", scene.session_id]);
    expect(ticketsIn(done.stdout)).toEqual(ticketsIn(status.stdout));

    expect(await scene.resume()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });

  it("leaves a session id that can be used again, if it is the first commit", async () => {
    const scene = newScene();
    scenes.push(scene);
    expect(faultsOfEnd(await scene.run({ at: 4, of: "COMMIT", as: "broken" }), [3])).toEqual([]);
    const [named, unnamed] = [await scene.resume(), await scene.command(["resume", "--foreground"])];
    expect(faultsOfEnd(named, [2])).toEqual([]);
    expect(named.stderr).toContain(`${scene.session_id} never began`);
    expect(unnamed).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(scene.home) as string });
    expect(await scene.run()).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });
});

describe("a record that cannot be read", () => {
  it("stops the session once, if a turn request needs it", async () => {
    const waiting = newScene();
    scenes.push(waiting);
    expect(await waiting.command(waiting.beginning)).toMatchObject({ code: 4 });
    const of = "sqlite.get SELECT line FROM records";
    const counted = copied(waiting);
    scenes.push(counted);
    const reads = (await counted.resume({ of })).calls.filter(({ kind, what }) => `${kind} ${what}`.startsWith(of));
    for (const at of reads.keys()) {
      const scene = copied(waiting);
      scenes.push(scene);
      const done = await scene.resume({ at: at + 1, of, as: "broken" });
      expect([at, ...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([at]);
      expect(living(scene.session_id)).toEqual([]);
    }
  });
});

describe("the record of a check", () => {
  it("stops the session if it cannot be read", async () => {
    const rig = newRig();
    const slow = criterion("sh", "-c", ": >checking; exec sleep 60");
    const tasks = [task("a", [], { instruction: { summary: "Do it." }, acceptance_criteria: [slow] })];
    const begun = await begin(rig, { agentFor: crew(tasks) });
    const ended = begun.run({ waitForPeople: false });
    await expect.poll(() => existsSync(join(rig.workspace, "checking"))).toBe(true);
    begun.stop("signal", "for now");
    value(await ended);
    const broken = failure("storage", "The disk is broken.");
    const plan = logOf(rig, begun.session_id).findIndex(({ payload_type }) => payload_type === "plan") + 1;
    const store = {
      ...rig.store,
      record(session_id: string, sequence: number) {
        if (sequence === plan) throw new StorageError(broken, null);
        return rig.store.record(session_id, sequence);
      },
    };
    const resumed = value(
      await resumeSession(
        surroundings(rig, { store, agentFor: crew(tasks) }),
        scheduleMode,
        value(rig.store.session(begun.session_id)),
      ),
    );
    expect(failureOf(await resumed.run({ waitForPeople: false }))).toEqual(broken);
  });
});

describe("an inbox read that fails", () => {
  it.each([
    ["FROM inbox", 1],
    ["data_version", 1],
    ["data_version", 3],
  ])("(%s, call %i) stops the session with one message", async (of, at) => {
    // Long enough for some looks.
    const scene = newScene(undefined, "sleep 1");
    scenes.push(scene);
    const done = await scene.run({ at, of, as: "broken" });
    expect([...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)]).toEqual([]);
    const resumed = await scene.resume();
    const last = resumed.code === 2 ? await scene.run() : resumed;
    expect(last).toMatchObject({ code: 0, stderr: "" });
    expect(await faultsOfRest(scene)).toEqual([]);
  });
});

describe("a read that fails during a resume", () => {
  it("fails the resume and releases the session", async () => {
    const rig = newRig();
    const begun = await begin(rig, { agentFor: crew([task("a", [], { instruction: { summary: "Do it." } })]) });
    begun.stop("signal", "for now");
    expect(await run(begun)).toMatchObject({ kind: "stopped" });
    const broken = failure("storage", "The disk is broken.");
    const store = {
      ...rig.store,
      record(): string {
        throw new StorageError(broken, null);
      },
    };
    const row = value(rig.store.session(begun.session_id));
    expect(failureOf(await resumeSession(surroundings(rig, { store }), scheduleMode, row))).toEqual(broken);
    expect(rig.store.holder(begun.session_id)).toBeUndefined();
  });
});
