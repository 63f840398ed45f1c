import { type Key as InkKey, render, Text, useInput, useWindowSize } from "ink";
import type { Line, Span } from "./line.ts";
import type { Key } from "./view.ts";

/** The terminal's alternate screen, while it is the dashboard's. */
export interface Screen {
  /** Draws the frame anew. */
  draw(): void;
  /** Gives the normal screen back, as it was. */
  close(): void;
}

interface ScreenParts {
  readonly stdout: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** The lines of the whole screen, each exactly as wide. */
  readonly frame: (columns: number, rows: number) => readonly Line[];
  readonly onKey: (key: Key) => void;
  /** Of each frame, in ms. */
  readonly onFrame?: (renderTime: number) => void;
}

/** Frames a second, at most. */
const FRAMES = 10;

/** Opens it. The mouse stays the terminal's, so that text can be selected and copied. */
export function openScreen({ stdout, stdin, frame, onKey, onFrame }: ScreenParts): Screen {
  const app = () => <Dashboard frame={frame} onKey={onKey} />;
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
    ...(onFrame ? { onRender: ({ renderTime }) => onFrame(renderTime) } : {}),
  });
  return { draw: () => ink.rerender(app()), close: () => ink.unmount() };
}

function Dashboard({ frame, onKey }: Pick<ScreenParts, "frame" | "onKey">) {
  const { columns, rows } = useWindowSize();
  useInput((input, key) => {
    // What is typed or pasted at once comes as one text.
    const name = nameOf(key);
    if (name !== undefined) onKey({ name, ctrl: key.ctrl });
    else for (const character of input) onKey({ name: character, ctrl: key.ctrl });
  });
  // One text with all rows: a box for each would be laid out for each.
  return (
    <Text wrap="truncate">
      {frame(columns, rows).map((line, row) => (
        // The row is what it is: rows have no other identity.
        <Text key={row}>
          {line.map((span, index) => styled(span, index))}
          {row < rows - 1 ? "\n" : ""}
        </Text>
      ))}
    </Text>
  );
}

function styled({ text, style }: Span, index: number) {
  switch (style) {
    case undefined:
      return text;
    case "dim":
      return (
        <Text key={index} dimColor>
          {text}
        </Text>
      );
    case "bold":
      return (
        <Text key={index} bold>
          {text}
        </Text>
      );
    case "inverse":
      return (
        <Text key={index} inverse>
          {text}
        </Text>
      );
    default:
      return (
        <Text key={index} color={style}>
          {text}
        </Text>
      );
  }
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
