import { styleText } from "node:util";
import { Box, type Key as InkKey, render, Text, useInput, usePaste, useWindowSize } from "ink";
import { memo } from "react";
import type { Line } from "./line.ts";
import type { Key } from "./view.ts";

/** The terminal's alternate screen while it is open. */
export interface Screen {
  /** Redraws the frame. */
  draw(): void;
  /** Restores the normal screen. */
  close(): void;
}

interface ScreenParts {
  readonly stdout: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** Returns the lines of the whole screen, each exactly `columns` wide. */
  readonly frame: (columns: number, rows: number) => readonly Line[];
  readonly onKey: (key: Key) => void;
  /** Called with pasted text. */
  readonly onText: (text: string) => void;
}

/** Maximum frames per second. */
const FRAMES = 10;

/** Opens the alternate screen. It does not capture the mouse, so that text can be selected and copied. */
export function openScreen({ stdout, stdin, frame, onKey, onText }: ScreenParts): Screen {
  // A withdrawn prompt pauses stdin in the middle of a read. Ink alone would then never read again.
  stdin.resume();
  const app = () => <Dashboard frame={frame} onKey={onKey} onText={onText} />;
  const ink = render(app(), {
    stdout,
    stdin,
    alternateScreen: true,
    incrementalRendering: true,
    maxFps: FRAMES,
    exitOnCtrlC: false,
    patchConsole: false,
    interactive: true,
    isScreenReaderEnabled: false,
  });
  return { draw: () => ink.rerender(app()), close: () => ink.unmount() };
}

function Dashboard({ frame, onKey, onText }: Pick<ScreenParts, "frame" | "onKey" | "onText">) {
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
