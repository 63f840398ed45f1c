import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Decoder, type Key } from "../../../src/ui/keyboard/decoder.ts";

const HOLD_MS = 100;

/** What comes of these reads, which arrive so many ms apart. */
function decoded(reads: readonly (string | Buffer)[], apart_ms = 0): Key[] {
  const decoder = new Decoder(HOLD_MS);
  let now = 1_000;
  const keys: Key[] = [];
  for (const read of reads) {
    if (decoder.due !== undefined && decoder.due <= now) keys.push(...decoder.flush());
    keys.push(...decoder.read(Buffer.from(read as string), now));
    now += apart_ms;
  }
  if (decoder.due !== undefined) keys.push(...decoder.flush());
  return keys;
}

const names = (reads: readonly (string | Buffer)[], apart_ms?: number) =>
  decoded(reads, apart_ms).map(({ name }) => name);

const paste = (text: string): Key => ({ name: "paste", text });

describe("keys", () => {
  it.each([
    ["aä漢👍🏽", ["a", "ä", "漢", "👍", "🏽"]],
    ["\r\n\t\b\x7f", ["return", "return", "tab", "backspace", "backspace"]],
    ["\x01\x03\x1a\x1f", ["ctrl-a", "ctrl-c", "ctrl-z", "ctrl-\x7f"]],
    ["\x1b[A\x1bOB\x1b[1;2C\x1b[1;5D", ["up", "down", "right", "ctrl-left"]],
    ["\x1b[H\x1bOH\x1b[1~\x1b[7~\x1b[F\x1bOF\x1b[4~\x1b[8~", [...Array(4).fill("home"), ...Array(4).fill("end")]],
    ["\x1b[3~\x1b[5~\x1b[6~\x1bOM", ["delete", "pageup", "pagedown", "return"]],
    ["\x1b", ["escape"]],
    ["\x1b\x1b\x1b", ["escape", "escape", "escape"]],
    ["\x1b\x03", ["escape", "ctrl-c"]],
  ])("are named: %j", (read, expected) => {
    expect(names([read])).toEqual(expected);
  });

  it("with Alt are chords, and those with Super, Hyper or Meta are nothing", () => {
    expect(names(["\x1bp\x1bé\x1b\x7f\x1b[1;3A\x1b\x1b[B"])).toEqual([
      "alt-p",
      "alt-é",
      "alt-backspace",
      "alt-up",
      "alt-down",
    ]);
    expect(names(["\x1b[112;9u\x1b[112;17u\x1b[112;33u\x1b[1;9A"])).toEqual([]);
  });

  it("of the kitty protocol and of modifyOtherKeys are the same keys; their releases are nothing", () => {
    expect(names(["\x1b[112u\x1b[112;1:3u\x1b[112;1:2u\x1b[99;5u\x1b[112;3u\x1b[27u\x1b[13u\x1b[127u"])).toEqual([
      "p",
      "p",
      "ctrl-c",
      "alt-p",
      "escape",
      "return",
      "backspace",
    ]);
    expect(names(["\x1b[112;2u\x1b[47:63;2u\x1b[1;1:3A\x1b[3;1:3~\x1b[57441u\x1b[27;5;99~\x1b[27;2;112~"])).toEqual([
      "P",
      "?",
      "ctrl-c",
      "P",
    ]);
  });
});

