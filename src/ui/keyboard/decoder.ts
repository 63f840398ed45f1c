import { StringDecoder } from "node:string_decoder";
import { withoutSequences } from "../../lib/terminal-text.ts";

/** A pressed key: the character, or a name such as `up`, `ctrl-c` or `alt-left`. A paste is one key, `paste`, with its text. */
export interface Key {
  readonly name: string;
  readonly text?: string;
}

/** How much longer than a lone Esc the rest of a sequence or of a paste is awaited: nobody types their beginnings. */
const PATIENCE = 10;

/** Maximum time between the reads of one paste that the terminal does not mark, in ms. */
const BURST_MS = 10;

const ESC = "\u001B";
const CTRL_C = "\u0003";
const PASTE = `${ESC}[200~`;
const PASTE_END = `${ESC}[201~`;

// Bytes are matched as Latin-1: mouse reports are not UTF-8.
const REPLY = "[\\]P_][^\\x03\\x07\\x18\\x1A\\x1B]*";
/** Mouse reports of X10, F keys of the Linux console, shifted keys of rxvt, and all others. */
const CONTROL = "\\[M[^]{3}|\\[\\[[^]|\\[\\d\\$|\\[(?![M[]|\\d\\$|200~)[0-?]*[ -/]*[@-~]|O[\\d;]*[@-~]";
const CHORD = "[\\xC0-\\xFF][\\x80-\\xBF]+|[ -NQ-Z\\\\^`-~\\x08\\r\\x7F]";
const TOKEN = new RegExp(
  `^(?:(?<text>[^${ESC}]+)|${ESC}\\[200~(?<paste>[^]*?)${ESC}\\[201~` +
    `|(?<escapes>${ESC}{1,2})(?:(?<control>${CONTROL})|${REPLY}(?:\\x07|${ESC}\\\\)|(?<chord>${CHORD})))`,
);
const BEGINNING = new RegExp(
  `^${ESC}{1,2}(?:\\[(?:200~[^]*|M[^]{0,2}|\\[|[0-?]*[ -/]*)|O[\\d;]*|${REPLY}(?:${ESC}$)?)?`,
);
const LONE = new RegExp(`^${ESC}+$`);

const TEXT_OR_CONTROL = /[\P{Cc}\t\r\n]+|\p{Cc}/gu;
const OTHER_CONTROL = /^(?![\t\r\n])\p{Cc}$/u;
/** A line break that is followed by text: nobody types that fast. */
const LINES = /[\r\n][^\p{Cc}]/u;

/** The keys of sequences, by their last character or their number. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ A: "up", B: "down", C: "right", D: "left", F: "end", H: "home" },
  ...{ 1: "home", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end" },
};
/** The keys of characters; the last is Enter on the keypad in kitty's protocol. */
const CODES: Readonly<Record<number, string>> = {
  ...{ 8: "backspace", 9: "tab", 10: "return", 13: "return", 27: "escape", 127: "backspace", 57_414: "return" },
};

/**
 * Makes keys of what a terminal sends, in whatever pieces it arrives. Replies of the terminal, mouse reports, releases of keys and chords with
 * Super are no keys. Pure: it is told the time.
 */
export class Decoder {
  readonly #hold_ms: number;
  readonly #characters = new StringDecoder("utf8");
  /** The beginning of a sequence or a paste. */
  #held = "";
  #read_at = 0;
  #burst_until = 0;

  /** @param hold_ms how long the rest of a sequence is awaited after a lone Esc */
  constructor(hold_ms: number) {
    this.#hold_ms = hold_ms;
  }

