import { styleText } from "node:util";
import { inert } from "../lib/workflow-commands.ts";
import { anyEntryOf } from "../agents/process-table.ts";
import { insideOf } from "../protocol/inside-turn.ts";

/** Where a command's results (`out`) and messages (`err`) go, and where a person types. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly input: NodeJS.ReadStream;
  /** Whether a person can be asked: input and messages are a terminal, not of an automatic build, an agent or a job in the background. */
  readonly hasPerson: boolean;
  /** Whether the terminal cannot move its cursor: `TERM` is `dumb`, or not set. */
  readonly isDumb: boolean;
  /** Whether Ctrl-C leaves only the prompt, because there is a screen behind it. Otherwise it stops the command. */
  readonly returns?: boolean;
  /** Whether keys come over a network (ssh), which may delay the rest of a key's bytes. */
  readonly isRemote: boolean;
  /** Whether screen rows can be redrawn: results and messages go to a terminal that is not dumb, and this is not an automatic build. */
  readonly canRedraw: boolean;
}

/** The colours and weights the product uses. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta" | "blue";

/** A stream of lines. Untrusted text must be made safe first (`display.ts`). */
export interface Output {
  readonly stream: NodeJS.WriteStream;
  /** What a person types to call this program; set once the command line is read. `localize` puts it into commands. */
  program: string;
  /** The same for a command with the id of a session, which is found from anywhere; `program` if undefined. */
  anywhere?: string;
  line(text?: string): void;
  /** Writes a line that is a command to the program that reads this output. */
  command(text: string): void;
  /** Why some lines were not written; undefined if all were, or if the reader has gone. */
  readonly lost: string | undefined;
  /** Aborted once no more lines can be written, so a command that only shows something can stop. */
  readonly ended: AbortSignal;
  /** Rings the terminal's bell, and shows the text as a desktop notification if the terminal can (OSC 9). The text must be safe. */
  alert(text: string): void;
  /**
   * Keeps a prompt below all lines that are written to this terminal, until the returned function is called. The previous prompt is erased, and
   * redrawn then.
   */
  keepBelow(prompt: OpenPrompt): () => void;
  /** Styles a text if the stream shows styles, respecting NO_COLOR, FORCE_COLOR and pipes. */
  style(style: Style, text: string): string;
  /** The terminal's columns. Infinite, so nothing is cut, without a terminal, or if it reports 0 as in containers and builds. */
  readonly width: number;
}

/** A prompt on the last rows of a terminal. */
export interface OpenPrompt {
  /** Removes the prompt from the screen and leaves the cursor where its first row began. */
  erase(): void;
  /** Redraws the prompt, starting in the cursor's row. */
  draw(): void;
}

/** The prompts of a terminal, shared by the streams that write to it. Only the last is on the screen. */
interface Screen {
  readonly prompts: OpenPrompt[];
  readonly isDumb?: boolean;
}

export function processTerminal(environment: { readonly [name: string]: string | undefined }): Terminal {
  const { stdin, stdout, stderr } = process;
  const automatic = environment.CI !== undefined && environment.CI !== "" && environment.CI !== "false";
  const isDumb = ["dumb", "", undefined].includes(environment.TERM);
  const isSeen = stdin.isTTY && stderr.isTTY && anyEntryOf(process.pid)?.background !== true;
  const screen: Screen = { prompts: [], isDumb };
  // The runner of a GitHub job reads both streams, so no line of a file or an agent may look like a command.
  const written = environment.GITHUB_ACTIONS === "true" ? inert : asItIs;
  return {
    out: outputOn(stdout, screen, written),
    err: outputOn(stderr, screen, written),
    input: stdin,
    hasPerson: isSeen && !automatic && insideOf(environment) === undefined,
    isDumb,
    isRemote: (environment.SSH_CONNECTION ?? environment.SSH_TTY ?? "") !== "",
    canRedraw: stdout.isTTY && stderr.isTTY && !isDumb && !automatic,
  };
}

/** An output that keeps its lines, for a screen, and is otherwise like `output`. */
export function bufferedOutput(output: Output): Output & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  return { ...output, lines, line: (text = "") => void lines.push(...text.split("\n")) };
}

/** Error codes of a reader that has gone (`| head`, a closed terminal). They end the output and nothing else. */
const NO_READER = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"]);

const asItIs = (text: string) => text;

/** An output on a stream, whose lines `written` transforms. On a terminal, they go above the prompt that is open on its `screen`. */
export function outputOn(stream: NodeJS.WriteStream, screen: Screen = { prompts: [] }, written = asItIs): Output {
  const ended = new AbortController();
  let lost: string | undefined;
  stream.on("error", ({ code = "", message }: NodeJS.ErrnoException) => {
    ended.abort();
    // On a file, EIO means a broken disk.
    const isHungUp = code === "EIO" && stream.isTTY;
    if (!NO_READER.has(code) && !isHungUp) lost ??= message;
  });
  const write = (line: string) => {
    if (ended.signal.aborted) return;
    const prompt = stream.isTTY ? screen.prompts.at(-1) : undefined;
    prompt?.erase();
    stream.write(`${line}\n`);
    prompt?.draw();
  };
  return {
    stream,
    program: "bosun",
    get lost() {
      return lost;
    },
    ended: ended.signal,
    line: (text = "") => write(written(text)),
    command: write,
    alert(text) {
      if (!stream.isTTY) return;
      // A terminal that cannot show it ignores the sequence, except for one that knows no sequences.
      stream.write(screen.isDumb === true ? "\u0007" : `\u0007\u001B]9;${text}\u0007`);
    },
    keepBelow(prompt) {
      const { prompts } = screen;
      prompts.at(-1)?.erase();
      prompts.push(prompt);
      return () => {
        const isLast = prompts.at(-1) === prompt;
        const place = prompts.indexOf(prompt);
        if (place >= 0) prompts.splice(place, 1);
        if (isLast) prompts.at(-1)?.draw();
      };
    },
    style: (style, text) => styleText(style, text, { stream }),
    get width() {
      return stream.columns || Number.POSITIVE_INFINITY;
    },
  };
}
