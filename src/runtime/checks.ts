import type { LedgerChecks } from "../kernel/ledger.ts";
import { resolve } from "../kernel/references.ts";
import { type JsonObject, textOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import type { SessionContext } from "./context.ts";
import { mergeWork } from "./copies/merge-work.ts";
import { checkOn } from "./copies/prepare.ts";
import { testsOfBase, withBase } from "./copies/base.ts";
import type { Copies } from "./copies/copies.ts";
import { type Checked, type Runnable, runCriteria } from "./criteria.ts";

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
    const over = carriedOut.then((result) => {
      this.#running.delete(check_id);
      if (result !== undefined) {
        const payload = { check_id, ...result };
        this.#context.submit({ source: "scheduler", payload_type: "check_result", payload, subject });
      }
      void this.#context.keep({ drop: "process", id: check_id });
      this.#over(check_id);
    });
    this.#running.set(check_id, { subject, controller, over });
  }

  /** The payload of the result. Undefined if the session ends first, or cannot go on. */
  async #run(checks: LedgerChecks, signal: AbortSignal): Promise<JsonObject | undefined> {
    const context = this.#context;
    const { check_id, subject } = checks;
    const criteria = checks.criteria.map((one) => resolve(one, context.records) as unknown as Runnable);
    if (checks.merge) return mergeWork(context, checks, criteria, signal);
    const input = checks.input && textOf(resolve(checks.input, context.records));
    const run = (directory: string) => runCriteria(context, { check_id, subject, directory, input }, criteria, signal);
    const { copies } = context;
    const { commit } = checks;
    if (copies === undefined || commit === undefined) return payloadOf(await run(context.workspace));
    const done = await this.#onCommit({ ...checks, commit }, copies, criteria, run, signal);
    if (done.ok) return done.value;
    context.fail(done.error);
    return undefined;
  }

  /** With copies of the repository: also what the commit from which the session started says of the work. */
  async #onCommit(
    checks: LedgerChecks & { readonly commit: string },
    copies: Copies,
    criteria: readonly Runnable[],
    run: (directory: string) => Promise<Checked[] | undefined>,
    signal: AbortSignal,
  ): Promise<Fallible<JsonObject | undefined>> {
    const context = this.#context;
    const results = await checkOn(context, copies, checks, signal, run);
    if (!results.ok || results.value === undefined || checks.subject === undefined)
      return results.ok ? ok(payloadOf(results.value)) : results;
    const told = await withBase(context, copies, checks, results.value, signal);
    if (!told.ok || told.value?.every(({ passed }) => passed) !== true)
      return told.ok ? ok(payloadOf(told.value)) : told;
    const tests = await testsOfBase(context, copies, checks, criteria, signal);
    return tests.ok ? ok({ ...payloadOf(told.value), ...tests.value }) : tests;
  }
}

function payloadOf(results: Checked[] | undefined): JsonObject | undefined {
  return results && { results };
}
