import { styleText } from "node:util";
import { Box, type Instance, type Key as InkKey, render, Text, useInput, usePaste, useWindowSize } from "ink";
import { memo } from "react";
import type { Terminal } from "../terminal.ts";
import type { Line } from "./line.ts";
import type { Key } from "./view.ts";

interface ScreenParts {
  readonly terminal: Pick<Terminal, "out" | "input">;
  /** Returns the lines of the whole screen, each exactly `columns` wide. */
  readonly frame: (columns: number, rows: number) => readonly Line[];
  readonly onKey: (key: Key) => void;
  /** Called with pasted text. */
  readonly onText: (text: string) => void;
}

/** Maximum frames per second. */
const FRAMES = 10;

/** The terminal's alternate screen. It does not capture the mouse, so that text can be selected and copied. */
export class Screen {
  readonly #parts: ScreenParts;
  #ink: Instance | undefined;
  #isClosed = false;

  constructor(parts: ScreenParts) {
    this.#parts = parts;
    this.show();
  }

  get isOpen(): boolean {
    return this.#ink !== undefined;
  }

  /** Opens the alternate screen, unless it is closed for good. */
  show(): void {
    if (this.#isClosed) return;
    const { out, input } = this.#parts.terminal;
    // A withdrawn prompt pauses stdin in the middle of a read. Ink alone would then never read again.
    input.resume();
    this.#ink ??= render(<Frame {...this.#parts} />, {
      stdout: out.stream,
      stdin: input,
      alternateScreen: true,
      incrementalRendering: true,
      maxFps: FRAMES,
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
      isScreenReaderEnabled: false,
    });
  }

  /** Redraws the frame. */
  draw(): void {
    this.#ink?.rerender(<Frame {...this.#parts} />);
  }

  /** Restores the normal screen, until `show`. */
  hide(): void {
    this.#ink?.unmount();
    this.#ink = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.hide();
  }

  /** Suspends the whole job, as the terminal does outside raw mode, because a shell watches only its own child, which may be npm. */
  suspend(resumed: () => void = () => {}): void {
    this.hide();
    process.once("SIGCONT", () => {
      resumed();
      this.show();
    });
    process.kill(0, "SIGTSTP");
  }
}

function Frame({ frame, onKey, onText }: ScreenParts) {
  const { columns, rows } = useWindowSize();
  useInput((input, key) => {
    // Keys pressed in quick succession arrive as one string.
    const name = nameOf(key);
    if (name !== undefined) onKey({ name, ctrl: key.ctrl });
    else for (const character of input) onKey({ name: character === "\r" ? "return" : character, ctrl: key.ctrl });
  });
  usePaste(onText);
  return (
    <Box flexDirection="column">
      {frame(columns, rows).map((line, row) => (
        // Rows have no identity besides their index.
        <Row key={row} text={styledLine(line)} />
      ))}
    </Box>
  );
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

const NAMES = {
  upArrow: "up",
  downArrow: "down",
  leftArrow: "left",
  rightArrow: "right",
  pageUp: "pageup",
  pageDown: "pagedown",
  home: "home",
  end: "end",
  return: "return",
  escape: "escape",
  tab: "tab",
  backspace: "backspace",
  delete: "backspace",
} as const satisfies Partial<Record<keyof InkKey, string>>;

function nameOf(key: InkKey): string | undefined {
  for (const [pressed, name] of Object.entries(NAMES)) if (key[pressed as keyof typeof NAMES]) return name;
  return undefined;
}
