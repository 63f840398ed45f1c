import type { Readable } from "node:stream";
import { execa } from "execa";
import type { JsonObject } from "../../lib/json.ts";
import { withoutRepository } from "../../lib/git.ts";
import type { Scratch } from "./scratch.ts";

const MAX_COMPLAINT_LENGTH = 4_000;

/** How to start `bosun`. */
export interface Bosun {
  /** The program's file, to be run with this process's Node. */
  readonly program: string;
  readonly home: string;
  readonly scratch: Scratch;
}

/** A `bosun` process with its own process group, so that Ctrl-C at the terminal does not reach it. */
export interface BosunProcess {
  readonly pid: number;
  /** The objects of its `--json` output. Read them at once, because unread output is dropped. */
  readonly events: AsyncGenerator<JsonObject>;
  /** Resolves when the process has ended and its output is closed. */
  readonly ended: Promise<{ readonly code: number | null; readonly complaint: string }>;
  readonly signal: (name: NodeJS.Signals) => void;
}

/** Starts `bosun <words>`. */
export function startBosun({ program, home, scratch }: Bosun, words: readonly string[]): BosunProcess {
  const child = execa(process.execPath, [program, "--home", home, ...words], {
    buffer: false,
    cwd: scratch.folder,
    detached: true,
    env: commandEnvironment(process.env, scratch),
    extendEnv: false,
    reject: false,
    stdin: "ignore",
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT_LENGTH);
  });
  const ended = child.then(({ exitCode = null, cause }) => ({
    code: exitCode,
    complaint: cause instanceof Error ? cause.message : complaint.trim(),
  }));
  return {
    pid: child.pid ?? 0,
    events: eventsOf(child.stdout),
    ended,
    signal: (name) => void child.nodeChildProcess.kill(name),
  };
}

/** Runs `bosun <words>` to its end and returns its events and exit code. */
export async function askBosun(
  bosun: Bosun,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly events: readonly JsonObject[]; readonly complaint: string }> {
  const { events, ended } = startBosun(bosun, words);
  const read: JsonObject[] = [];
  for await (const event of events) read.push(event);
  return { events: read, ...(await ended) };
}

async function* eventsOf(stdout: Readable): AsyncGenerator<JsonObject> {
  let rest = "";
  for await (const text of stdout.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    // A killed process leaves half a line, which is dropped.
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as JsonObject;
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
