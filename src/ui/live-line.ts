import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { widthOf } from "../lib/text-layout.ts";
import { clipped } from "./display.ts";
import type { OpenPrompt, Output } from "./terminal.ts";

/** Minimum time between changes of the line, in ms. */
const MIN_MS = 100;

/** Maximum share of the time spent on making the text, however large the session. */
const SHARE = 0.02;

/** A status line below all other lines of a terminal, hidden while a prompt is open. It is erased when it is closed and when the process exits. */
export class LiveLine implements OpenPrompt {
  readonly #output: Output;
  readonly #text: () => string;
  readonly #close: () => void;
  #line = "";
  /** Whether the line is on the screen. */
  #isShown = false;
  /** The part of the line that is on the screen. */
  #drawn = "";
  #isStale = true;
  #next = 0;

  constructor(output: Output, text: () => string) {
    this.#output = output;
    this.#text = text;
    const timer = setInterval(() => this.#refresh(), MIN_MS).unref();
    const exited = () => this.erase();
    // While the job was suspended, the shell has written below the line.
    const continued = () => this.#isShown && this.#redraw();
    process.on("exit", exited).on("SIGCONT", continued);
    const release = output.keepBelow(this);
    this.draw();
    this.#close = () => {
      clearInterval(timer);
      process.off("exit", exited).off("SIGCONT", continued);
      this.erase();
      release();
    };
  }

  /** Call when the text may have changed. */
  touch(): void {
    this.#isStale = true;
  }

  close(): void {
    this.#close();
  }

  draw(): void {
    this.#isShown = true;
    this.#drawn = clipped(this.#line, this.#output.width - 1);
    if (this.#drawn !== "") this.#output.stream.write(this.#output.style("dim", this.#drawn));
  }

  erase(): void {
    this.#isShown = false;
    const { stream, width } = this.#output;
    if (this.#drawn === "") return;
    // A terminal that became narrower has wrapped the line.
    moveCursor(stream, 0, -Math.floor((widthOf(this.#drawn) - 1) / width));
    cursorTo(stream, 0);
    clearScreenDown(stream);
    this.#drawn = "";
  }

  #refresh(): void {
    const now = performance.now();
    if (!this.#isStale || now < this.#next || this.#output.ended.aborted) return;
    this.#isStale = false;
    const text = this.#text();
    this.#next = now + Math.max(MIN_MS, (performance.now() - now) / SHARE);
    if (text === this.#line) return;
    this.#line = text;
    if (this.#isShown) this.#redraw();
  }

  #redraw(): void {
    this.erase();
    this.draw();
  }
}
