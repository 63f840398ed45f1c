import type { Engine } from "../kernel/engine.ts";
import { stampOf } from "../kernel/ledger.ts";
import type { Clock } from "./clock.ts";
import type { Admission } from "./dispatcher.ts";
import type { FactInput } from "./facts.ts";
import type { LimitReached } from "./limits.ts";
import { type RequestParts, requestPayload } from "./turn-request.ts";
import type { UnderWay } from "./under-way.ts";

export interface AdmittingParts<S> extends RequestParts {
  readonly engine: Engine<S>;
  readonly clock: Clock;
}

export interface AdmittingDoor {
  submit(input: FactInput): unknown;
  afterwards(effect: () => void): void;
}

/**
 * Begins every turn that may begin, as facts of the group that is about to be committed; their agents start after it. `begun` is the
 * monotonic clock's reading when the scheduler began. Gives the limit that forbids the next one, if there is one.
 */
export function admitAll<S>(
  parts: AdmittingParts<S>,
  work: UnderWay,
  begun: number,
  door: AdmittingDoor,
): LimitReached | undefined {
  const admissions = work.admissions(begun);
  for (let next = admissions.next(); ; next = admissions.next()) {
    if (next.done) return next.value;
    open(parts, work, next.value, door);
  }
}

function open<S>(parts: AdmittingParts<S>, work: UnderWay, admission: Admission, door: AdmittingDoor): void {
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
