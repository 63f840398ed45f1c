import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { EnvelopeReader, requestLine } from "../cli/dialects/envelope.ts";
import { agentEnvironment } from "../cli/environment.ts";
import { type RunListener, SupervisedRun } from "../cli/process.ts";
import { StderrTail } from "../cli/stderr-tail.ts";
import type { Launcher } from "../launcher.ts";
import type { Case, Delivery, Seat, Trial } from "./case.ts";
import { loneRequest } from "./request.ts";

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
}

/** Runs one case in a directory of its own. Fails with `environment` if the program cannot be started. */
export async function test(tried: Tried, one: Case): Promise<Fallible<Tested>> {
  const directory = mkdtempSync(join(tmpdir(), "bosun conformance-"));
  try {
    const starts = Array.from({ length: one.twice ? 2 : 1 }, (_, index) => once(tried, one, directory, index + 1));
    const trials: Trial[] = [];
    for (const trial of await Promise.all(starts)) {
      if (!trial.ok) return trial;
      trials.push(trial.value);
    }
    const wrong = trials.map((trial) => one.inspect(trial)).find((problem) => problem !== undefined);
    return ok({ case: one, wrong, trials });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function once(
  { seat, command, environment, launcher, timeout_ms }: Tried,
  one: Case,
  directory: string,
  slot: number,
): Promise<Fallible<Trial>> {
  const role = { role_id: seat, type: seat, cli_command: [...command] };
  const { turn, attempt } = one;
  const about = { session_id: "s-conformance", at: "2026-01-01T00:00:00.000Z" };
  const request = loneRequest({ ...about, role, turn, attempt, directory, slot, timeout_ms });
  const { workspace } = request.payload;
  const given = Object.entries(agentEnvironment(environment, request)).filter(([name]) => !one.without?.includes(name));
  const launched = await launcher.launch({ command, directory: workspace, environment: Object.fromEntries(given) });
  if (!launched.ok) return launched;
  const began = performance.now();
  let surplus = 0;
  const reader = new EnvelopeReader(request, ({ kind }) => {
    if (kind === "late" || kind === "duplicate") surplus += 1;
  });
  const printed: string[] = [];
  const stderr = new StderrTail();
  const listener: RunListener = {
    capOf: () => MAX_LINE_BYTES,
    line: (stream, bytes, cut) => {
      if (stream === "stderr") return stderr.line(stream, bytes);
      printed.push(bytes.toString("utf8"));
      if (reader.read(bytes, cut) === "answer") run.answered();
      return undefined;
    },
  };
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
  const elapsed_ms = performance.now() - began;
  const output = { stdout: printed.join("\n"), stderr: stderr.text() };
  return ok({ request, end, heard: reader.end(), surplus, ...output, elapsed_ms });
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
