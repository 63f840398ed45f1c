import { OutputEnd } from "../agents/cli/output-end.ts";
import type { OutputListener } from "../agents/cli/process.ts";
import { gated } from "../agents/gate.ts";
import { sizeOf } from "../kernel/cut.ts";
import type { LedgerChecks } from "../kernel/ledger.ts";
import { outagePause, UNAVAILABLE } from "../kernel/outages.ts";
import { resolve } from "../kernel/references.ts";
import { defined, type JsonObject, textOf } from "../lib/json.ts";
import type { CriterionObject } from "../protocol/payload.ts";
import type { SessionContext } from "./context.ts";
import { runProgram } from "./program.ts";
import { made, TEXT_BYTES, tooLong } from "./text-functions.ts";
import { workspaceAway } from "./turns/away.ts";

/** A criterion, or what makes one text of another. */
type Runnable = CriterionObject & { readonly function?: string };

interface RunningChecks {
  readonly subject: string | undefined;
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** Runs executable criteria. Their results are the scheduler's own evidence, which no agent's report replaces. */
export class Checks {
  readonly #context: SessionContext;
  readonly #over: (check_id: string) => void;
  readonly #running = new Map<string, RunningChecks>();
  #ending = false;

  /** `over` is called when checks have ended, with or without results. */
  constructor(context: SessionContext, over: (check_id: string) => void) {
    this.#context = context;
    this.#over = over;
  }

  get count(): number {
    return this.#running.size;
  }

  /** Whether a subject's checks run, including cancelled ones that have not ended yet. */
  areUnderWay(subject: string): boolean {
    return [...this.#running.values()].some((running) => running.subject === subject);
  }

  abort(check_id: string): void {
    this.#running.get(check_id)?.controller.abort();
  }

  /** Ends all running checks and starts no more. The next scheduler runs checks that become due meanwhile. */
  abortAll(): void {
    this.#ending = true;
    for (const { controller } of this.#running.values()) controller.abort();
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ over }) => over));
  }

  /** Runs checks one after the other and submits the results as one fact; aborted checks submit nothing. */
  start(checks: LedgerChecks): void {
    const { check_id, subject } = checks;
    if (this.#ending || this.#running.has(check_id)) return;
    const controller = new AbortController();
    const carriedOut = this.#run(checks, controller.signal).catch((error: unknown) => {
      this.#context.broken(error);
      return undefined;
    });
    const over = carriedOut.then((results) => {
      this.#running.delete(check_id);
      if (results !== undefined) {
        const payload = { check_id, results };
        this.#context.submit({ source: "scheduler", payload_type: "check_result", payload, subject });
      }
      void this.#context.keep({ drop: "process", id: check_id });
      this.#over(check_id);
    });
    this.#running.set(check_id, { subject, controller, over });
  }

  async #run(checks: LedgerChecks, signal: AbortSignal): Promise<JsonObject[] | undefined> {
    const results: JsonObject[] = [];
    const seen = new Set<string>();
    const kept = outputsOfResult();
    const { records } = this.#context;
    const input = checks.input && textOf(resolve(checks.input, records));
    for (const reference of checks.criteria) {
      const { function: name, ...criterion } = resolve(reference, records) as unknown as Runnable;
      const key = JSON.stringify([name, criterion.command, criterion.expect_exit]);
      if (seen.has(key)) continue;
      seen.add(key);
      const run = () =>
        name === undefined
          ? this.#check(checks, criterion, input, signal)
          : this.#call(name, criterion, input ?? "", signal);
      let checked = await run();
      // Without a workspace, or a process, a check says nothing about the work.
      for (let tries = 0; checked === undefined && !signal.aborted; tries += 1) {
        const text = `The checks of ${checks.subject ?? "the session"} wait: the workspace is away, or no program can be started.`;
        if (tries === 0) this.#context.bus.emit({ kind: "warning", text });
        await this.#pause(outagePause(tries), signal);
        if (!signal.aborted) checked = await run();
      }
      if (checked === undefined || signal.aborted) return undefined;
      const { output, ...result } = checked;
      results.push({ ...result, output: kept(output) });
    }
    return results;
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#context.clock.after(ms, resolve);
      signal.addEventListener("abort", () => resolve(cancel()));
    });
  }

  /** Undefined if the session ends first. */
  async #call(
    name: string,
    { text }: CriterionObject,
    input: string,
    signal: AbortSignal,
  ): Promise<Checked | undefined> {
    const { clock, functions = {} } = this.#context;
    const began = clock.monotonic();
    const ended = await made(functions, name, input, signal);
    const duration_ms = Math.round(clock.monotonic() - began);
    return ended && { criterion: { text }, exit_code: null, duration_ms, ...ended };
  }

  /** Undefined if nothing could be started, or the workspace is away. */
  async #check(
    { check_id, subject }: LedgerChecks,
    criterion: CriterionObject,
    input: string | undefined,
    signal: AbortSignal,
  ): Promise<Checked | undefined> {
    const { clock, config, workspace } = this.#context;
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
      ...defined({ input }),
      timeout_ms: (criterion.timeout_s ?? config.timeout_s) * 1000,
    } as const;
    const ran = await runProgram(this.#context, program, input === undefined ? output : both, signal);
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
    if (!passed && workspaceAway(workspace)) return undefined;
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
}

type Checked = JsonObject & { readonly output: string };

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
