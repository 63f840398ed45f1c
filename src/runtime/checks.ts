import { mkdirSync } from "node:fs";
import type { Launcher } from "../agents/launcher.ts";
import { type RunLimits, type RunListener, SupervisedRun } from "../agents/cli/process.ts";
import { checkEnvironment } from "../agents/cli/environment.ts";
import type { LedgerChecks } from "../kernel/ledger.ts";
import { resolve } from "../kernel/references.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { CriterionObject, ResolvedConfiguration } from "../protocol/payload.ts";
import type { SessionPaths } from "./paths.ts";
import type { SessionRecords } from "./records.ts";
import type { FactInput } from "./facts.ts";

/** How much of a check's output is kept as evidence: its end, in bytes. */
const OUTPUT_BYTES = 8 * 1024;

export interface ChecksParts {
  readonly session_id: string;
  readonly records: SessionRecords;
  readonly paths: SessionPaths;
  readonly config: ResolvedConfiguration;
  readonly workspace: string;
  readonly launcher: Launcher;
}

/** Runs executable criteria: the scheduler's own look at the work, which no agent's words can replace. */
export class Checks {
  readonly #parts: ChecksParts;
  readonly #submit: (input: FactInput) => unknown;
  readonly #running = new Map<string, AbortController>();

  constructor(parts: ChecksParts, door: { submit(input: FactInput): unknown }) {
    this.#parts = parts;
    this.#submit = (input) => door.submit(input);
  }

  get count(): number {
    return this.#running.size;
  }

  abort(check_id: string): void {
    this.#running.get(check_id)?.abort();
  }

  abortAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  /** Runs them one after the other and brings the result back as one fact; aborted checks bring nothing. */
  start({ check_id, subject, criteria }: LedgerChecks): void {
    const controller = new AbortController();
    this.#running.set(check_id, controller);
    void this.#run(criteria as unknown as Json[], subject, controller.signal).then((results) => {
      this.#running.delete(check_id);
      if (results === undefined) return;
      this.#submit({ source: "scheduler", payload_type: "check_result", payload: { check_id, results }, subject });
    });
  }

  async #run(
    references: readonly Json[],
    subject: string | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject[] | undefined> {
    const results: JsonObject[] = [];
    const seen = new Set<string>();
    for (const reference of references) {
      const criterion = resolve(reference, this.#parts.records) as unknown as CriterionObject;
      const key = JSON.stringify([criterion.command, criterion.expect_exit]);
      if (seen.has(key)) continue;
      seen.add(key);
      results.push(await this.#check(criterion, subject, signal));
      if (signal.aborted) return undefined;
    }
    return results;
  }

  async #check(criterion: CriterionObject, subject: string | undefined, signal: AbortSignal): Promise<JsonObject> {
    const { launcher, workspace, config, session_id, paths } = this.#parts;
    const began = performance.now();
    const artifacts_dir = paths.work(subject);
    mkdirSync(artifacts_dir, { recursive: true });
    const launched = await launcher.launch({
      command: criterion.command ?? [],
      directory: workspace,
      environment: checkEnvironment(process.env, { session_id, artifacts_dir, subject }),
    });
    const base = { criterion: criterion as unknown as JsonObject };
    if (!launched.ok) {
      return {
        ...base,
        exit_code: null,
        passed: false,
        output: `${launched.error.message} ${launched.error.hint ?? ""}`.trim(),
        duration_ms: 0,
      };
    }
    const limits: RunLimits = {
      timeout_ms: (criterion.timeout_s ?? config.timeout_s) * 1000,
      idle_timeout_ms: 0,
      kill_grace_ms: config.kill_grace_s * 1000,
      answer_grace_ms: 0,
      max_output_bytes: config.max_output_bytes,
    };
    const output = new OutputEnd();
    const run = new SupervisedRun(launched.value, limits, output, signal);
    run.give("");
    const { cause, exit } = await run.ended;
    const code = exit?.code ?? null;
    return {
      ...base,
      exit_code: code,
      passed: cause === "exited" && code === (criterion.expect_exit ?? 0),
      output: output.text(),
      duration_ms: Math.round(performance.now() - began),
      ...(exit?.signal ? { signal: exit.signal } : {}),
      ...(cause === "timeout" ? { timed_out: true } : {}),
    };
  }
}

/** Keeps the last lines of what a check prints. */
class OutputEnd implements RunListener {
  #lines: string[] = [];
  #bytes = 0;

  capOf(): number {
    return OUTPUT_BYTES;
  }

  line(_stream: "stdout" | "stderr", bytes: Buffer): undefined {
    const text = bytes.toString("utf8");
    this.#lines.push(text);
    this.#bytes += text.length + 1;
    while (this.#bytes > OUTPUT_BYTES && this.#lines.length > 1) this.#bytes -= (this.#lines.shift()?.length ?? 0) + 1;
    return undefined;
  }

  text(): string {
    return this.#lines.join("\n");
  }
}
