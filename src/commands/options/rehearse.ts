import type { Settings } from "../../config/settings.ts";
import { advance } from "../../kernel/engine.ts";
import { emptyLedger } from "../../kernel/ledger.ts";
import type { Fact, Mode } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { instant } from "../../protocol/timestamp.ts";
import { DISCUSSIONS, loadMode } from "../lookup/modes.ts";

/** Why a mode's rules would refuse the first facts of a session, decided in memory; undefined if they accept them. */
export function rehearse(
  mode: Mode<unknown>,
  opened: JsonObject,
  messages: readonly { readonly payload_type: string; readonly payload: JsonObject }[],
): Failure | undefined {
  const engine = { mode, state: mode.empty(), ledger: emptyLedger() };
  const received_at = instant(0);
  const facts = [
    { payload_type: "session_opened", payload: opened, source: "scheduler" },
    ...messages.map((message) => ({ ...message, source: "user" })),
  ];
  for (const [index, fact] of facts.entries()) {
    const { step } = advance(engine, { ...fact, sequence: index + 1, received_at } as unknown as Fact);
    if (step.refused) return step.refused;
  }
  return undefined;
}

/** Why no session could discuss proposals with these settings: `configuration`; undefined if one could, or if none is wanted. */
export async function discussionProblem(
  { values: { discussion, ...config }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (!discussion) return undefined;
  const { mode, input = {} } = discussion;
  const refused = (why: string, hint: string | undefined) =>
    failure("configuration", `${origins.get("discussion.mode")?.where}: ${why}`, { hint });
  const rules = DISCUSSIONS.includes(mode) ? await loadMode(mode) : undefined;
  if (rules === undefined) {
    const hint = `Use ${DISCUSSIONS.map((one) => `"${one}"`).join(" or ")}.`;
    return refused(`The mode "${mode}" cannot discuss a proposal.`, hint);
  }
  const opened = { mode, config, roles, input: { ...input, topic: "a proposal" } } as unknown as JsonObject;
  const why = rehearse(rules, opened, []);
  return why && refused(why.message, why.hint && `In discussion.input: ${why.hint}`);
}
