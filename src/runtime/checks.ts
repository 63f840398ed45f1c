import type { LedgerChecks } from "../kernel/ledger.ts";
import { resolve } from "../kernel/references.ts";
import { type JsonObject, textOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import type { SessionContext } from "./context.ts";
import { mergeWork } from "./copies/merge-work.ts";
import { checkOn } from "./copies/prepare.ts";
import { withBase } from "./copies/base.ts";
import { type Runnable, runCriteria } from "./criteria.ts";

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
    const results =
      copies === undefined || commit === undefined
        ? ok(await run(context.workspace))
        : await checkOn(context, copies, { commit, subject }, signal, run);
    const told =
      results.ok && results.value && copies && subject !== undefined
        ? await withBase(context, copies, { check_id, subject }, results.value, signal)
        : results;
    if (told.ok) return told.value && { results: told.value };
    context.fail(told.error);
    return undefined;
  }
}
