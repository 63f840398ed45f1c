import { defined } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Disposition } from "../protocol/record.ts";
import { cut } from "../protocol/refusal.ts";
import { account, accountLate, isLate, ownStep } from "./accounting.ts";
import { type Deltas, ledgerBefore, ledgerDeltas, subjectDeltas, subjectsBefore } from "./deltas.ts";
import { doubts } from "./doubts.ts";
import { applyToLedger, type Ledger } from "./ledger.ts";
import type { Change, EnvelopeDraft, Fact, Mode, ModeReader, Step } from "./mode.ts";
import { NOTHING } from "./step.ts";

/** One session in memory: its mode, the mode's state, and the engine's ledger. */
export interface Engine<S> {
  readonly mode: Mode<S>;
  readonly state: S;
  readonly ledger: Ledger;
}

/** A session that is only read. */
export type ReadEngine<S> = Omit<Engine<S>, "mode"> & { readonly mode: ModeReader<S> };

/** The result of one fact. It is already applied in memory; the runtime commits it. */
export interface Advance {
  /** Whether the fact was applied, refused or late. */
  readonly disposition: Disposition;
  readonly step: Step;
  /** The mode's changes and the ledger's, already applied. */
  readonly changes: readonly Change[];
  /** The envelopes to record after the fact: the refusal, if any, then the mode's envelopes, then the engine's questions. */
  readonly envelopes: readonly EnvelopeDraft[];
  /** What the fact opened, ended and changed. */
  readonly deltas: Deltas;
}

/**
 * Applies one fact: the mode decides, the ledger follows. Running sessions and replays both use this function, so a replay of the same facts reaches
 * the same state.
 *
 * A late fact changes no state, but its usage counts. A fact that the engine handles itself (a hold, an in-doubt turn) changes only the ledger; the
 * mode does not see it.
 */
export function advance<S>(engine: Engine<S>, fact: Fact): Advance {
  const { mode, state, ledger } = engine;
  if (isLate(ledger, fact)) {
    const changes = accountLate(ledger, fact);
    return { disposition: "late", step: NOTHING, changes, envelopes: [], deltas: applyLedger(ledger, changes) };
  }
  const decided = ownStep(ledger, fact) ?? mode.decide(state, fact);
  const written = decided.refused ? [refusal(fact, decided.refused), ...decided.envelopes] : decided.envelopes;
  const asked =
    fact.payload_type === "session_recovered" ? doubts(ledger, fact, fact.sequence + 1 + written.length) : undefined;
  const step = asked ? { ...decided, commands: [...decided.commands, ...asked.commands] } : decided;
  const phase = stateOf(engine);
  const subjects = subjectsBefore(mode, state, step.changes);
  for (const change of step.changes) mode.apply(state, change);
  const own = account(ledger, fact, step.commands);
  const { changed, gone } = subjectDeltas(mode, state, subjects, { ...step, sequence: fact.sequence });
  const deltas = applyLedger(ledger, own, gone);
  const now = stateOf(engine);
  return {
    disposition: step.refused ? "refused" : "applied",
    step,
    changes: own.length === 0 ? step.changes : [...step.changes, ...own],
    envelopes: asked ? [...written, ...asked.envelopes] : written,
    deltas: {
      // The first record always tells the state, and thereby that this log tells what its records open, end and change.
      ...(now === phase && fact.sequence > 1 ? {} : { state: now }),
      ...deltas,
      ...(changed.length === 0 ? {} : { changed }),
    },
  };
}

/** Applies the changes, and returns what they open and end. */
function applyLedger(
  ledger: Ledger,
  changes: readonly Change[],
  gone: readonly string[] = [],
): Pick<Deltas, "opened" | "ended"> {
  const before = ledgerBefore(ledger, changes);
  for (const change of changes) applyToLedger(ledger, change);
  return ledgerDeltas(ledger, before, gone);
}

/** The session's state as one word. */
export function stateOf<S>({ mode, state, ledger }: ReadEngine<S>): string {
  const { paused, closed } = ledger.figures;
  return paused === true && !closed ? "paused" : mode.phase(state);
}

/** Maximum lengths in the schema of `error`, in characters. */
const MAX_MESSAGE = 200_000;
const MAX_HINT = 20_000;

/** The recorded error that tells the sender of a fact why it was refused. */
function refusal({ source, subject }: Fact, { code, message, hint, details }: Failure): EnvelopeDraft {
  const resolution_hint = hint === undefined ? undefined : cut(hint, MAX_HINT);
  const payload = { code, message: cut(message, MAX_MESSAGE), ...defined({ resolution_hint, details }) };
  return { target: source, payload_type: "error", payload, ...defined({ subject }) };
}
