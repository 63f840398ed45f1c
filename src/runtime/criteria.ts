import { OutputEnd } from "../agents/cli/output-end.ts";
import type { OutputListener } from "../agents/cli/process.ts";
import { gated } from "../agents/gate.ts";
import { sizeOf } from "../kernel/cut.ts";
import { outagePause, UNAVAILABLE } from "../kernel/outages.ts";
import { defined, type JsonObject } from "../lib/json.ts";
import type { CriterionObject } from "../protocol/payload.ts";
import type { SessionContext } from "./context.ts";
import { type ProgramContext, runProgram } from "./program.ts";
import { made, TEXT_BYTES, tooLong } from "./text-functions.ts";
import { workspaceAway } from "./turns/away.ts";

export type CheckContext = ProgramContext & Pick<SessionContext, "bus" | "functions"> & { readonly clock: CheckClock };

type CheckClock = Pick<SessionContext["clock"], "after" | "monotonic">;

/** A criterion, or what makes one text of another. */
export type Runnable = CriterionObject & { readonly function?: string };

/** A result in a `check_result`. */
export type Checked = JsonObject & { readonly passed: boolean; readonly output: string };

/** What criteria are about, and where they run. */
export interface Checking {
  readonly check_id: string;
  readonly subject?: string | undefined;
  readonly directory: string;
  readonly input?: string | undefined;
}

/** Runs criteria one after the other, each command once. Undefined if the session ends first. */
export async function runCriteria(
  context: CheckContext,
  checking: Checking,
  criteria: readonly Runnable[],
  signal: AbortSignal,
): Promise<Checked[] | undefined> {
  const results: Checked[] = [];
  const seen = new Set<string>();
  const kept = outputsOfResult();
  for (const { function: name, ...criterion } of criteria) {
    const key = JSON.stringify([name, criterion.command, criterion.expect_exit, criterion.was_red]);
    if (seen.has(key)) continue;
    seen.add(key);
    const run = () =>
      name === undefined
        ? runCommand(context, checking, criterion, signal)
        : call(context, name, criterion, checking.input ?? "", signal);
    let checked = await run();
    // Without a workspace, or a process, a check says nothing about the work.
    for (let tries = 0; checked === undefined && !signal.aborted; tries += 1) {
      const text = `The checks of ${checking.subject ?? "the session"} wait: the workspace is away, or no program can be started.`;
      if (tries === 0) context.bus.emit({ kind: "warning", text });
      await pause(context, outagePause(tries), signal);
      if (!signal.aborted) checked = await run();
    }
    if (checked === undefined || signal.aborted) return undefined;
    results.push({ ...checked, output: kept(checked.output) });
  }
  return results;
}

function pause({ clock }: CheckContext, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    signal.addEventListener("abort", () => resolve(cancel()));
  });
}

/** Undefined if the session ends first. */
async function call(
  { clock, functions = {} }: CheckContext,
  name: string,
  { text }: CriterionObject,
  input: string,
  signal: AbortSignal,
): Promise<Checked | undefined> {
  const began = clock.monotonic();
  const ended = await made(functions, name, input, signal);
  const duration_ms = Math.round(clock.monotonic() - began);
  return ended && { criterion: { text }, exit_code: null, duration_ms, ...ended };
}

/** Undefined if nothing could be started, or the workspace is away. */
async function runCommand(
  context: CheckContext,
  { check_id, subject, directory, input }: Checking,
  criterion: CriterionObject,
  signal: AbortSignal,
): Promise<Checked | undefined> {
  const { clock, config } = context;
  const began = clock.monotonic();
  const { command = [], expect_exit = 0 } = criterion;
  const gate = gated(command, expect_exit, input !== undefined);
  const output = new OutputEnd(OUTPUT_BYTES);
  const text = new OutputEnd(TEXT_BYTES);
  const both: OutputListener = {
    chunk(stream, bytes) {
      if (stream === "stdout") text.chunk(stream, bytes);
      output.chunk(stream, bytes);
    },
  };
  const program = {
    kind: "check",
    id: check_id,
    command: gate.command,
    subject,
    directory,
    ...defined({ input }),
    timeout_ms: (criterion.timeout_s ?? config.timeout_s) * 1000,
  } as const;
  const ran = await runProgram(context, program, input === undefined ? output : both, signal);
  const base = { criterion: criterion as unknown as JsonObject };
  if (!ran.ok) {
    if (ran.error.code === UNAVAILABLE) return undefined;
    const { message, hint = "" } = ran.error;
    return { ...base, exit_code: null, passed: false, output: `${message} ${hint}`.trim(), duration_ms: 0 };
  }
  const { cause, exit } = ran.value;
  const { code, signal: killed } = exit ? gate.endedAs(exit) : { code: null, signal: null };
  const isTooLong = input !== undefined && text.isCut;
  const passed = cause === "exited" && code === expect_exit && !isTooLong;
  if (!passed && workspaceAway(directory)) return undefined;
  return {
    ...base,
    exit_code: code,
    passed,
    output: isTooLong ? tooLong("It") : passed && input !== undefined ? text.text() : output.text(),
    duration_ms: Math.round(clock.monotonic() - began),
    ...(killed ? { signal: killed } : {}),
    ...(cause === "timeout" ? { timed_out: true } : {}),
  };
}

/** Number of bytes kept of the end of a check's output, as evidence. */
const OUTPUT_BYTES = 8 * 1024;

/** Maximum size of all outputs in one result record, in bytes. It leaves room for the criteria, and 2,000 checks keep all of theirs. */
const OUTPUTS_BYTES = 16 * 1024 * 1024;

/** Returns a function that cuts each output of a result to the part of its end that still fits. */
export function outputsOfResult(): (output: string) => string {
  let left = OUTPUTS_BYTES;
  return (output) => {
    const kept = endWithin(output, left);
    left -= sizeOf(kept);
    return kept;
  };
}

function endWithin(text: string, bytes: number): string {
  let size = sizeOf(text);
  if (size <= bytes) return text;
  const characters = Array.from(text);
  const first = characters.findIndex((character) => {
    if (size <= bytes) return true;
    size -= sizeOf(character) - 2;
    return false;
  });
  return first < 0 ? "" : characters.slice(first).join("");
}
