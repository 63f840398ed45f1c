import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUnsafe } from "../../../src/lib/terminal-text.ts";
import { fieldOf } from "../../../src/ui/keyboard/field.ts";
import { playerFrame, type PlayerScene } from "../../../src/ui/player/frame.ts";
import { widthOfLine } from "../../../src/ui/tui/line.ts";
import { SESSION } from "../model/session.ts";
import { effect, PERSON, record } from "../records.ts";
import { HOSTILE, textOf } from "../tui/scenes.ts";
import { playerSceneOf, recordingOf } from "./scenes.ts";

/** The place of the record in which the checks of a ticket fail. */
const FAILED = 16;

describe("the replay player", () => {
  it.each([
    ["80x24", 80, 24],
    ["140x40", 140, 40],
    ["60x15", 60, 15],
    ["40x10", 40, 10],
  ])("renders at %s", (_, columns, rows) => {
    const scene = playerSceneOf(recordingOf(SESSION), { place: FAILED, playing: true, speed: 8 });
    expect(textOf(playerFrame(scene, columns, rows))).toMatchSnapshot();
  });

  it.each(["json", "help"] as const)("has a %s page", (page) => {
    const scene = playerSceneOf(recordingOf(SESSION), { place: FAILED, page });
    expect(textOf(playerFrame(scene, 80, 24))).toMatchSnapshot();
  });

  it("shows the session and its asks as of the record", () => {
    const recording = recordingOf(SESSION);
    const at = (place: number) => textOf(playerFrame(playerSceneOf(recording, { place }), 100, 30));
    expect(at(1)).toContain("no ticket yet");
    expect(at(FAILED)).toContain("nothing needs a person");
    const last = at(SESSION.length - 1);
    expect(last).toContain("docs asks: c1.q1: Per-role time-out");
    expect(last).toContain("by ada");
    expect(at(7)).not.toContain("time-out");
  });

  it("shows damaged records and gaps, with the problems that the proof found", () => {
    const recording = recordingOf([...SESSION.slice(0, 4), "{ no record", ...SESSION.slice(5)]);
    const problems = [{ sequence: 5, what: "It is not a record." }];
    const proof = { state: "failed" as const, problems };
    const shown = textOf(playerFrame(playerSceneOf(recording, { place: 4 }, { proof }), 100, 24));
    for (const told of ["NOT VERIFIED: 1 problem", "000005-report.json cannot be read", "It is not a record."])
      expect(shown).toContain(told);
    const tape = { ...recording.tape, sequences: recording.tape.sequences.map((one) => (one > 3 ? one + 2 : one)) };
    const entries = recording.tape.entries.map((one) =>
      one.sequence > 3 ? { ...one, sequence: one.sequence + 2 } : one,
    );
    const scene = playerSceneOf(recording, { place: 3 }, { tape: { ...tape, entries } });
    expect(textOf(playerFrame(scene, 120, 24))).toContain("missing before it: 4 to 5");
  });

  it("fills every screen size exactly, whatever the records contain", () => {
    const recordings = HOSTILE.map((text) => recordingOf([...hostileRecords(text), text]));
    const players = fc.record({
      page: fc.constantFrom("state" as const, "json" as const, "help" as const),
      selected: fc.constantFrom("docs", HOSTILE[0], undefined),
      scroll: fc.nat(5_000),
      playing: fc.boolean(),
      speed: fc.constantFrom(1 / 8, 1, 1_024),
      shown_ms: fc.nat(5_000),
      filter: fc.constantFrom("", HOSTILE[2] ?? ""),
      notice: fc.constantFrom(undefined, HOSTILE[1]),
      typing: fc.constantFrom(undefined, { what: "find" as const, field: fieldOf(HOSTILE[1] ?? "") }),
    });
    const sizes = fc.tuple(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 5, max: 100 }));
    const states = fc.constantFrom(
      "proving" as const,
      "ok" as const,
      "open" as const,
      "failed" as const,
      "none" as const,
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...recordings),
        players,
        fc.nat(),
        states,
        sizes,
        (recording, player, n, state, [columns, rows]) => {
          const place = n % recording.tape.sequences.length;
          const problems = [{ sequence: place + 1, what: HOSTILE[0] ?? "" }];
          expect(
            misfits(
              playerSceneOf(recording, { ...player, place }, { name: HOSTILE[1] ?? "", proof: { state, problems } }),
              columns,
              rows,
            ),
          ).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("fills the screen before any record has been read", () => {
    const recording = recordingOf(SESSION);
    const scene = playerSceneOf(recording, {}, { tape: { ...recording.tape, entries: [] } });
    expect(misfits(scene, 80, 24)).toEqual([]);
    expect(textOf(playerFrame(scene, 80, 24))).toContain("reading 0 %");
  });
});

/** Returns unsafe lines, lines of the wrong width, and the number of lines if it is wrong. */
function misfits(scene: PlayerScene, columns: number, rows: number): unknown[] {
  const lines = playerFrame(scene, columns, rows);
  const wrong = lines.map((line) => line.map(({ text }) => text).join("")).filter(isUnsafe);
  return [
    ...wrong,
    ...lines.filter((line) => widthOfLine(line) !== columns),
    ...(lines.length === rows ? [] : [lines.length]),
  ];
}

function hostileRecords(text: string): Parameters<typeof recordingOf>[0] {
  const tasks = ["build", "docs", text].map((task_id) => ({ task_id, description: text }));
  const changed = tasks.map(({ task_id }, index) => ({
    ...{ ticket_id: task_id, title_at: `/tasks/${index}/description`, depends_on: ["build", text] },
    ...{ owner: text, reason: text },
  }));
  const hold = { hold_id: text, role_id: text, reason: text, account: text };
  const ask = { ask_id: text, kind: "questions", record: SESSION.length + 4, ticket_id: text, open: [text] } as const;
  return [
    ...SESSION,
    record(
      "plan",
      { tasks, summary: text, [text]: text },
      { state: text, effects: [effect(text, null, text)], changed, ...PERSON },
      text,
      text,
    ),
    record(
      "report",
      { status: "progress", summary: text, outputs: [text] },
      { ticket_id: text, turn_id: "t9" },
      text,
      text,
    ),
    record(
      "turn_failed",
      { code: text, message: text },
      { ticket_id: "tests", turn_id: "t17", ended: { turns: ["t17"] }, opened: { holds: [hold] } },
      "scheduler",
    ),
    record(
      "clarification",
      { questions: [{ question_id: text, text }] },
      { ticket_id: text, opened: { asks: [ask] } },
      text,
    ),
    { ...record("report", {}, { disposition: "refused" }, text), version: text },
  ];
}
