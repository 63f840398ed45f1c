import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { folded, widthOf } from "../lib/text-layout.ts";
import { visibleText } from "./display.ts";
import type { Key } from "./keyboard/decoder.ts";
import { editField, fieldOf, LEAVING } from "./keyboard/field.ts";
import { Keyboard, suspendJob } from "./keyboard/keyboard.ts";
import type { OpenPrompt, Terminal } from "./terminal.ts";

/** A label and a text that a person types behind it. It has the keys as soon as it is made, and drops those before `typed`. */
export class TypedLine implements OpenPrompt {
  readonly #terminal: Terminal;
  readonly #label: readonly string[];
  readonly #keyboard: Keyboard;
  #field = fieldOf();
  /** The rows on the screen down to the cursor; the last one ends at it. */
  #above: readonly string[] = [];
  #end: (text?: string) => void = () => {};
  /** Set while the line is the last on the screen. Ctrl-C ends that. */
  #release: (() => void) | undefined;

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label.split("\n");
    this.#keyboard = new Keyboard(terminal, terminal.err.stream, (key) => this.#key(key));
  }

  /** Shows the line until it is typed. Undefined at Esc and Ctrl-D, when `signal` is aborted, and when the input ends. */
  async typed(signal: AbortSignal): Promise<string | undefined> {
    const { input, err } = this.#terminal;
    const text = await new Promise<string | undefined>((resolve) => {
      this.#end = resolve;
      signal.addEventListener("abort", this.#left);
      input.once("end", this.#left);
      process.on("SIGCONT", this.#continued);
      err.stream.on("resize", this.#redraw);
      this.#release = err.keepBelow(this);
      this.draw();
      if (signal.aborted || input.readableEnded) this.#left();
    });
    err.stream.off("resize", this.#redraw);
    process.off("SIGCONT", this.#continued);
    input.off("end", this.#left);
    signal.removeEventListener("abort", this.#left);
    this.#endLine();
    this.#keyboard.close();
    return text;
  }

  erase(): void {
    const { stream, width } = this.#terminal.err;
    // A terminal that became narrower has wrapped the rows.
    const rows = this.#above.flatMap((row) => folded(row, width)).length;
    moveCursor(stream, 0, -Math.max(0, rows - 1));
    cursorTo(stream, 0);
    clearScreenDown(stream);
    this.#above = [];
  }

  draw(): void {
    const { stream, width } = this.#terminal.err;
    const { text, cursor } = this.#field;
    const before = this.#rows(text.slice(0, cursor), width);
    if (widthOf(before.at(-1) ?? "") >= width) before.push("");
    const all = this.#rows(text, width);
    if (all.length < before.length) all.push("");
    // Of a text that is taller than the screen, what fits is shown.
    const fitting = stream.rows || all.length;
    const first = Math.max(0, Math.min(all.length - fitting, before.length - 1));
    const shown = all.slice(first, first + fitting);
    stream.write(shown.join("\n"));
    this.#above = before.slice(first);
    moveCursor(stream, 0, this.#above.length - shown.length);
    cursorTo(stream, widthOf(before.at(-1) ?? ""));
  }

  #rows(text: string, width: number): string[] {
    const [first = "", ...more] = visibleText(text).split("\n");
    const lines = [...this.#label.slice(0, -1), `${this.#label.at(-1)}${first}`, ...more.map((line) => `> ${line}`)];
    return lines.flatMap((line) => folded(line, width));
  }

  readonly #left = () => this.#end();

  readonly #redraw = () => {
    if (this.#release === undefined) return;
    this.erase();
    this.draw();
  };

  /** The shell has changed the terminal's modes and written below. */
  readonly #continued = () => {
    this.#keyboard.enter();
    this.#above = [];
    this.#redraw();
  };

  /** Leaves the line on the screen, with the cursor below. */
  #endLine(): void {
    if (this.#release === undefined) return;
    this.#field = { ...this.#field, cursor: this.#field.text.length };
    this.#redraw();
    this.#terminal.err.stream.write("\n");
    this.#release();
    this.#release = undefined;
  }

  #key(key: Key): void {
    if (key.name === "ctrl-c" && this.#terminal.returns !== true) {
      this.#endLine();
      process.emit("SIGINT", "SIGINT");
    }
    if (this.#release === undefined) return;
    if (key.name === "ctrl-z") {
      this.#keyboard.leave();
      suspendJob(this.#continued);
    } else if (key.name === "return") this.#end(this.#field.text);
    else if (LEAVING.has(key.name) || (key.name === "ctrl-d" && this.#field.text === "")) this.#left();
    else {
      if (key.name === "ctrl-l") cursorTo(this.#terminal.err.stream, 0, 0);
      if (key.name === "ctrl-l") this.#above = [];
      this.#field = editField(this.#field, key);
      this.#redraw();
    }
  }
}
