import type { Engine } from "../../kernel/engine.ts";
import { type LedgerChild, stampOf } from "../../kernel/ledger.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { about } from "../../protocol/recording.ts";
import type { Clock } from "../time/clock.ts";
import type { Admission } from "./dispatcher.ts";
import type { SessionDoor } from "../door.ts";
import { grantOf, limitReached, type LimitReached } from "./limits.ts";
import { type RequestParts, requestPayload } from "./turn-request.ts";
import type { Workload } from "../workload.ts";

export interface AdmittingParts<S> extends RequestParts {
  readonly engine: Engine<S>;
  readonly clock: Clock;
}

/**
 * Begins every child session and every turn that may begin, as facts of the group that is about to be committed; they start after it.
 * `begun` is the monotonic clock's reading when the scheduler began. Gives the limit that forbids the next one, if there is one.
 */
export function admitAll<S>(
  parts: AdmittingParts<S>,
  work: Workload,
  begun: number,
  door: SessionDoor,
): LimitReached | undefined {
  const awake_ms = parts.clock.monotonic() - begun;
  for (const child of [...parts.engine.ledger.children.values()].filter(({ status }) => status === "offered")) {
    const limit = limitReached(parts.engine.ledger, parts.config, awake_ms);
    if (limit) return limit;
    openChild(parts, work, child, awake_ms, door);
  }
  for (let next = work.admit(); next; next = work.admit()) {
    const limit = limitReached(parts.engine.ledger, parts.config, awake_ms);
    if (limit) {
      work.putBack(next.turn);
      return limit;
    }
    open(parts, work, next, door);
  }
  return undefined;
}

function openChild<S>(
  { engine, config }: AdmittingParts<S>,
  { children }: Workload,
  { child, mode, subject, budget }: LedgerChild,
  awake_ms: number,
  door: SessionDoor,
): void {
  const payload = {
    session_id: children.idOf(child),
    ...about(subject),
    mode,
    budget: { ...grantOf(engine.ledger, config, awake_ms, budget) },
  };
  door.submit({ source: "scheduler", payload_type: "session_begun", payload, subject });
  door.afterwards(() => {
    crashPoint("child_begun");
    children.start(child);
  });
}

function open<S>(parts: AdmittingParts<S>, work: Workload, admission: Admission, door: SessionDoor): void {
  const { turn, role } = admission;
  const { engine, clock } = parts;
  const stamp = stampOf(turn);
  const payload = requestPayload(parts, engine.mode.request(engine.state, stamp), admission);
  const at = clock.now();
  door.submit({
    at,
    source: "scheduler",
    target: role.role_id,
    payload_type: "turn_request",
    payload,
    subject: turn.subject,
    turn: stamp,
  });
  door.afterwards(() => work.turns.start(admission, stamp, payload, at));
}
