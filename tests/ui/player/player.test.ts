import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyRecord } from "../../../src/ui/model/apply.ts";
import { emptyModel } from "../../../src/ui/model/model.ts";
import { handlePlayerKey, type PlayerKeyContext } from "../../../src/ui/player/keys.ts";
import { parseMoment } from "../../../src/ui/player/moment.ts";
import { advance, afterRead, goTo, INITIAL_PLAYER, instantOf, type Player } from "../../../src/ui/player/player.ts";
import { States } from "../../../src/ui/player/states.ts";
import type { Entry, Marker, Tape } from "../../../src/ui/player/tape.ts";
import { SESSION } from "../model/session.ts";
import { recordingOf } from "./scenes.ts";

/** Every third record has the text "boom". */
const SHOWN: PlayerKeyContext = {
  listed: ["build", "docs", "tests"],
  selected: "docs",
  rows: 10,
  has: (place, text) => place % 3 === 0 && text === "boom",
};
const BEGIN = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A log with records at these seconds, some with a marker. */
function tapeOf(seconds: readonly number[], markers: Readonly<Record<number, Marker>> = {}): Tape {
  const entries = seconds.map(
    (at, place): Entry => ({
      sequence: place + 1,
      at: BEGIN + at * 1_000,
      type: place % 2 === 0 ? "report" : "review",
      source: "worker",
      target: "scheduler",
      ticket: `t-${place % 3}`,
      bytes: 100,
      marker: markers[place],
    }),
  );
  return { sequences: entries.map(({ sequence }) => sequence), entries, grows: false };
}

/** Presses keys, each a name or a character. */
function press(player: Player, tape: Tape, ...names: readonly string[]): Player {
  return names.reduce((now, name) => handlePlayerKey(now, { name }, tape, SHOWN).player, player);
}

describe("playing", () => {
  const tape = tapeOf([0, 1, 5, 600]);
  const playing: Player = { ...INITIAL_PLAYER, playing: true };

  it("shows each record after its recorded delay, divided by the speed", () => {
    expect(advance(playing, tape, 999).place).toBe(0);
    expect(advance(playing, tape, 1_000).place).toBe(1);
    expect(advance({ ...playing, speed: 4 }, tape, 1_249)).toMatchObject({ place: 1, shown_ms: 999 });
    expect(advance({ ...playing, speed: 4 }, tape, 1_250).place).toBe(2);
  });

  it("cuts pauses to two seconds, and stops at the last record", () => {
    expect(advance({ ...playing, place: 2 }, tape, 1_999).place).toBe(2);
    const last = advance({ ...playing, place: 2 }, tape, 2_000);
    expect(last).toMatchObject({ place: 3, playing: false });
    expect(press(last, tape, " ")).toMatchObject({ place: 0, playing: true });
  });

  it("never shows a time after the next record", () => {
    const now = advance(playing, tape, 500);
    expect(instantOf(now, tape)).toBe(BEGIN + 500);
    expect(instantOf({ ...now, shown_ms: 50_000 }, tape)).toBe(BEGIN + 1_000);
  });

  it("waits for unread records, and goes to its goal once they are read", () => {
    const part: Tape = { ...tape, entries: tape.entries.slice(0, 2) };
    expect(advance({ ...playing, place: 1 }, part, 60_000)).toMatchObject({ place: 1, playing: true });
    const waiting = goTo(playing, part, { at: BEGIN + 5_000 });
    expect(waiting.place).toBe(0);
    expect(afterRead(waiting, part).goal).toBeDefined();
    expect(afterRead(waiting, tape)).toMatchObject({ place: 2, goal: undefined });
    expect(afterRead(press(playing, part, "end"), tape).place).toBe(3);
    const growing = { ...tape, grows: true };
    expect(advance({ ...playing, place: 3 }, growing, 60_000)).toMatchObject({ place: 3, playing: true });
  });
});

