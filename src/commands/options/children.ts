import type { Settings } from "../../config/settings.ts";
import { advance } from "../../kernel/engine.ts";
import { waitsForOutsiders } from "../../kernel/kit/holder.ts";
import { emptyLedger } from "../../kernel/ledger.ts";
import type { Fact, Mode } from "../../kernel/mode.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { MODES } from "../../modes/index.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { instant } from "../../protocol/timestamp.ts";

/** Why no session could begin the child sessions that its settings name: `configuration`; undefined if it could. */
export async function childProblem(settings: Settings, roles: readonly Role[]): Promise<Failure | undefined> {
  const problems = [discussionProblem, panelProblem, planningProblem].map((find) => find(settings, roles));
  return (await Promise.all(problems)).find((problem) => problem !== undefined);
}

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
  if (!waitsForOutsiders(engine.ledger)) return undefined;
  return failure("usage", "it would wait for somebody from outside, who cannot join a child session", {
    hint: "name roles of this crew",
  });
}

/** Why no session could review with the panel of these settings: `configuration`; undefined if one could, or if there is no panel. */
async function panelProblem(
  { values: { review, ...config }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (typeof review === "string") return undefined;
  const { panel: members, vote, rounds } = review;
  const input = { members, topic: "Work.", ...defined({ threshold: vote, rounds }) };
  const why = await refusedOpening("panel", config, roles, input);
  const where = (origins.get("review.panel") ?? origins.get("review"))?.where;
  return why && failure("configuration", `${where}: ${why.message}`, { hint: why.hint });
}

/** Why the planners of these settings could not plan: `configuration`; undefined if they could, or if there are none. */
async function planningProblem(
  { values: { planning, ...config }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (!planning) return undefined;
  const { planners } = planning;
  const where = origins.get("planning.planners")?.where;
  const isPlanner = ({ role_id }: Role) => planners.includes(role_id);
  if (roles.filter(({ type }) => type === "manager").some(isPlanner)) {
    const hint = "Name other roles: a manager chooses among the plans, and must not find its own.";
    return failure("configuration", `${where}: A manager is one of the planners.`, { hint });
  }
  const why = await refusedOpening("planning", config, roles, { planners, topic: "Work." });
  return why && failure("configuration", `${where}: ${why.message}`, { hint: why.hint });
}

/** Why a child session of a mode would not open. */
async function refusedOpening(
  mode: string,
  config: JsonObject,
  roles: readonly Role[],
  input: JsonObject,
): Promise<Failure | undefined> {
  const rules = await MODES.get(mode)?.rules();
  return rules && rehearse(rules, { mode, config, roles, input }, []);
}

/** Why no session could discuss proposals with these settings: `configuration`; undefined if one could, or if none is wanted. */
async function discussionProblem(
  { values: { discussion, ...config }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (!discussion) return undefined;
  const { mode, input = {} } = discussion;
  const refused = (why: string, hint: string | undefined) =>
    failure("configuration", `${origins.get("discussion.mode")?.where}: ${why}`, { hint });
  const known = MODES.get(mode);
  if (known?.discusses !== true) {
    const fitting = [...MODES].flatMap(([name, { discusses }]) => (discusses ? [`"${name}"`] : []));
    const hint = `Use one of ${fitting.join(", ")}.`;
    return refused(`The mode "${mode}" cannot discuss a proposal.`, hint);
  }
  const why = await refusedOpening(mode, config, roles, { ...input, topic: "a proposal" });
  return why && refused(why.message, why.hint && `In discussion.input: ${why.hint}`);
}