describe("what is no key", () => {
  it.each([
    "\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
    "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\",
    "\x1bP>|tmux 3.3a\x1b\\",
    "\x1b_Gi=1;OK\x1b\\",
    "\x1b[?62;4;22c",
    "\x1b[12;40R",
    "\x1b[?2026;2$y",
    "\x1b[I\x1b[O",
    "\x1b[<65;10;10M\x1b[<0;1;1m",
    "\x1b[35;10;10M",
    "\x1b[[A\x1b[11~\x1bOP\x1b[2$\x1b[Z",
  ])("is swallowed, whole or cut anywhere: %j", (read) => {
    expect(names([`a${read}q`])).toEqual(["a", "q"]);
    for (let place = 1; place < read.length; place += 1)
      expect(names([read.slice(0, place), `${read.slice(place)}q`], HOLD_MS - 1)).toEqual(["q"]);
  });

  it("is swallowed where a mouse report of X10 is not UTF-8", () => {
    expect(names([Buffer.from([0x1b, 0x5b, 0x4d, 0x20, 0xe3, 0x82]), Buffer.from("q")])).toEqual(["q"]);
    expect(names(["\x1b[M", " p", "xq"])).toEqual(["q"]);
  });

  it("is given up without its end, and at Ctrl-C or Esc", () => {
    expect(names(["\x1b]11;rgb", "q"], 10 * HOLD_MS)).toEqual(["q"]);
    expect(names(["\x1b]11;rgb\x03q"])).toEqual(["ctrl-c", "q"]);
    expect(names(["\x1b]11;rgb\x1b[Aq"])).toEqual(["up", "q"]);
    expect(names(["\x1b[12", "\x03"])).toEqual(["ctrl-c"]);
  });
});

describe("what is cut over reads", () => {
  const PIECES = [
    "a",
    "é",
    "漢",
    "👍",
    "\x1b[A",
    "\x1b[1;5D",
    "\x1bp",
    "\x1bOB",
    "\x03",
    "\x1b[200~x\ry\x1b[201~",
    "\x1b]0;t\x07",
  ];

  it("gives the same keys wherever it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PIECES), { minLength: 1 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
        (pieces, sizes) => {
          const bytes = Buffer.from(pieces.join(""));
          const reads: Buffer[] = [];
          for (let from = 0; from < bytes.length; from += reads.at(-1)?.length ?? 0)
            reads.push(bytes.subarray(from, from + sizes.next().value));
          expect(decoded(reads, 60)).toEqual(decoded(pieces, 60));
        },
      ),
    );
  });

  it("is held for a time: a lone Esc is a key after it, the beginning of a sequence is held for longer, and then is nothing", () => {
    expect(names(["\x1b", "[A"], HOLD_MS - 1)).toEqual(["up"]);
    expect(names(["\x1b", "q"], HOLD_MS)).toEqual(["escape", "q"]);
    expect(names(["\x1b[", "A"], 5 * HOLD_MS)).toEqual(["up"]);
    expect(names(["\x1b[1;", "q"], 10 * HOLD_MS)).toEqual(["q"]);
  });
});

describe("a paste", () => {
  it("is text from its mark to its end, with its lines, and without control characters and colours", () => {
    expect(decoded(["\x1b[200~one\r\n\ttwo \x15\x03\x1b[31mred\x1b[0m\rxy\x1b[201~q"])).toEqual([
      paste("one\n  two red\nxy"),
      { name: "q" },
    ]);
  });

  it("is text where a read is cut inside its marks, and where its first mark was lost", () => {
    expect(decoded(["\x1b[2", "00~xy on", " the plane\x1b[20", "1~q"], 60)).toEqual([
      paste("xy on the plane"),
      { name: "q" },
    ]);
    expect(decoded(["00~xy\rr\x1b[201~q"])).toEqual([paste("00~xy\nr"), { name: "q" }]);
  });

  it("ends after a time, at a Ctrl-C and at an Esc that come alone", () => {
    expect(decoded(["\x1b[200~text", "q"], 10 * HOLD_MS)).toEqual([paste("text"), { name: "q" }]);
    expect(decoded(["\x1b[200~text", "\x03"])).toEqual([paste("text"), { name: "ctrl-c" }]);
    expect(decoded(["\x1b[200~text", "\x1b", "q"], HOLD_MS)).toEqual([paste("text"), { name: "q" }]);
  });

  it("without marks is a line break that is followed by text in one read, and what comes at once after it", () => {
    expect(decoded(["one\rxy\r"])).toEqual([paste("one\nxy\n")]);
    expect(decoded(["one\rxy", "p", "\x03"], 1)).toEqual([paste("one\nxy"), paste("p"), { name: "ctrl-c" }]);
    expect(names(["one\r", "p"])).toEqual(["o", "n", "e", "return", "p"]);
    expect(names(["\r\r"])).toEqual(["return", "return"]);
  });
});
