import { execa, type Options, type Subprocess } from "execa";
import { withoutRepository } from "../../lib/git.ts";
import { type JsonObject, textOf } from "../../lib/json.ts";
import type { LogRecord } from "../../protocol/record.ts";
import type { Scratch } from "./scratch.ts";
import type { Screen } from "./screen.ts";

/** How long a process may take to end after SIGTERM before it gets SIGKILL, in ms. */
const STOP_PATIENCE_MS = 8_000;
const MAX_COMPLAINT_LENGTH = 4_000;

/** How a command ended. After a signal there is no exit code. */
export interface Ended {
  readonly code: number | undefined;
  readonly complaint: string;
}

/** What each step of the story needs. */
export interface Demo {
  readonly screen: Screen;
  readonly bosun: Bosun;
  /** The plan file. */
  readonly plan: string;
  /** Prompts at the terminal and returns the typed line; undefined unless the demo is interactive. */
  readonly ask: ((prompt: string) => Promise<string>) | undefined;
}

/** How the demo's commands run. */
export interface Setting {
  /** The file of `bosun`, to be run with this process's Node. */
  readonly program: string;
  readonly home: string;
  readonly scratch: Scratch;
  readonly interrupted: AbortSignal;
}

/** Runs `bosun` commands one after another: the demo's session, and what looks at it. */
export class Bosun {
  readonly setting: Setting;
  /** The demo's session; empty until it exists. */
  session_id = "";
  /** The latest command. SIGKILL leaves its agents running, a second SIGTERM ends them at once. */
  command: Pick<Subprocess, "pid" | "kill"> | undefined;
  #isClosed = false;

  constructor(setting: Setting) {
    this.setting = setting;
  }

  /** Runs `bosun <words> --json` to its end and hands on each object that it prints. Throws if the demo is interrupted. */
  async run(words: readonly string[], onEvent: (event: JsonObject) => Promise<void> | void = () => {}) {
    const events: JsonObject[] = [];
    const ended = await this.#follow(this.#words([...words, "--json"]), async (line) => {
      const event = JSON.parse(line) as JsonObject;
      events.push(event);
      if (event["type"] === "hello") this.session_id = textOf(event["session_id"]);
      if (event["type"] === "result") this.#isClosed = event["state"] === "closed";
      await onEvent(event);
    });
    return { ...ended, events };
  }

  /** Runs `bosun <words>` to its end and returns the lines that it prints. */
  print(words: readonly string[]): Promise<Ended & { readonly lines: readonly string[] }> {
    return this.#lines(this.#words(words));
  }

  /** Runs a script of the repository in it. */
  script(name: string): Promise<Ended & { readonly lines: readonly string[] }> {
    return this.#lines([name]);
  }

  /** Reads the session's whole log from its files. */
  async log(): Promise<readonly LogRecord[]> {
    const { code, complaint, events } = await this.run(["replay", this.session_id]);
    if (code !== 0) throw new Error(`The log of ${this.session_id} cannot be read: ${complaint}`);
    return events as unknown as readonly LogRecord[];
  }

  /** Cancels the session if it is open: without its repository it cannot be resumed. */
  async cancel(): Promise<void> {
    if (this.#isClosed || this.session_id === "") return;
    this.#isClosed = true;
    const words = ["cancel", this.session_id, "--reason", "the demo was stopped"];
    await this.#start(this.#words(words), { timeout: STOP_PATIENCE_MS });
  }

  async #lines(argv: readonly string[]): Promise<Ended & { readonly lines: readonly string[] }> {
    const lines: string[] = [];
    return { ...(await this.#follow(argv, (line) => void lines.push(line))), lines };
  }

  async #follow(argv: readonly string[], onLine: (line: string) => Promise<void> | void): Promise<Ended> {
    const { interrupted } = this.setting;
    interrupted.throwIfAborted();
    const child = this.#start(argv, { cancelSignal: interrupted });
    this.command = child;
    for await (const line of child.iterable({ preserveNewlines: true })) {
      // A killed process leaves half a line, which is dropped.
      if (line.endsWith("\n")) await onLine(line.slice(0, -1));
    }
    const { exitCode, stderr, cause } = await child;
    interrupted.throwIfAborted();
    const complaint = cause instanceof Error ? cause.message : stderr.trim().slice(-MAX_COMPLAINT_LENGTH);
    return { code: exitCode, complaint };
  }

  #words(words: readonly string[]): string[] {
    return [this.setting.program, "--home", this.setting.home, ...words];
  }

  /** The process has its own group, so that Ctrl-C at the terminal does not reach it. */
  #start(argv: readonly string[], end: Pick<Options, "cancelSignal" | "timeout">) {
    const { scratch } = this.setting;
    return execa(process.execPath, argv, {
      ...end,
      buffer: { stdout: false },
      cwd: scratch.work,
      detached: true,
      env: commandEnvironment(process.env, scratch),
      extendEnv: false,
      forceKillAfterDelay: STOP_PATIENCE_MS,
      reject: false,
      stdin: "ignore",
    });
  }
}

/** The environment of the demo's `bosun` commands: without the user's settings and crews, and with the scratch folder's `TMPDIR`. */
export function commandEnvironment(
  environment: NodeJS.ProcessEnv,
  { configuration, temporary }: Pick<Scratch, "configuration" | "temporary">,
): NodeJS.ProcessEnv {
  const entries = Object.entries(withoutRepository(environment)).filter(([name]) => !name.startsWith("BOSUN_"));
  return { ...Object.fromEntries(entries), XDG_CONFIG_HOME: configuration, TMPDIR: temporary };
}
