import { styleText } from "node:util";

/** Where a command's results go (`out`), its messages (`err`), and where a person types. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly input: NodeJS.ReadStream;
  /** Whether a person sits there who can be asked: input and messages are a terminal, and this is no automatic build. */
  readonly hasPerson: boolean;
  /** Whether it can move no cursor (`TERM=dumb`). */
  readonly isDumb: boolean;
}

/** The colours and weights the product uses. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** A stream of lines. Whoever writes text of foreign origin makes it safe first (`display.ts`). */
export interface Output {
  readonly stream: NodeJS.WriteStream;
  /** What a person types for this program; set once the command line is read. Commands are written by it (`localize`). */
  program: string;
  line(text?: string): void;
  /** Why something of it has not been written; undefined where all of it was, or nobody reads it any more. */
  readonly lost: string | undefined;
  /** Aborted as soon as nothing more of it can be written: who only shows something need not go on. */
  readonly ended: AbortSignal;
  /** Rings, where there is a terminal that can. */
  bell(): void;
  /** Keeps a prompt below all lines that are written to this terminal, until the returned function is called. */
  keepBelow(prompt: OpenPrompt): () => void;
  /** Styled where the stream shows styles: NO_COLOR, FORCE_COLOR and pipes are respected. */
  style(style: Style, text: string): string;
  /**
   * The terminal's columns; without end where there is none, since what is read later or by a program is not to be cut, and where it
   * has not told them: a container's or a build's often says 0.
   */
  readonly width: number;
}

/** A prompt on the last rows of a terminal. */
export interface OpenPrompt {
  /** Removes it from the screen and leaves the cursor where its first row began. */
  erase(): void;
  /** Draws it again, from the row of the cursor on. */
  draw(): void;
}

/** The prompt of a terminal, shared by the streams that write to it. */
interface Screen {
  prompt?: OpenPrompt | undefined;
}

/** The terminal of this process. */
export function processTerminal(environment: { readonly [name: string]: string | undefined }): Terminal {
  const { stdin, stdout, stderr } = process;
  const automatic = environment.CI !== undefined && environment.CI !== "" && environment.CI !== "false";
  const screen: Screen = {};
  return {
    out: outputOn(stdout, screen),
    err: outputOn(stderr, screen),
    input: stdin,
    hasPerson: stdin.isTTY && stderr.isTTY && !automatic,
    isDumb: environment.TERM === "dumb",
  };
}

/** A reader that has gone (`| head`, a terminal that was closed) takes the output with it, and nothing else. */
const NO_READER = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"]);

/** Lines on a stream. Where that is a terminal, they go above the prompt that is open on its `screen`. */
export function outputOn(stream: NodeJS.WriteStream, screen: Screen = {}): Output {
  const ended = new AbortController();
  let lost: string | undefined;
  stream.on("error", ({ code = "", message }: NodeJS.ErrnoException) => {
    ended.abort();
    // Of a file it means that its disk is broken.
    const isHungUp = code === "EIO" && stream.isTTY;
    if (!NO_READER.has(code) && !isHungUp) lost ??= message;
  });
  return {
    stream,
    program: "bosun",
    get lost() {
      return lost;
    },
    ended: ended.signal,
    line(text = "") {
      if (ended.signal.aborted) return;
      const prompt = stream.isTTY ? screen.prompt : undefined;
      prompt?.erase();
      stream.write(`${text}\n`);
      prompt?.draw();
    },
    bell() {
      if (stream.isTTY) stream.write("\u0007");
    },
    keepBelow(prompt) {
      screen.prompt = prompt;
      return () => {
        screen.prompt = undefined;
      };
    },
    style: (style, text) => styleText(style, text, { stream }),
    get width() {
      return stream.columns || Number.POSITIVE_INFINITY;
    },
  };
}
