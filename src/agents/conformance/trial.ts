import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { TurnEvent, TurnRequest } from "../../kernel/agent.ts";
import { makeDirectory } from "../../lib/files.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { ReadOutput } from "../cli/dialects/dialect.ts";
import { EnvelopeReader, requestLine } from "../cli/dialects/envelope.ts";
import { agentEnvironment } from "../cli/environment.ts";
import { type RunEnd, type RunListener, type Stream, SupervisedRun } from "../cli/process.ts";
import { StderrTail } from "../cli/stderr-tail.ts";
import type { Launcher } from "../launcher.ts";

export type Seat = "manager" | "worker";

/** The outcome of one start of the program under test. */
export interface Trial {
  readonly request: TurnRequest;
  readonly end: RunEnd;
  readonly heard: ReadOutput;
  /** Number of lines after the answer: repeated or late messages. */
  readonly surplus: number;
  readonly stderr: string;
  readonly elapsed_ms: number;
}

/** Returns what is wrong, in a sentence; undefined if nothing is. */
export type Inspection = (trial: Trial) => string | undefined;

/** How the input reaches the program: as the request line in pieces of `piece_bytes`, or as other bytes. */
interface Delivery {
  readonly piece_bytes?: number;
  readonly pause_ms?: number;
  /** Replaces the request line. */
  readonly bytes?: (line: Buffer) => Buffer;
}

/** One test for a program that speaks the envelope dialect. */
export interface Case {
  readonly name: string;
  readonly what: string;
  /** A program that fails a `must` does not conform; `should` is advice. */
  readonly level: "must" | "should";
  /** The turn's part of the request: expects, message, context. */
  readonly turn: JsonObject;
  readonly delivery?: Delivery;
  /** Environment variables that the program does not get. */
  readonly without?: readonly string[];
  readonly attempt?: number;
  /** Starts the program twice at once. */
  readonly twice?: boolean;
  /** Ends the program with SIGTERM as soon as it has its request. */
  readonly ends?: boolean;
  readonly inspect: Inspection;
}

const MAX_LINE_BYTES = 8_388_608;
const MAX_OUTPUT_BYTES = 67_108_864;
const GRACE_MS = 2_000;

/** The program under test: its seat, and the environment that agents get. */
export interface Tried {
  readonly seat: Seat;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly launcher: Launcher;
  /** Maximum time for one case. */
  readonly timeout_ms: number;
}

/** A case, and what the program does wrong in it. */
export interface Tested {
  readonly case: Case;
  readonly wrong: string | undefined;
  readonly trials: readonly Trial[];
  /** What the program printed on stdout, at most 64 KiB. */
  readonly printed: string;
}

/** Runs one case in a directory of its own. Fails with `environment` if the program cannot be started. */
export async function test(tried: Tried, one: Case): Promise<Result<Tested, Failure>> {
  const directory = mkdtempSync(join(tmpdir(), "bosun conformance-"));
  const printed: string[] = [];
  try {
    const starts = Array.from({ length: one.twice ? 2 : 1 }, (_, index) =>
      once(tried, one, directory, index + 1, printed),
    );
    const trials: Trial[] = [];
    for (const trial of await Promise.all(starts)) {
      if (!trial.ok) return trial;
      trials.push(trial.value);
    }
    const wrong = trials.map((trial) => one.inspect(trial)).find((problem) => problem !== undefined);
    return ok({ case: one, wrong, trials, printed: printed.join("\n").slice(0, 65_536) });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function once(
  { seat, command, environment, launcher, timeout_ms }: Tried,
  one: Case,
  directory: string,
  slot: number,
  printed: string[],
): Promise<Result<Trial, Failure>> {
  const request = requestOf(seat, command, one, directory, slot, timeout_ms);
  const { workspace, artifacts_dir } = request.payload;
  for (const path of [workspace, artifacts_dir]) makeDirectory(path);
  const given = Object.entries(agentEnvironment(environment, request)).filter(([name]) => !one.without?.includes(name));
  const launched = await launcher.launch({ command, directory: workspace, environment: Object.fromEntries(given) });
  if (!launched.ok) return launched;
  const began = performance.now();
  const listener = new TrialListener(request, printed, () => run.answered());
  const limits = {
    timeout_ms,
    idle_timeout_ms: 0,
    kill_grace_ms: GRACE_MS,
    answer_grace_ms: GRACE_MS,
    max_output_bytes: MAX_OUTPUT_BYTES,
  };
  const abort = new AbortController();
  const run = new SupervisedRun(launched.value, limits, listener, abort.signal);
  await deliver(run, Buffer.from(requestLine(request)), one.delivery);
  if (one.ends) abort.abort();
  const end = await run.ended;
  const { reader, surplus } = listener;
  const elapsed_ms = performance.now() - began;
  return ok({ request, end, heard: reader.end(), surplus, stderr: listener.stderr.text(), elapsed_ms });
}

function requestOf(
  seat: Seat,
  command: readonly string[],
  { turn, attempt = 1 }: Case,
  directory: string,
  slot: number,
  timeout_ms: number,
): TurnRequest {
  const turn_id = `t${slot}`;
  const workspace = join(directory, `work ${slot}`);
  const artifacts_dir = join(directory, `artifacts ${slot}`);
  const timeout_s = timeout_ms / 1_000;
  const payload = { turn_id, role_id: seat, ...turn, limits: { timeout_s }, workspace, artifacts_dir };
  const isAboutTicket = "ticket" in (turn["context"] as object);
  return {
    session_id: "s-conformance",
    at: "2026-01-01T00:00:00.000Z",
    role: { role_id: seat, type: seat, cli_command: [...command] },
    stamp: { turn_id, attempt, run: 1, ...(isAboutTicket ? { subject: "words" } : {}) },
    payload: payload as unknown as PayloadByType["turn_request"],
    timeout_ms,
    idle_timeout_ms: 0,
    slot,
    output_directory: directory,
  };
}

async function deliver(run: SupervisedRun, line: Buffer, delivery: Delivery = {}): Promise<void> {
  const { bytes, piece_bytes, pause_ms = 0 } = delivery;
  const all = bytes?.(line) ?? line;
  if (piece_bytes === undefined) return run.give(all);
  run.give(all.subarray(0, piece_bytes), true);
  for (let at = piece_bytes; at < all.length; at += piece_bytes) {
    await delay(pause_ms);
    run.say(all.subarray(at, at + piece_bytes));
  }
  run.close();
}

class TrialListener implements RunListener {
  readonly reader: EnvelopeReader;
  readonly stderr = new StderrTail();
  surplus = 0;
  readonly #printed: string[];
  readonly #answered: () => void;

  constructor(request: TurnRequest, printed: string[], answered: () => void) {
    const emit = ({ kind }: TurnEvent) => {
      if (kind === "late" || kind === "duplicate") this.surplus += 1;
    };
    this.reader = new EnvelopeReader(request, emit);
    this.#printed = printed;
    this.#answered = answered;
  }

  capOf(): number {
    return MAX_LINE_BYTES;
  }

  line(stream: Stream, bytes: Buffer, cut: boolean): undefined {
    if (stream === "stderr") return this.stderr.line(stream, bytes);
    this.#printed.push(bytes.toString("utf8"));
    if (this.reader.read(bytes, cut) === "answer") this.#answered();
    return undefined;
  }
}
