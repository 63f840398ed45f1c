import { embeddedLauncher } from "../../agents/embedded-launcher.ts";
import { bosunProgram } from "../../config/installation.ts";
import type { Environment } from "../../config/found.ts";
import type { Exit } from "../../protocol/record.ts";
import type { JsonObject } from "../../lib/json.ts";
import { LineSplitter } from "../../lib/lines.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { withoutRepository } from "./git.ts";
import type { Scratch } from "./scratch.ts";

/** A `bosun` in a process of its own, in a process group of its own: no Ctrl-C at the terminal reaches it. */
export interface Scheduler {
  readonly pid: number;
  /** Settles when the process has ended and everything that it wrote has been read. */
  readonly ended: Promise<SchedulerEnd>;
  signal(signal: NodeJS.Signals): void;
}

export interface SchedulerEnd extends Exit {
  /** The end of what it said on standard error; for people. */
  readonly said: string;
}

interface SchedulerSpec {
  /** What follows `bosun`. */
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Gets every object of its `--json` output. */
  readonly hear: (event: JsonObject) => void;
}

const LONGEST_LINE_BYTES = 64 * 1024 * 1024;
const SAID_BYTES = 4_000;

/** Starts one. Failure `environment` if it cannot be started. */
export async function startScheduler({
  words,
  directory,
  environment,
  hear,
}: SchedulerSpec): Promise<Result<Scheduler, Failure>> {
  const launched = await embeddedLauncher().launch({
    command: [process.execPath, bosunProgram(), ...words],
    directory,
    environment,
  });
  if (!launched.ok) return launched;
  const { identity, stdin, stdout, stderr, exited } = launched.value;
  stdin.end();
  let said = "";
  const lines = new LineSplitter(
    () => LONGEST_LINE_BYTES,
    (line) => {
      const event = parsed(line.toString("utf8"));
      if (event !== undefined) hear(event);
    },
  );
  const read = new Promise<void>((resolve) => {
    stdout.on("data", (chunk: Buffer) => lines.push(chunk));
    stdout.once("close", () => {
      lines.end();
      resolve();
    });
  });
  stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-SAID_BYTES);
  });
  const ended = Promise.all([exited, read]).then(([exit]) => ({ ...exit, said: said.trim() }));
  return ok({ pid: identity.pid, ended, signal: (signal) => launched.value.signalGroup(signal) });
}

/** A killed one may leave half a line. */
function parsed(line: string): JsonObject | undefined {
  try {
    return JSON.parse(line) as JsonObject;
  } catch {
    return undefined;
  }
}

/**
 * The environment of the demo's schedulers: what the person set up for their own work (crews, settings, a home) has no part in it,
 * so that nothing of theirs that costs money is ever asked. Temporary files, of programs that are killed too, go with the scratch copy.
 */
export function schedulerEnvironment(
  environment: Environment,
  { configuration, temporary }: Scratch,
): Record<string, string> {
  const kept = Object.entries(withoutRepository(environment)).flatMap(([name, value]): [string, string][] =>
    value === undefined || name.startsWith("BOSUN_") ? [] : [[name, value]],
  );
  return { ...Object.fromEntries(kept), XDG_CONFIG_HOME: configuration, TMPDIR: temporary };
}
