import type { Descriptor } from "../../src/kernel/kit/descriptor.ts";
import { MODE_TIMER, waitsForOutsiders } from "../../src/kernel/kit/holder.ts";
import { lifecyclesOf } from "../../src/kernel/kit/lifecycles.ts";
import type { KitState, Self, Subject } from "../../src/kernel/kit/state.ts";
import { holds, type ModeRules, same } from "./invariants.ts";

/** The invariants of every mode of the kit: who holds what is what the ledger has, and something is always open until the session closes. */
export function kitRules<I, S extends Self, U extends Subject>(
  descriptor: Descriptor<I, S, U>,
): ModeRules<KitState<S, U>> {
  const { session, subject } = lifecyclesOf(descriptor);
  return {
    created: [descriptor.events.created, subject.initial],
    next: (from, event) => subject.next(from, event),
    check({ state: { self, subjects }, ledger }) {
      const holders = [...subjects.values(), ...(self ? [self] : [])];
      const turns = holders.flatMap(({ turn }) => turn?.turn_id ?? []);
      same([...ledger.turns.keys()].sort(), turns.sort(), "the turns in the ledger");
      const waits = holders.flatMap(({ waits_for }) =>
        waits_for === undefined || waits_for === "resume" ? [] : [waits_for],
      );
      const { asks, checks, children } = ledger;
      const active = [...ledger.timers].flatMap(([id, { passive }]) => (passive ? [] : [id]));
      // The ledger alone holds the timers of the mode's own.
      const timers = active.filter((id) => !id.startsWith(MODE_TIMER));
      // The engine's own questions have a turn's id, or ask for a permission.
      const own = [...asks].flatMap(([id, { permission }]) => (permission || ledger.turns.has(id) ? [] : [id]));
      // A withdrawn child stays until it has ended.
      const wanted = [...children].flatMap(([id, { status }]) => (status === "withdrawn" ? [] : [`s${id}`]));
      const awaited = [...timers, ...own, ...checks.keys(), ...wanted];
      same(awaited.sort(), waits.sort(), "what the ledger has open");
      // Outsiders are waited for by a passive timer.
      const waitsForOthers = waitsForOutsiders(ledger);
      const { closed, stopping, stopped } = ledger.figures;
      const isClosed = self === undefined || session.next(self.phase, "finished") === undefined;
      same(closed !== undefined, isClosed, "whether the session is closed");
      const isOpen = turns.length + waits.length + active.length > 0;
      const isReopened = self?.ended !== undefined;
      holds(
        isOpen || waitsForOthers || closed || stopping || stopped || isReopened,
        "nothing is open, but the session goes on",
      );
    },
  };
}
