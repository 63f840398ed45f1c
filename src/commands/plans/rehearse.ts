import { advance } from "../../kernel/engine.ts";
import { emptyLedger } from "../../kernel/ledger.ts";
import type { Fact, Mode } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import { instant } from "../../protocol/timestamp.ts";

/** What a person puts to a session at once. */
export interface FirstWord {
  readonly payload_type: string;
  readonly payload: JsonObject;
}

/**
 * Lives the beginning of a session through in memory, with its own rules, and says what they refuse of it: so that nothing is
 * made for a plan that cannot stand. Undefined if all of it stands.
 */
export function rehearse(mode: Mode<unknown>, opened: JsonObject, words: readonly FirstWord[]): Failure | undefined {
  const engine = { mode, state: mode.empty(), ledger: emptyLedger() };
  const received_at = instant(0);
  const facts = [
    { payload_type: "session_opened", payload: opened, source: "scheduler" },
    ...words.map((word) => ({ ...word, source: "user" })),
  ];
  for (const [index, fact] of facts.entries()) {
    const { step } = advance(engine, { ...fact, sequence: index + 1, received_at } as unknown as Fact);
    if (step.refused) return step.refused;
  }
  return undefined;
}