  /** When `flush` must be called; undefined if nothing is held. */
  get due(): number | undefined {
    if (this.#held === "") return undefined;
    return this.#read_at + this.#hold_ms * (this.#held.endsWith(ESC) ? 1 : PATIENCE);
  }

  /** The keys that end with these bytes. */
  read(bytes: Buffer, now: number): Key[] {
    const read = bytes.toString("latin1");
    // Between its marks, every byte of a paste is text, but the end mark may be lost.
    const keys = this.#held.startsWith(PASTE) && read === CTRL_C ? this.flush() : [];
    let rest = this.#held + read;
    this.#held = "";
    this.#read_at = now;
    const end = rest.indexOf(PASTE_END);
    // What seems to be keys is text if it ends as a paste.
    if (end >= 0 && !rest.slice(0, end).includes(PASTE)) rest = PASTE + rest;
    while (rest !== "") {
      const token = TOKEN.exec(rest);
      const [taken = ESC] = token ?? BEGINNING.exec(rest) ?? [];
      const { text, paste, escapes, control, chord } = token?.groups ?? {};
      const isEscape = token === null && taken !== rest && LONE.test(taken);
      if (text !== undefined) keys.push(...this.#text(this.#characters.write(Buffer.from(text, "latin1"))));
      if (paste !== undefined) keys.push(pasteOf(utf8(paste)));
      if (control !== undefined) keys.push(...controlKeys(control, escapes !== ESC));
      if (chord !== undefined) keys.push(...keyOf(utf8(chord).codePointAt(0) ?? 0, "alt-"));
      if (isEscape) keys.push({ name: "escape" });
      else if (token === null && taken === rest) this.#held = rest;
      rest = rest.slice(isEscape ? 1 : taken.length);
    }
    return keys;
  }

  /** Gives up waiting: a paste without an end is over, a lone Esc is a key, and a piece of a sequence is nothing. */
  flush(): Key[] {
    const held = this.#held;
    this.#held = "";
    if (held.startsWith(PASTE)) return [pasteOf(utf8(held.slice(PASTE.length)))];
    return LONE.test(held) ? Array.from(held, () => ({ name: "escape" })) : [];
  }

  #text(text: string): Key[] {
    return Array.from(text.matchAll(TEXT_OR_CONTROL)).flatMap(([part]) => {
      const isLate = this.#read_at < this.#burst_until && !OTHER_CONTROL.test(part);
      if (!isLate && !LINES.test(part)) return Array.from(part).flatMap((one) => keyOf(one.codePointAt(0) ?? 0));
      if (part.length > 1) this.#burst_until = this.#read_at + BURST_MS;
      return [pasteOf(part)];
    });
  }
}

/** The key of a sequence of xterm, kitty's protocol or modifyOtherKeys. */
function controlKeys(control: string, isAlt: boolean): Key[] {
  const [, parameters = "", last = ""] = /^[[O]([\d:;]*)([A-Za-z~])$/.exec(control) ?? [];
  const [first = "", second = "", third = ""] = parameters.split(";");
  const [code = "", shifted = ""] = first.split(":");
  const [modifiers, event] = second.split(":");
  const held = Math.max(0, Number(modifiers) - 1) || 0;
  // Released; or held with Super, Hyper or Meta.
  if (event === "3" || (held & 0b11_1000) !== 0) return [];
  const isShifted = (held & 1) !== 0;
  const chord = `${(held & 4) === 0 ? "" : "ctrl-"}${isAlt || (held & 2) !== 0 ? "alt-" : ""}`;
  if (last === "u") return keyOf(Number((isShifted && shifted) || code), chord, isShifted);
  if (last === "~" && code === "27") return keyOf(Number(third), chord, isShifted);
  const name = control === "OM" ? "return" : NAMES[last === "~" ? code : last];
  return name === undefined ? [] : [{ name: chord + name }];
}

function keyOf(code: number, chord = "", isShifted = false): Key[] {
  const name = CODES[code];
  if (name !== undefined) return [{ name: chord + name }];
  if (code < 32) return [{ name: `ctrl-${chord}${String.fromCodePoint(code + 96)}` }];
  // Other keys of kitty's protocol are in the private use area.
  if (!(code <= 0x10ffff) || (code >= 0x7f && code < 0xa0) || (code >= 0xe000 && code <= 0xf8ff)) return [];
  const character = String.fromCodePoint(code);
  return [{ name: chord + (isShifted ? character.toUpperCase() : character) }];
}

function pasteOf(text: string): Key {
  const lines = withoutSequences(text).replace(/\r\n?/g, "\n").replaceAll("\t", "  ");
  return { name: "paste", text: lines.replace(/(?!\n)\p{Cc}/gu, "") };
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}
