import { StringDecoder } from "node:string_decoder";
import { withoutSequences } from "../../lib/terminal-text.ts";

/** A pressed key: a name such as `up` or `return`, or the character. A paste is one key, `paste`, with its text. */
export interface Key {
  readonly name: string;
  readonly ctrl?: boolean;
  readonly alt?: boolean;
  readonly text?: string;
}

const ESC = "\u001B";
const ESCAPES = new RegExp(`^${ESC}+$`);
const CTRL_C = "\u0003";
const PASTE_END = `${ESC}[201~`;

/** How much longer than a lone Esc the rest of a sequence or of a paste is awaited: nobody types their beginnings. */
const PATIENCE = 10;

/** Maximum time between the reads of one paste that the terminal does not mark, in ms. */
const BURST_MS = 10;

/** Replies of the terminal may be long, but not this long. */
const MOST_HELD = 100_000;

// Bytes are matched as Latin-1: mouse reports are not UTF-8.
const REPLY = "[\\]P_][^\\x03\\x07\\x18\\x1A\\x1B]*";
const SEQUENCE = new RegExp(
  `\\x1B{1,2}(${[
    // Mouse reports of X10, F keys of the Linux console, shifted keys of rxvt, and all others.
    "\\[M[^]{3}|\\[\\[[^]|\\[\\d\\$|\\[(?![M[]|\\d\\$)[0-?]*[ -/]*[@-~]",
    "O[\\d;]*[@-~]",
    `${REPLY}(?:\\x07|\\x1B\\\\)`,
    "[\\xC0-\\xFF][\\x80-\\xBF]+|[ -NQ-Z\\\\^`-~\\x08\\r\\x7F]",
  ].join("|")})`,
  "y",
);
const BEGINNING = new RegExp(`\\x1B{1,2}(?:\\[(?:M[^]{0,2}|\\[|[0-?]*[ -/]*)|O[\\d;]*|${REPLY}(?:\\x1B$)?)?`, "y");

const TEXT_OR_CONTROL = /[\P{Cc}\t\r\n]+|\p{Cc}/gu;
const OTHER_CONTROL = /^(?![\t\r\n])\p{Cc}$/u;

/** A line break that is followed by text: nobody types that fast. */
const LINES = /[\r\n][^\p{Cc}]/u;

/** The keys of sequences, by their last character or their number. */
const NAMES: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  1: "home",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};

/** The keys of characters. 57414 is Enter on the keypad of kitty's protocol. */
const CODES: Readonly<Record<number, string>> = {
  8: "backspace",
  9: "tab",
  10: "return",
  13: "return",
  27: "escape",
  127: "backspace",
  57_414: "return",
};

/**
 * Makes keys of what a terminal sends, in whatever pieces it arrives. Replies of the terminal, mouse reports, releases of keys and chords with
 * Super are no keys. Pure: it is told the time, and must be called at `due`.
 */
export class Decoder {
  readonly #hold_ms: number;
  readonly #characters = new StringDecoder("utf8");
  /** The beginning of a sequence. */
  #held = "";
  /** The beginning of a paste. */
  #pasted: string | undefined;
  #read_at = 0;
  #burst_until = 0;

  /** @param hold_ms how long the rest of a sequence is awaited after a lone Esc */
  constructor(hold_ms: number) {
    this.#hold_ms = hold_ms;
  }

  /** When what is held must be given up by `flush`; undefined if nothing is held. */
  get due(): number | undefined {
    if (this.#held === "" && this.#pasted === undefined) return undefined;
    return this.#read_at + (ESCAPES.test(this.#held) ? this.#hold_ms : this.#hold_ms * PATIENCE);
  }

  /** The keys that end with these bytes. */
  read(bytes: Buffer, now: number): Key[] {
    const read = bytes.toString("latin1");
    // Between its marks, every byte is text, but the end mark may be lost.
    const keys = this.#pasted !== undefined && read === CTRL_C ? this.flush() : [];
    this.#read_at = now;
    let rest = this.#held + read;
    this.#held = "";
    while (rest !== "") {
      const end = this.#pasted === undefined ? this.#next(rest, keys) : this.#paste(rest, keys);
      rest = rest.slice(end);
    }
    return keys;
  }

  /** Gives up waiting: a paste without an end is over, a lone Esc is a key, and a piece of a sequence is nothing. */
  flush(): Key[] {
    const held = this.#held;
    this.#held = "";
    if (this.#pasted === undefined) return ESCAPES.test(held) ? Array.from(held, () => ({ name: "escape" })) : [];
    const text = this.#pasted;
    this.#pasted = undefined;
    return [pasteOf(utf8(text))];
  }

  /** Takes a part of a paste. Returns how much it took. */
  #paste(input: string, keys: Key[]): number {
    const end = input.indexOf(PASTE_END);
    if (end >= 0) {
      keys.push(pasteOf(utf8(this.#pasted + input.slice(0, end))));
      this.#pasted = undefined;
      return end + PASTE_END.length;
    }
    const last = input.lastIndexOf(ESC);
    const kept = last >= 0 && PASTE_END.startsWith(input.slice(last)) ? last : input.length;
    this.#pasted += input.slice(0, kept);
    this.#held = input.slice(kept);
    return input.length;
  }

  /** Takes text up to a sequence, or a sequence. Returns how much it took. */
  #next(input: string, keys: Key[]): number {
    const begin = input.indexOf(ESC);
    if (begin !== 0) {
      const text = begin < 0 ? input : input.slice(0, begin);
      this.#text(this.#characters.write(Buffer.from(text, "latin1")), keys);
      return text.length;
    }
    SEQUENCE.lastIndex = 0;
    const [whole, body = ""] = SEQUENCE.exec(input) ?? [];
    if (whole !== undefined) {
      this.#sequence(body, whole.length - body.length > 1, keys);
      return whole.length;
    }
    BEGINNING.lastIndex = 0;
    const [beginning = ESC] = BEGINNING.exec(input) ?? [];
    if (beginning === input && input.length < MOST_HELD) {
      this.#held = input;
      return input.length;
    }
    if (!ESCAPES.test(beginning)) return beginning.length;
    keys.push({ name: "escape" });
    return 1;
  }

  #text(text: string, keys: Key[]): void {
    for (const [part] of text.matchAll(TEXT_OR_CONTROL)) {
      const isLate = this.#read_at < this.#burst_until && !OTHER_CONTROL.test(part);
      if (isLate || LINES.test(part)) {
        if (part.length > 1) this.#burst_until = this.#read_at + BURST_MS;
        keys.push(pasteOf(part));
      } else for (const character of part) keys.push(...keyOf(character.codePointAt(0) ?? 0));
    }
  }

  /** @param isAlt whether Esc came before it */
  #sequence(body: string, isAlt: boolean, keys: Key[]): void {
    if (!/^[[O\]P_]/.test(body)) {
      keys.push(...keyOf(utf8(body).codePointAt(0) ?? 0, { alt: true }));
      return;
    }
    const [, parameters = "", last = ""] = /^[[O]([\d:;]*)([A-Za-z~])$/.exec(body) ?? [];
    const [first = "", second = "", third = ""] = parameters.split(";");
    const [modifiers, event] = second.split(":");
    const held = Math.max(0, Number(modifiers) - 1) || 0;
    // Released; or held with Super, Hyper or Meta.
    if (event === "3" || (held & 0b11_1000) !== 0) return;
    const chord = { alt: isAlt || (held & 2) !== 0, ctrl: (held & 4) !== 0 };
    const [code = "", shifted = ""] = first.split(":");
    if (last === "u") keys.push(...keyOf(Number(((held & 1) !== 0 && shifted) || code), chord, (held & 1) !== 0));
    else if (body === "OM") keys.push(...named("return", chord));
    else if (last !== "~") keys.push(...named(NAMES[last], chord));
    else if (code === "27") keys.push(...keyOf(Number(third), chord, (held & 1) !== 0));
    else if (code === "200") this.#pasted = "";
    else if (code === "201") this.#endUnbegun(keys);
    else keys.push(...named(NAMES[code], chord));
  }

  /** The first mark of this paste was lost: what seemed keys is its text. */
  #endUnbegun(keys: Key[]): void {
    keys.splice(0, Infinity, pasteOf(keys.map(textOf).join("")));
    this.#burst_until = 0;
  }
}

function named(name: string | undefined, { alt = false, ctrl = false }: Omit<Key, "name">): Key[] {
  return name === undefined ? [] : [{ name, ...(alt && { alt }), ...(ctrl && { ctrl }) }];
}

function keyOf(code: number, chord: Omit<Key, "name"> = {}, isShifted = false): Key[] {
  const name = CODES[code];
  if (name !== undefined) return named(name, chord);
  if (code < 32) return named(String.fromCodePoint(code + (code > 26 ? 64 : 96)), { ...chord, ctrl: true });
  // Other keys of kitty's protocol are in the private use area.
  if (!(code <= 0x10_ffff) || (code >= 0x7f && code < 0xa0) || (code >= 0xe000 && code <= 0xf8ff)) return [];
  const character = String.fromCodePoint(code);
  return named(isShifted ? character.toUpperCase() : character, chord);
}

/** What a key adds to a text. */
function textOf({ name, ctrl, alt, text }: Key): string {
  if (text !== undefined || ctrl === true || alt === true) return text ?? "";
  return name === "return" ? "\n" : /^.$/u.test(name) ? name : "";
}

function pasteOf(text: string): Key {
  const lines = withoutSequences(text).replace(/\r\n?/g, "\n").replaceAll("\t", "  ");
  return { name: "paste", text: lines.replace(/(?!\n)\p{Cc}/gu, "") };
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}
