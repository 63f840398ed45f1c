import type { KitState } from "../../../src/kernel/kit/state.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import { pipelineMode } from "../../../src/modes/pipeline/mode.ts";
import { type Pipeline, pipeline, type Step } from "../../../src/modes/pipeline/pipeline.ts";
import type { ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

export const ROLES: readonly Role[] = [
  { role_id: "researcher", type: "participant", backend: "scripted" },
  { role_id: "analyst", type: "worker", backend: "scripted" },
  { role_id: "writer", type: "manager", backend: "scripted" },
];

/** A session of the pipeline mode, by default with a step for each role. */
export class PipelineSession extends ModeSession<KitState<Pipeline, Step>> {
  constructor(
    steps: readonly JsonObject[] = ROLES.map(({ role_id }) => ({ role: role_id })),
    config: Partial<ResolvedConfiguration> = {},
  ) {
    super(pipelineMode, kitRules(pipeline), { roles: ROLES, input: { task: "Report.", steps: [...steps] }, config });
  }

  /** What a step is told. */
  told(id: string): unknown {
    return objectOf(this.resolved(this.draft(id)).message.payload)["summary"];
  }

  /** The step that has a turn reports. */
  done(summary: string): this {
    return this.report({ status: "completed", summary });
  }

  report(payload: JsonObject): this {
    return this.answer(this.asked, "report", payload);
  }

  /** The transform of a step's result ends with this output. */
  checked(subject: string, output: string, passed = true): this {
    const [checks] = this.engine.ledger.checks.values();
    const result = { criterion: "a transform", exit_code: passed ? 0 : 1, passed, output };
    return this.submit(
      "scheduler",
      "check_result",
      { check_id: checks?.check_id ?? "", results: [result] },
      { subject },
    );
  }

  get asked(): string {
    const [turn] = this.engine.ledger.turns.values();
    if (turn?.subject === undefined) throw new Error("no step has a turn");
    return turn.subject;
  }

  /** Each step with its status, and why it has it. */
  get steps(): string[] {
    return [...this.state.subjects.values()].map(({ id, status, reason }) =>
      reason === undefined ? `${id} ${status}` : `${id} ${status} (${reason})`,
    );
  }
}
