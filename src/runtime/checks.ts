import type { LedgerChecks } from "../kernel/ledger.ts";
import { outagePause, UNAVAILABLE } from "../kernel/outages.ts";
import { resolve } from "../kernel/references.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { CriterionObject } from "../protocol/payload.ts";
import { gated } from "./check-gate.ts";
import { OutputEnd, outputsOfResult } from "./check-output.ts";
import type { SessionContext } from "./context.ts";
import { runProgram } from "./program.ts";
import { workspaceAway } from "./turns/away.ts";

interface Running {
  readonly subject: string | undefined;
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** Runs executable criteria. Their results are the scheduler's own evidence, which no agent's report replaces. */
export class Checks {
  readonly #context: SessionContext;
  readonly #over: (check_id: string) => void;
  readonly #running = new Map<string, Running>();
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
  start({ check_id, subject, criteria }: LedgerChecks): void {
    if (this.#ending || this.#running.has(check_id)) return;
    const controller = new AbortController();
    const references = criteria as unknown as Json[];
    const carriedOut = this.#run(check_id, references, subject, controller.signal).catch((error: unknown) => {
      this.#context.broken(error);
      return undefined;
    });
    const over = carriedOut.then((results) => {
      this.#running.delete(check_id);
      if (results !== undefined) {
        this.#context.submit({
          source: "scheduler",
          payload_type: "check_result",
          payload: { check_id, results },
          subject,
        });
      }
      void this.#context.keep({ drop: "process", id: check_id });
      this.#over(check_id);
    });
    this.#running.set(check_id, { subject, controller, over });
  }

  async #run(
    check_id: string,
    references: readonly Json[],
    subject: string | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject[] | undefined> {
    const results: JsonObject[] = [];
    const seen = new Set<string>();
    const kept = outputsOfResult();
    for (const reference of references) {
      const criterion = resolve(reference, this.#context.records) as unknown as CriterionObject;
      const key = JSON.stringify([criterion.command, criterion.expect_exit]);
      if (seen.has(key)) continue;
      seen.add(key);
      let checked = await this.#check(check_id, criterion, subject, signal);
      // Without a workspace, or a process, a check says nothing about the work.
      for (let tries = 0; checked === undefined && !signal.aborted; tries += 1) {
        const text = `The checks of ${subject ?? "the session"} wait: the workspace is away, or no program can be started.`;
        if (tries === 0) this.#context.bus.emit({ kind: "warning", text });
        await this.#pause(outagePause(tries), signal);
        if (!signal.aborted) checked = await this.#check(check_id, criterion, subject, signal);
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

  /** Undefined if nothing could be started, or the workspace is away. */
  async #check(
    check_id: string,
    criterion: CriterionObject,
    subject: string | undefined,
    signal: AbortSignal,
  ): Promise<(JsonObject & { readonly output: string }) | undefined> {
    const { clock, config, workspace } = this.#context;
    const began = clock.monotonic();
    const { command = [], expect_exit = 0 } = criterion;
    const gate = gated(command, expect_exit);
    const output = new OutputEnd();
    const program = {
      kind: "check",
      id: check_id,
      command: gate.command,
      subject,
      timeout_ms: (criterion.timeout_s ?? config.timeout_s) * 1000,
    } as const;
    const ran = await runProgram(this.#context, program, output, signal);
    const base = { criterion: criterion as unknown as JsonObject };
    if (!ran.ok) {
      if (ran.error.code === UNAVAILABLE) return undefined;
      const { message, hint = "" } = ran.error;
      return { ...base, exit_code: null, passed: false, output: `${message} ${hint}`.trim(), duration_ms: 0 };
    }
    const { cause, exit } = ran.value;
    const { code, signal: killed } = exit ? gate.endedAs(exit) : { code: null, signal: null };
    const passed = cause === "exited" && code === expect_exit;
    if (!passed && workspaceAway(workspace)) return undefined;
    return {
      ...base,
      exit_code: code,
      passed,
      output: output.text(),
      duration_ms: Math.round(clock.monotonic() - began),
      ...(killed ? { signal: killed } : {}),
      ...(cause === "timeout" ? { timed_out: true } : {}),
    };
  }
}
