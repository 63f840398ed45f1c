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
  /** Keeps lines back while a person types at the same terminal; the returned function lets them out. */
  hold(): () => void;
  /** Whether lines are kept back now. */
  readonly isHeld: boolean;
  /** Styled where the stream shows styles: NO_COLOR, FORCE_COLOR and pipes are respected. */
  style(style: Style, text: string): string;
  /**
   * The terminal's columns; without end where there is none, since what is read later or by a program is not to be cut, and where it
   * has not told them: a container's or a build's often says 0.
   */
  readonly width: number;
}

/** The terminal of this process. */
export function processTerminal(environment: { readonly [name: string]: string | undefined }): Terminal {
  const { stdin, stdout, stderr } = process;
  const automatic = environment.CI !== undefined && environment.CI !== "" && environment.CI !== "false";
  return {
    out: outputOn(stdout),
    err: outputOn(stderr),
    input: stdin,
    hasPerson: stdin.isTTY && stderr.isTTY && !automatic,
    isDumb: environment.TERM === "dumb",
  };
}

/** A reader that has gone (`| head`, a terminal that was closed) takes the output with it, and nothing else. */
const NO_READER = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"]);

export function outputOn(stream: NodeJS.WriteStream): Output {
  const ended = new AbortController();
  let lost: string | undefined;
  let held: string[] | undefined;
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
      if (held) held.push(text);
      else if (!ended.signal.aborted) stream.write(`${text}\n`);
    },
    bell() {
      if (stream.isTTY) stream.write("\u0007");
    },
    hold() {
      if (stream.isTTY) held ??= [];
      return () => {
        const lines = held ?? [];
        held = undefined;
        for (const line of lines) this.line(line);
      };
    },
    get isHeld() {
      return held !== undefined;
    },
    style: (style, text) => styleText(style, text, { stream }),
    get width() {
      return stream.columns || Number.POSITIVE_INFINITY;
    },
  };
}
