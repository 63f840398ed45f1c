import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { folded, widthOf } from "../lib/text-layout.ts";
import { visibleText } from "./display.ts";
import type { Key } from "./keyboard/decoder.ts";
import { editField, EMPTY_FIELD, type Field } from "./keyboard/field.ts";
import { Keyboard } from "./keyboard/keyboard.ts";
import type { Typed } from "./prompt.ts";
import type { OpenPrompt, Terminal } from "./terminal.ts";

/** The beginning of each line after the first. */
const MORE = "> ";

/** A label and a text that a person types behind it. It takes the keys as soon as it is made, and drops those before `typed`. */
export class TypedLine implements OpenPrompt {
  readonly #terminal: Terminal;
  readonly #label: readonly string[];
  readonly #keyboard: Keyboard;
  #field: Field = EMPTY_FIELD;
  /** The rows on the screen down to the cursor; the last one ends at it. */
  #above: readonly string[] = [];
  #end: ((typed: Typed) => void) | undefined;
  /** Set while the line is on the screen; Ctrl-C ends that. */
  #release: (() => void) | undefined;

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label.split("\n");
    this.#keyboard = new Keyboard(terminal, terminal.err.stream, (key) => this.#key(key));
  }

  /** Shows the line until it is typed; `left` at Ctrl-D, when `signal` is aborted and when the input ends. */
  async typed(signal: AbortSignal): Promise<Typed> {
    const { input, err } = this.#terminal;
    const ended = new Promise<Typed>((resolve) => (this.#end = resolve));
    const leave = () => this.#end?.({ kind: "left" });
    signal.addEventListener("abort", leave);
    input.once("end", leave).once("close", leave);
    if (signal.aborted || input.readableEnded) leave();
    process.on("SIGCONT", this.#continued);
    err.stream.on("resize", this.#redraw);
    this.#release = err.keepBelow(this);
    this.draw();
    const typed = await ended;
    process.off("SIGCONT", this.#continued);
    err.stream.off("resize", this.#redraw);
    input.off("end", leave).off("close", leave);
    signal.removeEventListener("abort", leave);
    this.#endLine();
    this.#keyboard.close();
    return typed;
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
    const before = this.#rows(this.#field.text.slice(0, this.#field.cursor), width);
    if (widthOf(before.at(-1) ?? "") >= width) before.push("");
    const all = this.#rows(this.#field.text, width);
    if (all.length < before.length) all.push("");
    // Of a text that is taller than the screen, what fits is shown.
    const first = Math.max(0, Math.min(all.length - (stream.rows || all.length), before.length - 1));
    stream.write(
      all
        .slice(first)
        .slice(0, stream.rows || all.length)
        .join("\n"),
    );
    this.#above = before.slice(first);
    moveCursor(stream, 0, before.length - Math.min(all.length, first + (stream.rows || all.length)));
    cursorTo(stream, widthOf(before.at(-1) ?? ""));
  }

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

  /** The rows of the label and a text. */
  #rows(text: string, width: number): string[] {
    const [first = "", ...more] = visibleText(text).split("\n");
    const lines = [...this.#label.slice(0, -1), `${this.#label.at(-1)}${first}`, ...more.map((line) => MORE + line)];
    return lines.flatMap((line) => folded(line, width));
  }

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
    const control = key.ctrl === true && key.alt !== true ? key.name : undefined;
    if (control === "c") {
      this.#endLine();
      process.emit("SIGINT", "SIGINT");
    }
    if (this.#release === undefined) return;
    if (control === "z") {
      process.off("SIGCONT", this.#continued);
      this.#keyboard.suspend();
      process.on("SIGCONT", this.#continued);
      this.#continued();
    } else if (control === "d" && this.#field.text === "") this.#end?.({ kind: "left" });
    else if (key.name === "return") this.#end?.({ kind: "text", text: this.#field.text.trim() });
    else {
      if (control === "l") {
        cursorTo(this.#terminal.err.stream, 0, 0);
        this.#above = [];
      }
      this.#field = editField(this.#field, key);
      this.#redraw();
    }
  }
}
