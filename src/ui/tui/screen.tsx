import { styleText } from "node:util";
import { Box, type Instance, render, Text, useCursor, useWindowSize } from "ink";
import { memo, useLayoutEffect } from "react";
import type { Key } from "../keyboard/decoder.ts";
import { Keyboard, suspendJob } from "../keyboard/keyboard.ts";
import type { Terminal } from "../terminal.ts";
import { isTooSmall } from "./frame.ts";
import { type Line, widthOfLine } from "./line.ts";

interface ScreenParts {
  readonly terminal: Terminal;
  /** Returns the lines of the whole screen, none wider than `columns`. */
  readonly frame: (columns: number, rows: number) => readonly Line[];
  readonly onKey: (key: Key) => void;
}

/** Maximum frames per second. */
const FRAMES = 10;

/** Some terminals count some characters as wider than we do. Their rows must not wrap, because that would move all rows below. */
const NO_WRAP = "\u001B[?7l";
const WRAP = "\u001B[?7h";

/** The keys that act although the screen shows only that it is too small. */
const UNSEEN = new Set(["q", "ctrl-c", "ctrl-z"]);

/** The terminal's alternate screen. It does not capture the mouse, so that text can be selected and copied. */
export class Screen {
  readonly #parts: ScreenParts;
  #ink: Instance | undefined;
  #isClosed = false;

  constructor(parts: ScreenParts) {
    this.#parts = parts;
    process.on("SIGCONT", this.#renew);
    this.show();
  }

  get isOpen(): boolean {
    return this.#ink !== undefined;
  }

  /** Opens the alternate screen, unless it is closed for good. */
  show(): void {
    if (this.#isClosed) return;
    // Before the first frame: it begins where the cursor is, behind a `^C` that the terminal has echoed.
    if (!this.isOpen) this.#parts.terminal.out.stream.write(`\r${NO_WRAP}`);
    this.#ink ??= render(this.#frame(), {
      stdout: this.#parts.terminal.out.stream,
      stdin: this.#parts.terminal.input,
      alternateScreen: true,
      incrementalRendering: true,
      maxFps: FRAMES,
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
      isScreenReaderEnabled: false,
    });
  }

  /** Redraws the frame. Returns false if the terminal has not read the last one yet: the frame is dropped. */
  draw(): boolean {
    if (this.#parts.terminal.out.stream.writableLength > 0) return false;
    this.#ink?.rerender(this.#frame());
    return true;
  }

  /** Restores the normal screen, until `show`. */
  hide(): void {
    this.#ink?.unmount();
    this.#ink = undefined;
  }

  close(): void {
    this.#isClosed = true;
    process.off("SIGCONT", this.#renew);
    this.hide();
  }

  /** Suspends the job. Returns once it continues, or at once if no shell could continue it. */
  suspend(): void {
    this.hide();
    suspendJob(this.#renew);
    this.show();
  }

  /** Draws everything again, because other programs have changed the screen and the terminal's modes. */
  readonly #renew = () => {
    if (!this.isOpen) return;
    this.hide();
    this.show();
  };

  #key(key: Key): void {
    const { columns, rows } = this.#parts.terminal.out.stream;
    if (key.name === "ctrl-l") this.#renew();
    else if (!isTooSmall(columns, rows) || UNSEEN.has(key.name)) this.#parts.onKey(key);
  }

  #frame() {
    return <Frame {...this.#parts} onKey={(key) => this.#key(key)} />;
  }
}

function Frame({ terminal, frame, onKey }: ScreenParts) {
  const { columns, rows } = useWindowSize();
  const { setCursorPosition } = useCursor();
  // A layout effect, because Ink ends it at once however this process ends.
  useLayoutEffect(() => {
    const { stream } = terminal.out;
    const keyboard = new Keyboard(terminal, stream, onKey);
    setBlocking(terminal, false);
    return () => {
      keyboard.close();
      stream.write(WRAP);
      setBlocking(terminal, true);
    };
  }, []);
  const lines = frame(columns, rows);
  const isStyled = terminal.out.stream.hasColors();
  // Input methods show their window at the cursor, which only the last row can have.
  const last = lines.at(-1) ?? [];
  const place = last.findIndex(({ isCursor }) => isCursor === true);
  setCursorPosition(place < 0 ? undefined : { x: widthOfLine(last.slice(0, place)), y: lines.length - 1 });
  return (
    <Box flexDirection="column">
      {lines.map((line, row) => (
        // Rows have no identity besides their index.
        <Row key={row} text={(isStyled ? styledLine(line) : line.map(({ text }) => text).join("")).trimEnd()} />
      ))}
    </Box>
  );
}

/** Node waits for a terminal that does not read, and with it everything else in this process. It has no public switch for that. */
function setBlocking({ out, err }: Terminal, isBlocking: boolean): void {
  for (const { stream } of [out, err])
    (stream as { _handle?: { setBlocking?: (isBlocking: boolean) => void } })._handle?.setBlocking?.(isBlocking);
}

/** One row. Unchanged rows are neither measured nor laid out again. */
const Row = memo(function Row({ text }: { readonly text: string }) {
  return (
    <Box flexShrink={0} height={1}>
      <Text wrap="truncate">{text}</Text>
    </Box>
  );
});

function styledLine(line: Line): string {
  return line
    .map(({ text, style }) => (style === undefined ? text : styleText(style, text, { validateStream: false })))
    .join("");
}
