import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { built } from "../built.ts";
import { type Rig, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

let opened = 0;

interface TerminalOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** Variables of the command alone. */
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** A real terminal with a command line in it. */
export interface Pane {
  screen(): string;
  /** Types; names such as `Enter`, `C-c` and `C-d` are keys. */
  type(...keys: string[]): void;
  /** Sends bytes as they are, at once. */
  send(bytes: string): void;
  /** Pastes a text as bracketed paste. */
  paste(text: string): void;
  /** Appends everything that the program writes from now on to a file. */
  record(file: string): void;
  /** Resizes the window, and waits until the program's terminal has the size: tmux resizes it a little later. */
  resize(columns: number, rows?: number): Promise<void>;
  /** Only what is on the screen now, without what has scrolled away. */
  visible(): string;
  /** Whether the program has the alternate screen, which hides the normal one. */
  isAlternate(): boolean;
  /** Sets the modes of the terminal that a shell expects. */
  sane(): void;
  /** Writes to the terminal as another program would. */
  write(text: string): void;
  /** The column and the row of the cursor, if it is shown. */
  cursor(): string | undefined;
  /** The process that shows the terminal: while it stands still, nobody reads what the program writes. */
  reader(): number;
  /** Waits until the text is on the screen so many times. */
  shows(text: string, times?: number): Promise<void>;
  /** Waits until the text is on the screen so many times, with a prompt below. Keys typed before that are discarded. */
  asks(text: string, times?: number): Promise<void>;
  /** The exit code, once the command has ended. */
  exit(): Promise<number>;
  /** The process of the command. */
  pid(): number;
  /** Closes the terminal: the command is hung up. */
  hangUp(): void;
}

/** Types a command line of the product in a new terminal, in the workspace, with the plain reporter. */
export function open(here: Rig, args: readonly string[], env: Record<string, string> = {}, columns = 110): Pane {
  return openDashboard(here, args, { env: { BOSUN_REPORTER: "plain", ...env }, columns });
}

/** The same with the usual reporter, which is the dashboard. */
export function openDashboard(
  here: Rig,
  args: readonly string[],
  more: Omit<TerminalOptions, "environment"> = {},
): Pane {
  endAfterwards(here);
  const environment = { ...here.environment, BOSUN_HOME: here.home };
  return openTerminal(here.workspace, [process.execPath, built("cli.js"), ...args], { environment, ...more });
}

/** Types any command line in a new terminal, in a directory. */
export function openTerminal(
  directory: string,
  command: readonly string[],
  { environment = process.env, env = {}, columns = 110, rows = 50 }: TerminalOptions = {},
): Pane {
  opened += 1;
  const socket = `bosun-${process.pid}-${opened}-${performance.now().toFixed(0)}`;
  const hangUp = () => void spawnSync("tmux", ["-L", socket, "kill-server"]);
  onTestFinished(hangUp);
  const left = join(directory, "..", `exit-code-${opened}`);
  // tmux sets TERM, so variables are given to the command itself.
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = ["env", ...variables, ...command].map(quoted);
  const tmux = (...more: string[]) =>
    execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...more], {
      cwd: directory,
      env: { ...environment, TERM: "xterm-256color" },
      encoding: "utf8",
    });
  tmux(
    "new-session",
    "-d",
    "-x",
    `${columns}`,
    "-y",
    `${rows}`,
    `${words.join(" ")}; echo $? > ${quoted(left)}; exec cat`,
  );
  const screen = () => tmux("capture-pane", "-p", "-S", "-200");
  const stty = (words: string) =>
    execFileSync("sh", ["-c", `stty ${words} < ${tmux("display-message", "-p", "#{pane_tty}")}`], { encoding: "utf8" });
  return {
    screen,
    type: (...keys) => void tmux("send-keys", ...keys),
    send: (bytes) => void tmux("send-keys", "-H", ...Array.from(Buffer.from(bytes), (byte) => byte.toString(16))),
    paste(text) {
      tmux("set-buffer", text);
      tmux("paste-buffer", "-p");
    },
    record: (file) => void tmux("pipe-pane", `cat >> ${quoted(file)}`),
    resize(to, tall) {
      tmux("resize-window", "-x", `${to}`, ...(tall === undefined ? [] : ["-y", `${tall}`]));
      const size = new RegExp(`^${tall ?? "\\d+"} ${to}$`, "m");
      return until("the terminal to be resized", () => size.test(stty("size")));
    },
    isAlternate: () => tmux("display-message", "-p", "#{alternate_on}").trim() === "1",
    visible: () => tmux("capture-pane", "-p"),
    sane: () => void stty("sane"),
    write: (text) => writeFileSync(tmux("display-message", "-p", "#{pane_tty}").trim(), text),
    cursor() {
      const [column, row, isShown] = tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split(" ");
      return isShown?.trim() === "1" ? `${column} ${row}` : undefined;
    },
    reader: () => Number(tmux("display-message", "-p", "#{pid}")),
    shows: (text, times = 1) =>
      until(
        () => `"${text}" ${times} times on the screen, which is\n${screen()}`,
        () => screen().split(text).length > times,
      ),
    asks: (text, times = 1) =>
      until(
        () => `"${text}" and a prompt, ${times} times, on the screen, which is\n${screen()}`,
        () => {
          const now = screen().trimEnd();
          return now.split(text).length > times && now.endsWith("\n>");
        },
      ),
    async exit() {
      await until("the command to end", () => existsSync(left) && readFileSync(left, "utf8").endsWith("\n"));
      return Number(readFileSync(left, "utf8"));
    },
    pid() {
      const shell = tmux("display-message", "-p", "#{pane_pid}").trim();
      const [child] = execFileSync("pgrep", ["-P", shell], { encoding: "utf8" }).split("\n");
      return Number(child);
    },
    hangUp,
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
