import type { LedgerChild } from "../../../src/kernel/ledger.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Scene } from "./rig.ts";

/** A configuration whose proposals are debated. */
export const DEBATE = { mode: "debate", input: { debaters: ["one", "two"], judge: "boss" } };

/** The runtime begins the child session that was asked for. */
export function begun(scene: Scene, { child, subject, mode }: LedgerChild, budget: JsonObject = { turns: 40 }): Scene {
  return scene.fact(
    "scheduler",
    "session_begun",
    { session_id: `s.${child}`, mode, budget, ...about(subject) },
    { subject },
  );
}

/** Its end comes back. */
export function finished(scene: Scene, { child, subject }: LedgerChild, more: JsonObject = {}): Scene {
  const usage = { turns: 3, input_tokens: 10, output_tokens: 20, cost_usd: null };
  const log = { records: 9, head: `sha256:${"0".repeat(64)}` };
  const payload = { session_id: `s.${child}`, ...about(subject), outcome: "done", usage, log, ...more };
  return scene.fact("scheduler", "session_finished", payload, { subject });
}

function about(subject: string | undefined): { ticket_id?: string } {
  return subject === undefined ? {} : { ticket_id: subject };
}
