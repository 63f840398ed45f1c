import type { Engine } from "../kernel/engine.ts";
import { type LedgerChild, stampOf } from "../kernel/ledger.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { about } from "../protocol/recording.ts";
import type { Admission } from "./admission/dispatcher.ts";
import { grantOf, limitReached, type LimitReached } from "./admission/limits.ts";
import { requestPayload } from "./admission/turn-request.ts";
import type { SessionContext } from "./context.ts";
import type { Workload } from "./workload.ts";

/**
 * Records the start of every child session and turn that may begin now; they start after the commit. `began` is the reading of the monotonic
 * clock when the scheduler began. Returns the limit that forbids the next one, if any.
 */
export function admitAll<S>(
  context: SessionContext,
  engine: Engine<S>,
  workload: Workload,
  began: number,
): LimitReached | undefined {
  const { ledger, config, clock } = context;
  const awake_ms = clock.monotonic() - began;
  const offered = [...ledger.children.values()].filter(({ status }) => status === "offered");
  for (const child of offered) {
    const limit = limitReached(ledger, config, awake_ms);
    if (limit) return limit;
    beginChild(context, workload, child, awake_ms);
  }
  for (let next = workload.admit(); next; next = workload.admit()) {
    const limit = limitReached(ledger, config, awake_ms);
    if (limit) {
      workload.putBack(next.turn);
      return limit;
    }
    beginTurn(context, engine, workload, next);
  }
  return undefined;
}

function beginChild(
  context: SessionContext,
  { children }: Workload,
  { child, mode, subject, budget: asked }: LedgerChild,
  awake_ms: number,
): void {
  const budget = { ...grantOf(context.ledger, context.config, awake_ms, asked) };
  const payload = { session_id: children.idOf(child), ...about(subject), mode, budget };
  context.submit({ source: "scheduler", payload_type: "session_begun", payload, subject });
  context.afterCommit(() => {
    crashPoint("child_begun");
    children.start(child);
  });
}

function beginTurn<S>(
  context: SessionContext,
  { mode, state }: Engine<S>,
  { turns }: Workload,
  admission: Admission,
): void {
  const { turn, role } = admission;
  const stamp = stampOf(turn);
  const payload = requestPayload(context, mode.request(state, stamp), admission);
  const at = context.clock.now();
  const { subject } = turn;
  const target = role.role_id;
  context.submit({ at, source: "scheduler", target, payload_type: "turn_request", payload, subject, turn: stamp });
  context.afterCommit(() => turns.start(admission, stamp, payload, at));
}
