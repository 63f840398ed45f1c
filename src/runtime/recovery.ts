import { type Ledger, type LedgerTurn, stampOf } from "../kernel/ledger.ts";
import { howOften } from "../lib/how-often.ts";
import { defined, type JsonObject } from "../lib/json.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { Conversation } from "../protocol/record.ts";
import type { FactInput } from "./facts.ts";

/** Records the resume: which turns are repeated, which a person is asked about, and which were repeated too often. */
export function recover(
  submit: (input: FactInput) => unknown,
  ledger: Ledger,
  { config, roles }: Pick<PayloadByType["session_opened"], "config" | "roles">,
  epoch: number,
  change: {
    readonly limits?: JsonObject;
    readonly reopen?: string;
    readonly conversing: ReadonlyMap<string, Conversation>;
  },
): void {
  if (change.reopen !== undefined) {
    submit({ source: "user", payload_type: "session_reopened", payload: { reason: change.reopen } });
    return;
  }
  if (ledger.figures.closed) return;
  const open = [...ledger.turns.values()].filter((turn) => turn.status === "open");
  const graceful = ledger.figures.stopped !== undefined;
  const asking = new Set(roles.flatMap((role) => (role.recovery === "ask" ? [role.role_id] : [])));
  const asked = open.filter((turn) => !graceful && asking.has(turn.role_id ?? ""));
  const others = open.filter((turn) => !asked.includes(turn));
  const spent = others.filter((turn) => !graceful && (turn.recoveries ?? 0) >= config.max_recoveries);
  for (const turn of spent) {
    submit({
      source: "scheduler",
      payload_type: "turn_failed",
      subject: turn.subject,
      turn: stampOf(turn),
      payload: {
        turn_id: turn.turn_id,
        code: "agent_failed",
        message: `The scheduler died ${howOften(config.max_recoveries + 1)} while this turn ran.`,
        resolution_hint: "See whether this work brings the machine down.",
        details: { recoveries: turn.recoveries ?? 0 },
        refused: [],
      },
    });
  }
  const turns = others
    .filter((turn) => !spent.includes(turn))
    .map((turn) => ({
      turn_id: turn.turn_id,
      run: turn.run + 1,
      ...conversationOf(change.conversing.get(turn.turn_id), turn),
    }));
  submit({
    source: "scheduler",
    payload_type: "session_recovered",
    payload: {
      graceful,
      epoch,
      turns,
      ...(asked.length > 0 ? { asked: asked.map((turn) => turn.turn_id) } : {}),
      ...defined({ limits: change.limits }),
    },
  });
}

/** The conversation that the turn's program had begun, with what was known before about it or the one that it continues. */
function conversationOf(
  begun: Conversation | undefined,
  { conversation, chosen }: LedgerTurn,
): { conversation?: JsonObject } {
  if (begun === undefined) return {};
  const known = conversation?.id === begun.id ? conversation : chosen;
  return { conversation: { ...known, id: begun.id } };
}
