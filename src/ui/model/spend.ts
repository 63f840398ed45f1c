import { withRun, withSpent, withUsage } from "../../kernel/figures.ts";
import type { LedgerSpend } from "../../kernel/ledger.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { Spent, Usage } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { noSpend, type SessionModel } from "./model.ts";

/** Counts a turn that was given. */
export function countTurn(model: SessionModel, role_id: string, ticket_id: string | undefined): void {
  spend(model, role_id, ticket_id, (before) => ({ ...before, turns: before.turns + 1 }));
}

/** Adds a turn's usage, reported at its end or later. With `isEnd`, what it does not report counts as unknown. */
export function addUsage(
  model: SessionModel,
  role_id: string,
  ticket_id: string | undefined,
  usage: Usage | undefined,
  isEnd: boolean,
): void {
  spend(model, role_id, ticket_id, (before) => (isEnd ? withRun(before, usage) : withUsage(before, usage)));
}

/** Adds the usage of a child session to the session, its ticket and the roles that it names. */
export function addChild(model: SessionModel, { payload, record }: Pick<UnsealedRecord, "payload" | "record">): void {
  const usage = objectOf(payload.usage);
  spend(model, undefined, record.ticket_id, (before) => withSpent(before, numbersIn(usage)));
  for (const one of listOf(usage.by_role).map(objectOf)) {
    const role = roleOf(model, textOf(one.role_id));
    role.spend = withSpent(role.spend, numbersIn(one));
  }
}

/** A forged record may have any values. */
function numbersIn(usage: JsonObject): Spent {
  const known = Object.entries(usage).filter(([, value]) => typeof value === "number" || value === null);
  return { turns: 0, cost_usd: 0, input_tokens: 0, output_tokens: 0, ...Object.fromEntries(known) };
}

/** Adds to what the session, a role and a ticket have used. */
function spend(
  model: SessionModel,
  role_id: string | undefined,
  ticket_id: string | undefined,
  more: (before: LedgerSpend) => LedgerSpend,
): void {
  const role = role_id === undefined ? undefined : roleOf(model, role_id);
  for (const one of [model, role, model.subjects.get(ticket_id ?? "")]) if (one) one.spend = more(one.spend);
}

/** A role that the session's opening does not list belongs to a child session. */
function roleOf({ roles }: SessionModel, role_id: string): { spend: LedgerSpend } {
  const known = roles.get(role_id) ?? { role_id, type: "", backend: "", spend: noSpend() };
  roles.set(role_id, known);
  return known;
}
