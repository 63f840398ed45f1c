import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { scratchDirectory } from "../agents/scratch.ts";
import { begin, openHome, proofOf, recordsOf, reportOf } from "./home.ts";
import { DEBATERS, rolesAt, type Speaker, Stage } from "./stage.ts";
import { isLiving } from "../processes.ts";
import { value } from "../results.ts";

let home: string;
let stage: Stage;
let around: Surroundings;

beforeEach(async () => {
  home = scratchDirectory();
  stage = await Stage.open(home);
  around = openHome(home);
  onTestFinished(() => around.store.close());
});

/** How often a text occurs in the whole request. */
function count(speaker: Speaker, text: string): number {
  return JSON.stringify(speaker.request).split(text).length - 1;
}

describe("a debate of real programs", () => {
  it("asks all in parallel, shows each round to the next, and lets the judge conclude", async () => {
    const session = await begin(around, rolesAt(stage.address));
    const over = session.run({ waitForPeople: false });
    // `round` answers only when all three programs run at once: debaters that are asked in turn never get here.
    const first = await stage.round();
    const second = await stage.round();
    const verdict = { conclusion: "Go, for this team.", winner: "go", dissent: ["Python is known."], consensus: false };
    const judge = await stage.verdict(verdict);
    expect(value(await over)).toEqual({ kind: "closed", outcome: "done" });

    const ids = DEBATERS.toSorted();
    expect(first.map((speaker) => speaker.role_id)).toEqual(ids);
    expect(second.map((speaker) => speaker.role_id)).toEqual(ids);
    for (const speaker of first) {
      expect(first.map(({ position }) => count(speaker, position))).toEqual([0, 0, 0]);
      expect(speaker.request.context.transcript).toEqual([]);
    }
    for (const speaker of second) {
      expect(first.map(({ position }) => count(speaker, position))).toEqual([1, 1, 1]);
      expect(second.map(({ position }) => count(speaker, position))).toEqual([0, 0, 0]);
    }
    expect([...first, ...second].map(({ position }) => count(judge, position))).toEqual([1, 1, 1, 1, 1, 1]);

    const report = reportOf(home);
    expect(report).toMatchObject({
      mode: "debate",
      outcome: "done",
      requirement: "Python or Go?",
      tickets: [],
      recoveries: 0,
    });
    expect(report.usage).toMatchObject({ turns: 7 });
    expect(report.result).toEqual({
      verdict,
      judge: "judge",
      rounds: { held: 2, of: 2 },
      argued_by: "rounds",
      debaters: DEBATERS.map((role_id) => ({
        role_id,
        status: "answered",
        opinion: { round: 2, position: `${role_id} holds this in round 2` },
      })),
    });
    expect(proofOf(home)).toMatchObject({ ok: true, decisions: "ok", completeness: "closed", problems: [] });
  });

  it("records requests that can be read in the log, without the current round", async () => {
    const session = await begin(around, rolesAt(stage.address), { rounds: 3 });
    const over = session.run({ waitForPeople: false });
    for (const _ of [1, 2, 3]) await stage.round();
    await stage.verdict({ conclusion: "Go." });
    value(await over);

    const requests = recordsOf(home, "turn_request").filter((record) => record.target !== "judge");
    const opinions = recordsOf(home, "opinion");
    expect(requests).toHaveLength(9);
    for (const { payload, target } of requests) {
      const { transcript, metadata } = payload.context as {
        transcript: { sequence: number }[];
        metadata: { round: number };
      };
      const before = opinions.filter((record) => record.payload.round === metadata.round - 1);
      expect(transcript.map(({ sequence }) => sequence).toSorted((a, b) => a - b)).toEqual(
        before.map((record) => record.integrity.sequence),
      );
      expect(JSON.stringify(payload)).not.toContain(`${target} holds`);
    }
    expect(proofOf(home).ok).toBe(true);
  });

  it("keeps answers independent when only one program may run at a time", async () => {
    const session = await begin(around, rolesAt(stage.address), { rounds: 2 }, { max_workers: 1 });
    const over = session.run({ waitForPeople: false });
    const said: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const [speaker] = await stage.round(1);
      const round = turn < 3 ? 1 : 2;
      const own = said.filter((position) => position.endsWith(`round ${round}`));
      for (const position of own) expect(count(speaker as Speaker, position)).toBe(0);
      said.push((speaker as Speaker).position);
    }
    expect(new Set(said).size).toBe(6);
    await stage.verdict({ conclusion: "Go." });
    expect(value(await over)).toMatchObject({ outcome: "done" });
    expect(proofOf(home).ok).toBe(true);
  });

  it("goes on without a program that always fails, and reports it", async () => {
    const roles = rolesAt(stage.address).map((role) =>
      role.role_id === "go"
        ? { ...role, cli_command: ["sh", "-c", "read line; exit 3"] as [string, ...string[]] }
        : role,
    );
    const session = await begin(around, roles, {}, { max_retries: 1 });
    const over = session.run({ waitForPeople: false });
    await stage.round(2);
    await stage.round(2);
    const judge = await stage.verdict({ conclusion: "Python." });
    expect(value(await over)).toMatchObject({ outcome: "done" });
    expect(judge.request.message.payload.summary).toContain("go (dropped out)");
    expect(reportOf(home).result).toMatchObject({
      debaters: [
        { role_id: "python" },
        { role_id: "go", status: "dropped", reason: "agent_failed" },
        { role_id: "architect" },
      ],
    });
    expect(recordsOf(home, "turn_failed")).toHaveLength(2);
    expect(proofOf(home).ok).toBe(true);
  });

  it("shows a person's note in every later request", async () => {
    const session = await begin(around, rolesAt(stage.address), { rounds: 1 });
    const over = session.run({ waitForPeople: false });
    const speakers = await stage.gathered(3);
    session.submit({
      source: "user",
      payload_type: "user_command",
      payload: { command: "tell", text: "We are four." },
    });
    for (const speaker of speakers) speaker.hold();
    const judge = await stage.verdict({ conclusion: "Go." });
    value(await over);
    expect(judge.request.context.notes).toEqual(["We are four."]);
    expect(speakers[0]?.request.context.notes).toBeUndefined();
    expect(proofOf(home).ok).toBe(true);
  });

  it("ends every program when it is cancelled", async () => {
    const session = await begin(around, rolesAt(stage.address));
    const over = session.run({ waitForPeople: false });
    const speakers = await stage.gathered(3);
    session.submit({ source: "user", payload_type: "user_command", payload: { command: "cancel" } });
    expect(value(await over)).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
    expect(speakers.filter(({ pid }) => isLiving(pid))).toEqual([]);
    expect(proofOf(home)).toMatchObject({ ok: true, completeness: "closed" });
  });
});