describe("keys", () => {
  const tape = tapeOf([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], { 3: "question", 7: "error" });

  it("step, and jump to markers, tenths, both ends and by pages", () => {
    const at = (...names: readonly string[]) => press(INITIAL_PLAYER, tape, ...names).place;
    expect([at("right"), at("right", "right", "left"), at("left")]).toEqual([1, 1, 0]);
    expect([at("]"), at("]", "]"), at("]", "]", "]"), at("]", "]", "[")]).toEqual([3, 7, 7, 3]);
    expect([at("5"), at("9"), at("0"), at("end"), at("end", "home"), at("pagedown")]).toEqual([5, 9, 0, 10, 0, 10]);
    expect(press({ ...INITIAL_PLAYER, playing: true }, tape, "right").playing).toBe(false);
  });

  it("change the speed within its limits", () => {
    expect(press(INITIAL_PLAYER, tape, "+", "+", "-").speed).toBe(2);
    expect(press(INITIAL_PLAYER, tape, ...Array.from({ length: 40 }, () => "+")).speed).toBe(1_024);
    expect(press(INITIAL_PLAYER, tape, ...Array.from({ length: 40 }, () => "-")).speed).toBe(1 / 8);
  });

  it("go to a record or a time", () => {
    const typed = (first: string, text: string) => press(INITIAL_PLAYER, tape, first, ...text.split(""), "return");
    expect([typed("g", "8").place, typed(":", "8").place, typed("g", "999").place]).toEqual([7, 7, 10]);
    expect(typed("g", "eight").notice).toContain("number");
    expect([typed("t", "+4s").place, typed("t", "2026-01-02T03:04:09.5Z").place]).toEqual([4, 4]);
    expect(typed("t", "noon").notice).toContain("20:31");
    expect(press(INITIAL_PLAYER, tape, "g", "8", "escape")).toMatchObject({ place: 0, typing: undefined });
    expect(press(INITIAL_PLAYER, tape, "g", "8", "9", "backspace", "return").place).toBe(7);
  });

  it("step only through records that match the filter", () => {
    const filtered = press(INITIAL_PLAYER, tape, "f", ..."t-1 review".split(""), "return");
    expect([
      filtered.place,
      press(filtered, tape, "right").place,
      press(filtered, tape, "right", "right").place,
    ]).toEqual([1, 7, 7]);
    expect(press(filtered, tape, "escape", "right")).toMatchObject({ filter: "", place: 2 });
    expect(press(INITIAL_PLAYER, tape, "f", ..."nothing".split(""), "return").notice).toBeDefined();
  });

  it("search for a text, forwards and backwards", () => {
    const typed = (text: string) =>
      press({ ...INITIAL_PLAYER, place: 4, playing: true }, tape, "/", ...text.split(""), "return");
    expect(typed("boom")).toMatchObject({ place: 6, playing: false });
    expect(press(typed("boom"), tape, "n").place).toBe(9);
    expect(press(typed("boom"), tape, "N", "N").place).toBe(0);
    expect(press(typed("boom"), tape, "n", "n")).toMatchObject({ place: 9, notice: 'No more matches for "boom".' });
    expect(typed("bang")).toMatchObject({ place: 4, notice: 'No more matches for "bang".' });
    const filtered = press(typed("boom"), tape, "f", ..."review".split(""), "return");
    expect(press(filtered, tape, "N").place).toBe(3);
    expect(press(INITIAL_PLAYER, tape, "n")).toMatchObject({ place: 0, notice: expect.stringContaining("/") });
    const part: Tape = { ...tape, entries: tape.entries.slice(0, 2) };
    expect(press(INITIAL_PLAYER, part, "/", ..."boom".split(""), "return").notice).toContain("still being read");
  });

  it("select tickets, and open and close pages one at a time", () => {
    expect(press(INITIAL_PLAYER, tape, "down").selected).toBe("tests");
    const deep = press(INITIAL_PLAYER, tape, "up", "v");
    expect(deep).toMatchObject({ selected: "build", page: "json" });
    expect(press(deep, tape, "down", "down").scroll).toBe(2);
    const back = press(deep, tape, "escape", "escape");
    expect(back).toMatchObject({ page: "state", selected: undefined });
    expect(handlePlayerKey(back, { name: "escape" }, tape, SHOWN).action).toBe("leave");
  });

  it("leave on q and Ctrl-C, which leaves only a field while typing, as Esc does; suspend on Ctrl-Z", () => {
    for (const name of ["q", "ctrl-c"])
      expect(handlePlayerKey(INITIAL_PLAYER, { name }, tape, SHOWN).action).toBe("leave");
    const typing = press(INITIAL_PLAYER, tape, "/", "b");
    for (const name of ["escape", "ctrl-c"])
      expect(handlePlayerKey(typing, { name }, tape, SHOWN)).toEqual({ player: INITIAL_PLAYER });
    expect(handlePlayerKey(typing, { name: "ctrl-z" }, tape, SHOWN).action).toBe("suspend");
    expect(handlePlayerKey(INITIAL_PLAYER, { name: "alt-q" }, tape, SHOWN).action).toBeUndefined();
  });
});

describe("a typed time", () => {
  const span = { from: new Date(2026, 0, 2, 22, 0).getTime(), to: new Date(2026, 0, 3, 2, 0).getTime() };

  it("of day is within the log, also past midnight", () => {
    const at = (text: string) => new Date(parseMoment(text, span) ?? 0).toString();
    expect(at("23:30")).toBe(new Date(2026, 0, 2, 23, 30).toString());
    expect(at("01:30:15")).toBe(new Date(2026, 0, 3, 1, 30, 15).toString());
    expect(at("21:00")).toBe(new Date(2026, 0, 2, 21, 0).toString());
    expect(parseMoment("+1h30m", span)).toBe(span.from + 5_400_000);
    for (const text of ["24:00", "12:60", "1230", "", "yesterday"]) expect(parseMoment(text, span)).toBeUndefined();
  });
});

describe("the state at a record", () => {
  it("results from all records up to it, in whatever order records are shown", () => {
    const records = recordingOf(Array.from({ length: 40 }, () => SESSION).flat());
    const count = records.tape.sequences.length;
    const wholes = Array.from({ length: count }, (_, place) => records.read(place).record);
    const states = new States((place) => wholes[place]);
    for (const record of wholes) states.add(record);
    fc.assert(
      fc.property(fc.nat(count - 1), (place) => {
        const model = emptyModel();
        for (const [index, record] of wholes.slice(0, place + 1).entries())
          if (record) applyRecord(model, index + 1, record);
        expect(states.at(place)).toEqual(model);
      }),
      { numRuns: 40 },
    );
  });

  it("is rebuilt from the nearest copy", () => {
    let reads = 0;
    const records = recordingOf(SESSION);
    const count = 20_000;
    const states = new States((place) => {
      reads += 1;
      return records.read(place % SESSION.length).record;
    });
    for (let place = 0; place < count; place += 1) states.add(records.read(place % SESSION.length).record);
    for (const place of [count - 1, 10, 15_432, 3]) {
      reads = 0;
      states.at(place);
      expect(reads).toBeLessThanOrEqual(250);
    }
  });
});
