import { hidesTokens } from "../../kernel/figures.ts";
import { type JsonObject, listOf, numberOf, objectOf, textOf } from "../../lib/json.ts";
import type { Usage } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { noSpend, type SessionModel, type SpendModel } from "./model.ts";

/** Counts a turn that was given. */
export function countTurn(model: SessionModel, role_id: string, ticket_id: string | undefined): void {
  for (const spend of spendsOf(model, role_id, ticket_id)) spend.turns += 1;
}

/** Adds a turn's usage, reported at its end or later. With `isEnd`, what it does not report counts as unknown. */
export function addUsage(
  model: SessionModel,
  role_id: string,
  ticket_id: string | undefined,
  usage: Usage | undefined,
  isEnd: boolean,
): void {
  if (usage === undefined && !isEnd) return;
  for (const spend of spendsOf(model, role_id, ticket_id)) {
    spend.input_tokens += usage?.input_tokens ?? 0;
    spend.output_tokens += usage?.output_tokens ?? 0;
    spend.cached_tokens += usage?.cached_tokens ?? 0;
    spend.cost_usd += usage?.cost_usd ?? 0;
    if (isEnd && usage?.cost_usd === undefined) spend.unpriced_turns += 1;
    if (isEnd && hidesTokens(usage)) spend.untold_turns += 1;
  }
}

/** Adds the usage of a child session to the session, its ticket and the roles that it names. */
export function addChild(model: SessionModel, { payload, record }: UnsealedRecord): void {
  const usage = objectOf(payload.usage);
  add(model.spend, usage);
  const { spend } = model.subjects.get(record.ticket_id ?? "") ?? {};
  if (spend) add(spend, usage);
  for (const one of listOf(usage.by_role).map(objectOf)) add(roleSpend(model, textOf(one.role_id)), one);
}

function add(
  spend: SpendModel,
  { turns, input_tokens, output_tokens, cached_tokens, cost_usd, told_usd, untold_turns }: JsonObject,
): void {
  spend.turns += numberOf(turns);
  spend.input_tokens += numberOf(input_tokens);
  spend.output_tokens += numberOf(output_tokens);
  spend.cached_tokens += numberOf(cached_tokens);
  spend.cost_usd += numberOf(cost_usd ?? told_usd);
  if (cost_usd === null) spend.unpriced_turns += 1;
  spend.untold_turns += numberOf(untold_turns);
}

function spendsOf(model: SessionModel, role_id: string, ticket_id: string | undefined): SpendModel[] {
  const ticket = ticket_id === undefined ? undefined : model.subjects.get(ticket_id);
  return [model.spend, roleSpend(model, role_id), ...(ticket ? [ticket.spend] : [])];
}

/** A role that the session's opening does not list belongs to a child session. */
function roleSpend({ roles }: SessionModel, role_id: string): SpendModel {
  const known = roles.get(role_id) ?? { role_id, type: "", backend: "", spend: noSpend() };
  roles.set(role_id, known);
  return known.spend;
}
