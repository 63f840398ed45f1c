import { array, assert, constantFrom, integer, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { LineSplitter } from "../../src/lib/lines.ts";

interface Seen {
  readonly text: string;
  readonly cut: boolean;
}

function split(chunks: readonly Buffer[], cap: number): Seen[] {
  const seen: Seen[] = [];
  const splitter = new LineSplitter(
    () => cap,
    (line, cut) => void seen.push({ text: line.toString("latin1"), cut }),
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return seen;
}

/** The lines of a whole text, computed in the simplest way. */
function linesOf(text: string, cap: number): Seen[] {
  const parts = text.split("\n");
  const last = parts.pop() ?? "";
  const lines = parts.map((part) => part.replace(/\r$/, ""));
  if (last !== "") lines.push(last);
  return lines.map((line) => ({ text: line.slice(0, cap), cut: line.length > cap }));
}

function chunked(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

describe("the line splitter", () => {
  test("gives the same lines for any chunks", () => {
    const bytes = array(constantFrom("a", "b", "\n", "\r", "\xe2", "\x00", "{"), { maxLength: 60, size: "max" });
    assert(
      property(bytes, array(nat(60), { maxLength: 12 }), integer({ min: 1, max: 12 }), (parts, cuts, cap) => {
        const text = parts.join("");
        expect(split(chunked(text, cuts), cap)).toEqual(linesOf(text, cap));
      }),
      { numRuns: 3_000 },
    );
  });

  test("stops after a line when it is told to, and goes on with the rest", () => {
    const bytes = array(constantFrom("a", "\n", "\r"), { maxLength: 40, size: "max" });
    assert(
      property(bytes, array(nat(40), { maxLength: 4 }), integer({ min: 1, max: 8 }), (parts, cuts, cap) => {
        const text = parts.join("");
        const seen: Seen[] = [];
        let inPush = 0;
        const splitter = new LineSplitter(
          () => cap,
          (line, cut) => {
            seen.push({ text: line.toString("latin1"), cut });
            // A cut line is told before its end is found, and so may be one more.
            if (!cut) inPush += 1;
            return true;
          },
        );
        for (let chunk of chunked(text, cuts)) {
          while (chunk.length > 0) {
            inPush = 0;
            chunk = chunk.subarray(splitter.push(chunk));
            expect(inPush).toBeLessThanOrEqual(1);
          }
        }
        splitter.end();
        expect(seen).toEqual(linesOf(text, cap));
      }),
    );
  });

  test("splits at LF, not at U+2028 or a lone CR", () => {
    const seen: string[] = [];
    const splitter = new LineSplitter(
      () => 100,
      (line) => void seen.push(line.toString()),
    );
    splitter.push(Buffer.from('{"a":"x\u2028y"}\r\nb\rc\n'));
    splitter.end();
    expect(seen).toEqual(['{"a":"x\u2028y"}', "b\rc"]);
  });

  test("delivers a line over the cap at once, then goes on with the next", () => {
    const seen: Seen[] = [];
    const splitter = new LineSplitter(
      () => 4,
      (line, cut) => void seen.push({ text: line.toString(), cut }),
    );
    for (let i = 0; i < 1_000; i += 1) splitter.push(Buffer.from("xyz"));
    expect(seen).toEqual([{ text: "xyzx", cut: true }]);
    splitter.push(Buffer.from("\nnext\n"));
    expect(seen.slice(1)).toEqual([{ text: "next", cut: false }]);
  });

  test("takes the cap from a line's first byte", () => {
    const seen: Seen[] = [];
    const splitter = new LineSplitter(
      (first) => (first === 0x7b ? 8 : 2),
      (line, cut) => void seen.push({ text: line.toString(), cut }),
    );
    splitter.push(Buffer.from("{12345}\nabc\n"));
    expect(seen).toEqual([
      { text: "{12345}", cut: false },
      { text: "ab", cut: true },
    ]);
  });

  test("holds at most the cap of an endless line", () => {
    const cap = 1_048_576;
    const splitter = new LineSplitter(
      () => cap,
      () => {},
    );
    const piece = Buffer.alloc(1_024, "x");
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64 * 1_024; i += 1) splitter.push(piece);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * cap);
    splitter.end();
  });

  test("delivers nothing for an empty stream, and ends once", () => {
    expect(split([], 10)).toEqual([]);
    const seen: string[] = [];
    const splitter = new LineSplitter(
      () => 10,
      (line) => void seen.push(line.toString()),
    );
    splitter.push(Buffer.from("rest"));
    splitter.end();
    splitter.end();
    expect(seen).toEqual(["rest"]);
  });
});
